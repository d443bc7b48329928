"""Compiled GPU packages that the loader refuses, whose import fails or hangs, and kernels in caches."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.libraries.version_not_found import version_not_found
from gpudoctor.checks.packages.backend_switch_unset import backend_switch_unset
from gpudoctor.checks.packages.build_lock_left import build_lock_left
from gpudoctor.checks.packages.cached_kernel_broken import cached_kernel_broken
from gpudoctor.checks.packages.extension_abi import extension_abi
from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.packages.import_hangs import import_hangs
from gpudoctor.checks.packages.library_missing import library_missing
from gpudoctor.facts import CondaPackage, Extension, Facts, JitKernel, MissingLibrary, MissingVersion, PackageImport
from gpudoctor.maybe import Unknown
from gpudoctor.tasks.as_typed import typed as typed_of
from tests.builders import change, live
from tests.checks.amd_machines import amd_host
from tests.checks.environments import SITE, commands, environment, one, package, severity, torch
from tests.checks.intel_machines import arc_host, xpu

LOADER = "cannot open shared object file: No such file or directory"
QUICK = Unknown("packages were not imported (--quick)")


def imported(name: str, version: str = "1.0", **changes: Any) -> PackageImport:
    return PackageImport(package=name, version=version, module=name.replace("-", "_"), **changes)


def machine(*imports: PackageImport, **changes: Any) -> Facts:
    packages = tuple(package(one.package, one.version) for one in imports)
    given = {"packages": packages} | changes
    return change(environment(given.pop("torch", torch("2.8.0")), **given), "pythons.0.imports", imports)


def refused(version: str, path: str, name: str = "ktransformers") -> PackageImport:
    error = f"ImportError: {path}: version `{version}' not found (required by {SITE}/{name}/ext.so)"
    return imported(name, error=error)


def test_conda_brings_a_newer_libstdcxx() -> None:
    path = "/opt/env/lib/libstdc++.so.6"
    facts = machine(refused("GLIBCXX_3.4.30", path), conda=(CondaPackage(name="libstdcxx", version="11.2", build="h"),))
    facts = change(change(facts, "pythons.0.prefix", "/opt/env"), "pythons.0.manager", "conda")
    expected = f"ktransformers 1.0 needs GLIBCXX_3.4.30, which libstdc++.so.6 here does not define: {path}."
    assert one(version_not_found, facts) == ("problem", expected)
    assert "conda install -p /opt/env -c conda-forge 'libstdcxx>=12'" in commands(version_not_found, facts)


def test_a_conda_environment_whose_libstdcxx_has_no_link() -> None:
    found = tuple(CondaPackage(name=name, version="15.1.0", build="h_3") for name in ("libstdcxx", "libstdcxx-ng"))
    facts = machine(refused("GLIBCXX_3.4.30", "/lib/x86_64-linux-gnu/libstdc++.so.6"), conda=found)
    facts = change(change(facts, "pythons.0.prefix", "/opt/env"), "pythons.0.manager", "conda")
    assert "conda install" not in commands(version_not_found, facts)
    facts = change(facts, "pythons.0.unlinked_libstdcxx", ("/opt/env/lib/libstdc++.so.6.0.34",))
    said = one(version_not_found, facts)[1]
    assert "/opt/env/lib/libstdc++.so.6.0.34, but not the link libstdc++.so.6 to it" in said
    typed = commands(version_not_found, facts)
    assert "conda install -p /opt/env --force-reinstall libstdcxx=15.1.0=h_3 libstdcxx-ng=15.1.0=h_3" in typed
    assert "ln -sf libstdc++.so.6.0.34 /opt/env/lib/libstdc++.so.6" in typed


@pytest.mark.parametrize(
    ("version", "typed"),
    [
        ("15.2.0", ("export LD_PRELOAD=/opt/env/lib/libstdc++.so.6${LD_PRELOAD:+:$LD_PRELOAD}",)),
        (
            "11.2.0",
            (
                "conda install -p /opt/env -c conda-forge 'libstdcxx>=14'",
                "export LD_PRELOAD=/opt/env/lib/libstdc++.so.6${LD_PRELOAD:+:$LD_PRELOAD}",
            ),
        ),
    ],
)
def test_a_conda_environment_whose_libstdcxx_comes_too_late(version: str, typed: tuple[str, ...]) -> None:
    error = refused("CXXABI_1.3.15", "/lib/x86_64-linux-gnu/libstdc++.so.6", "scipy")
    vllm = msgspec.structs.replace(error, package="vllm", module="vllm")
    facts = machine(vllm, conda=(CondaPackage(name="libstdcxx", version=version, build="h"),))
    facts = change(change(facts, "pythons.0.prefix", "/opt/env"), "pythons.0.manager", "conda")
    assert one(version_not_found, facts)[1].startswith("scipy, which vllm 1.0 imports, needs CXXABI_1.3.15, which ")
    (fix,) = run(version_not_found, facts)[0].fixes
    assert fix.commands == typed
    assert typed_of(fix.undo) == ("unset LD_PRELOAD",)


def opening(**changes: Any) -> Facts:
    """PyTorch for Intel's GPUs in a conda environment: Level Zero's loader does not accept its libstdc++."""
    copy = f"{SITE}/torch/lib/../../../../libstdc++.so.6"
    words = (
        "<LOADER>[INFO]: failed to load adapter 'libur_adapter_level_zero.so.0' with error: "
        f"{copy}: version `GLIBCXX_3.4.30' not found (required by /lib/x86_64-linux-gnu/libze_loader.so.1)"
    )
    conda = (CondaPackage(name="libstdcxx-ng", version="11.2.0", build="h"),)
    facts = environment(xpu(live=live(0, **({"stderr": words} | changes))), conda=conda, facts=arc_host())
    return change(change(facts, "pythons.0.prefix", SITE.partition("/lib/")[0]), "pythons.0.manager", "conda")


def test_a_library_of_the_driver_that_a_framework_opens() -> None:
    prefix = SITE.partition("/lib/")[0]
    expected = (
        "PyTorch 2.9.1+xpu finds no GPU: libze_loader.so.1, which it opens, needs GLIBCXX_3.4.30, which libstdc++.so.6 "
        f"here does not define: {prefix}/lib/libstdc++.so.6."
    )
    assert one(version_not_found, opening()) == ("problem", expected)
    fix = run(version_not_found, opening())[0].fixes[0]
    assert fix.commands == (f"conda install -p {prefix} -c conda-forge 'libstdcxx-ng>=12'",)
    assert "torch.xpu.is_available()" in str(fix.verify)


@pytest.mark.parametrize(
    "changes",
    [{"available": True, "count": 1}, {"available": Unknown("it died")}, {"stderr": "loaded adapter"}],
)
def test_what_it_passes_over_and_does_without(changes: dict[str, Any]) -> None:
    assert one(version_not_found, opening(**changes)) == ("pass", "")


def test_without_a_gpu_of_its_vendor_nothing_explains_that_it_finds_none() -> None:
    assert one(version_not_found, change(opening(), "pci", ())) == ("pass", "")


def test_the_driver_of_the_npu_is_not_needed() -> None:
    words = opening().pythons[0].frameworks[0].live
    assert words is not None
    npu = words.stderr.replace("libze_loader.so.1)", "libze_intel_npu.so.1)")
    assert one(version_not_found, opening(stderr=npu)) == ("pass", "")


def test_an_older_glibc_needs_a_build_of_its_own() -> None:
    facts = machine(refused("GLIBC_2.32", "/lib/x86_64-linux-gnu/libc.so.6", "flash-attn"))
    said = commands(version_not_found, facts)
    assert "--no-binary flash-attn flash-attn==1.0" in said
    assert "libc6" not in said


def test_a_copy_on_ld_library_path_is_taken_off_it() -> None:
    folder = "/opt/intel/oneapi/compiler/2025.0/lib"
    error = (
        f"ImportError: {folder}/libur_loader.so.0: version `LIBUR_LOADER_0.11' not found (required by /e/libsycl.so.8)"
    )
    facts = environment(torch("2.8.0+xpu", live=live(0, import_error=error)))
    other = "/opt/intel/oneapi/tbb/2022.0/lib"
    env = {"LD_LIBRARY_PATH": f"{other}:{folder}:/opt/own", "ONEAPI_ROOT": "/opt/intel/oneapi"}
    facts = change(facts, "host.environment", env)
    assert "from LD_LIBRARY_PATH" in one(version_not_found, facts)[1]
    assert "export LD_LIBRARY_PATH=/opt/own" in commands(version_not_found, facts)


def extension(name: str, path: str = "ext.so", **changes: Any) -> Extension:
    return Extension(package=name, version="1.0", path=f"{SITE}/{path}", **changes)


@pytest.mark.parametrize(
    ("done", "version", "outcome"),
    [
        (None, "GLIBC_2.32", "pass"),  # it was imported all the same: another part of it may never be loaded
        (Unknown("it compiles"), "GLIBC_2.32", "problem"),
        (Unknown("it compiles"), "GLIBCXX_3.4.30", "unknown"),  # another libstdc++ may be loaded before
    ],
)
def test_a_version_that_a_file_needs(done: Any, version: str, outcome: str) -> None:
    gap = MissingVersion(version=version, path="/lib/libc.so.6", newest="GLIBC_2.31")
    lacks = extension("flash-attn", versions=(gap,))
    assert one(version_not_found, machine(imported("flash-attn", error=done), extensions=(lacks,)))[0] == outcome


@pytest.mark.parametrize("check", [version_not_found, library_missing, import_fails, import_hangs])
def test_what_was_not_imported_is_unknown(check: Any) -> None:
    facts = machine(imported("vllm"))
    assert one(check, facts) == ("pass", "")
    assert one(check, change(facts, "pythons.0.imports", QUICK)) == ("unknown", QUICK.unknown)
    part = change(facts, "pythons.0.imports.0.error", Unknown("it compiles an extension when it is imported"))
    assert one(check, part) == ("unknown", "it compiles an extension when it is imported")


def test_a_library_of_another_cuda_major() -> None:
    error = f"RuntimeError: Failed to load libllama.so: libcudart.so.12: {LOADER}"
    absent = (
        MissingLibrary(soname="libcudart.so.12", needed_by="libggml-cuda.so"),
        MissingLibrary(soname="libcublas.so.12", needed_by="libggml-cuda.so"),
    )
    lacks = extension("llama-cpp-python", "llama_cpp/lib/libllama.so", absent=absent)
    facts = machine(imported("llama-cpp-python", error=error), extensions=(lacks,), torch=torch("2.9.0", cuda="13.0"))
    expected = (
        "llama-cpp-python 1.0 fails to import: it needs libcudart.so.12, libcublas.so.12 (CUDA 12), which is not "
        "found; PyTorch here is built for CUDA 13.0."
    )
    assert one(library_missing, facts) == ("problem", expected)
    said = commands(library_missing, facts)
    assert "nvidia-cuda-runtime-cu12 nvidia-cublas-cu12" in said
    assert f"{SITE}/nvidia/cuda_runtime/lib:{SITE}/nvidia/cublas/lib" in said


def test_a_library_that_is_opened_when_it_is_used() -> None:
    absent = (MissingLibrary(soname="libcublas.so.12", needed_by="libctranslate2.so.4", opened=True),)
    lacks = extension("ctranslate2", "ctranslate2.libs/libctranslate2.so.4", absent=absent)
    facts = machine(imported("ctranslate2"), extensions=(lacks,))
    assert one(library_missing, facts)[1].startswith(
        "ctranslate2 1.0 opens libcublas.so.12 (CUDA 12), which is not found"
    )
    no_gpu = change(change(facts, "gpus", ()), "pci", ())
    assert one(library_missing, no_gpu) == ("pass", "")


def test_a_library_in_a_wheel_out_of_the_loaders_reach() -> None:
    folder, bundled = f"{SITE}/nvidia/cudnn/lib", "ctranslate2.libs/libcudnn-74a4c495.so.9.1.0"
    absent = MissingLibrary(
        soname="libcudnn_ops.so.9", needed_by=bundled, opened=True, copy=f"{folder}/libcudnn_ops.so.9"
    )
    facts = machine(imported("ctranslate2"), extensions=(extension("ctranslate2", bundled, absent=(absent,)),))
    expected = f"ctranslate2 1.0 opens libcudnn_ops.so.9, which the loader does not find: it is only in {folder}."
    assert one(library_missing, facts) == ("problem", expected)
    assert severity(library_missing, facts) == "warn"  # PyTorch may have loaded it before
    said = commands(library_missing, facts)
    assert "install --upgrade 'ctranslate2>=4.6.3'" in said
    assert f"LD_LIBRARY_PATH={folder}" in said
    other = change(facts, "pythons.0.extensions.0.package", "other")
    assert "ctranslate2" not in commands(library_missing, other)


def test_one_variant_for_each_release_is_enough() -> None:
    absent = (MissingLibrary(soname="libcudart.so.11.0", needed_by="libbitsandbytes_cuda118.so"),)
    old = extension(
        "bitsandbytes", "b/libbitsandbytes_cuda118.so", absent=absent, needed=("libcudart.so.11.0",),
        missing=("libcudart.so.11.0",),
    )  # fmt: skip
    fits = extension("bitsandbytes", "b/libbitsandbytes_cuda128.so", needed=("libcudart.so.12",))
    facts = machine(imported("bitsandbytes"), extensions=(old, fits))
    assert one(library_missing, facts) == ("pass", "")
    assert one(extension_abi, facts) == ("pass", "")
    alone = change(facts, "pythons.0.extensions", (old,))
    assert one(library_missing, alone)[0] == "problem"


@pytest.mark.parametrize(
    ("distribution", "version", "command"),
    [
        (("ubuntu", "22.04"), "0.2.0", "torchcodec==0.2.1"),
        (("debian", "12"), "0.2.0", "ffmpeg"),
        (("ubuntu", "22.04"), "0.7.0", ""),
    ],
)
def test_torchcodec_and_ffmpeg(distribution: tuple[str, str], version: str, command: str) -> None:
    lines = (f"FFmpeg version {n}: libavutil.so.{n + 52}: {LOADER}" for n in (7, 6, 5))
    error = "RuntimeError: Could not load libtorchcodec.\n" + "\n".join(lines)
    facts = machine(imported("torchcodec", version, error=error))
    facts = change(change(facts, "host.distribution.id", distribution[0]), "host.distribution.version", distribution[1])
    assert "(FFmpeg 5, 6, 7), which is not found" in one(library_missing, facts)[1]
    assert command in commands(library_missing, facts)


def test_an_error_that_is_not_the_loaders_is_a_warning() -> None:
    facts = machine(imported("apex", "0.1", error="RuntimeError: apex was built without its kernels"))
    expected = "import apex fails (apex 0.1): RuntimeError: apex was built without its kernels."
    assert one(import_fails, facts) == ("problem", expected)
    assert severity(import_fails, facts) == "warn"


def test_an_import_that_crashes_or_raises() -> None:
    dead = imported("xformers", died="SIGSEGV", error=Unknown("the import did not end"), stderr="Fatal Python error: x")
    assert one(import_fails, machine(dead)) == ("problem", "import xformers (xformers 1.0) crashes with SIGSEGV.")
    raises = imported("vllm", error="ImportError: a.so: undefined symbol: gone")
    assert "--no-deps vllm==1.0" in commands(import_fails, machine(raises))


def test_a_step_of_the_messages_row_is_for_this_machine() -> None:
    opencv = imported("opencv-python", error="ImportError: libGL.so.1: cannot open shared object file")
    facts = change(machine(opencv), "pythons.0.imports.0.module", "cv2")
    ubuntu = commands(import_fails, facts)
    assert "sudo apt install libgl1" in ubuntu
    assert "dnf" not in ubuntu


def test_an_import_that_hangs() -> None:
    hung = imported("vllm", hung=True, error=Unknown("the import did not end"))
    assert one(import_hangs, machine(hung)) == ("problem", "import vllm (vllm 1.0) hangs.")
    assert "dump_traceback_later(30" in commands(import_hangs, machine(hung))
    waits = imported("vllm", lock="/c/x/lock", error=Unknown("it compiles an extension when it is imported"))
    assert one(import_hangs, machine(waits)) == ("problem", "import vllm (vllm 1.0) waits until /c/x/lock is gone.")
    assert "rm /c/x/lock" in commands(import_hangs, machine(waits))


LOCKED = JitKernel(cache="torch_extensions", directory="/c/py311_cu128/own", lock="/c/py311_cu128/own/lock")


@pytest.mark.parametrize(
    ("holder", "outcome", "message"),
    [
        (None, "problem", "/c/py311_cu128/own/lock exists, no process has it open and the extension was never built: "
         "loading own hangs."),
        (4711, "pass", ""),
        (Unknown("the open files of other users' processes cannot be read"), "unknown",
         "the open files of other users' processes cannot be read"),
    ],
)  # fmt: skip
def test_a_lock_that_a_killed_build_left(holder: Any, outcome: str, message: str) -> None:
    kernel = msgspec.structs.replace(LOCKED, holder=holder, sources=("/s/own.cpp",))
    facts = change(environment(), "pythons.0.kernels", (kernel,))
    assert one(build_lock_left, facts) == (outcome, message)
    if outcome == "problem":
        assert "rm /c/py311_cu128/own/lock" in commands(build_lock_left, facts)


def test_a_kernel_of_another_cuda_release() -> None:
    folder = "/root/.cache/flashinfer/0.6.9/90a/cached_ops/sampling"
    kernel = JitKernel(cache="flashinfer", directory=folder, library="sampling.so", missing=("libcudart.so.13",))
    facts = change(environment(torch("2.8.0", cuda="12.9")), "pythons.0.kernels", (kernel,))
    expected = (
        f"sampling.so in FlashInfer's cache needs libcudart.so.13 (CUDA 13), which is not found: {folder}; PyTorch "
        "here is built for CUDA 12.9."
    )
    assert one(cached_kernel_broken, facts) == ("problem", expected)
    assert f"rm -r {folder}" in commands(cached_kernel_broken, facts)
    assert one(cached_kernel_broken, change(facts, "pythons.0.kernels", ())) == ("pass", "")


SWITCH = "FLASH_ATTENTION_TRITON_AMD_ENABLE"
NO_EXTENSION = "ModuleNotFoundError: No module named 'flash_attn_2_cuda'"


def on_rocm(error: Any = NO_EXTENSION, **variables: str) -> Facts:
    facts = change(amd_host(), "pythons.0.imports", (imported("flash-attn", "2.8.3", error=error),))
    return change(facts, "host.environment", variables)


SAID = (
    "import flash_attn fails: flash-attn 2.8.3 has no compiled flash_attn_2_cuda, and "
    "FLASH_ATTENTION_TRITON_AMD_ENABLE, which turns on its Triton kernels for AMD GPUs, "
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (on_rocm(), ("problem", f"{SAID}is not set.")),
        (on_rocm(FLASH_ATTENTION_TRITON_AMD_ENABLE="1"), ("problem", f"{SAID}is '1', and only 'TRUE' counts.")),
        (on_rocm(FLASH_ATTENTION_TRITON_AMD_ENABLE="TRUE"), ("pass", "")),
        (on_rocm(None), ("pass", "")),
        (on_rocm("ModuleNotFoundError: No module named 'einops'"), ("pass", "")),
        (machine(imported("flash-attn", error=NO_EXTENSION)), ("pass", "")),  # with CUDA the extension is missing
        (change(on_rocm(), "pythons.0.imports", QUICK), ("unknown", "packages were not imported (--quick)")),
    ],
)
def test_backend_switch_unset(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(backend_switch_unset, facts) == verdict


def test_the_switch_is_what_the_fix_types() -> None:
    assert f"export {SWITCH}=TRUE" in commands(backend_switch_unset, on_rocm())


def test_what_asks_for_an_executable_stack_is_cleared_and_not_installed_again() -> None:
    files = (f"{SITE}/ctranslate2.libs/libctranslate2-1.so.4",)
    error = (
        "ImportError: libctranslate2-1.so.4: cannot enable executable stack as shared object requires: Invalid argument"
    )
    facts = machine(imported("ctranslate2", error=error, executable_stack=files))
    assert severity(import_fails, facts) == "fail"
    said = commands(import_fails, facts)
    assert f"patchelf --clear-execstack {files[0]}" in said
    assert "apt-get install" in said
    assert "--force-reinstall" not in said


def test_a_linker_that_lacks_a_function_has_to_be_newer() -> None:
    copy = f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12"
    gap = MissingVersion(version="__nvJitLinkCreate_12_9", path=copy, newest="__nvJitLinkCreate_12_8")
    path = f"{SITE}/nvidia/cusparse/lib/libcusparse.so.12"
    found = Extension(package="nvidia-cusparse-cu12", version="12.5.10.65", path=path, versions=(gap,))
    works = change(machine(), "pythons.0.extensions", (found,))
    assert one(version_not_found, works) == ("pass", ""), "PyTorch sees the GPU, so it has loaded them"
    facts = change(works, "pythons.0.frameworks.0.live", None)
    expected = (
        "nvidia-cusparse-cu12 12.5.10.65 needs __nvJitLinkCreate_12_9, which libnvJitLink.so.12 here does not define: "
        f"{copy} (it has __nvJitLinkCreate_12_8 at most)."
    )
    assert one(version_not_found, facts) == ("problem", expected)
    assert "install 'nvidia-nvjitlink-cu12>=12.9,<13'" in commands(version_not_found, facts)
    conda = change(facts, "pythons.0.conda", (CondaPackage(name="libnvjitlink", version="12.8", build="h"),))
    assert "'libnvjitlink>=12.9,<13'" in commands(version_not_found, conda)


def test_npp_is_a_wheel_of_its_own() -> None:
    one_import = imported("torchcodec", "0.11.0+cu130", error=f"OSError: libnppicc.so.13: {LOADER}")
    facts = machine(one_import, torch=torch("2.11.0+cu130", cuda="13.0"))
    said = commands(library_missing, facts)
    assert "install 'nvidia-npp==13.*'" in said
    assert "nvidia/cu13/lib" in said
    assert "torchcodec>=0.13" in said  # serves PyTorch 2.11, and loads NPP only where it decodes on the GPU
    older = machine(one_import, torch=torch("2.10.0+cu130", cuda="13.0"))
    assert "torchcodec>=" not in commands(library_missing, older)
