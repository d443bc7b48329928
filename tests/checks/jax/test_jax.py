"""JAX: its plugin, its versions, its driver."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.jax.arch_missing import arch_missing
from gpudoctor.checks.jax.cpu_only import cpu_only
from gpudoctor.checks.jax.crashes import crashes
from gpudoctor.checks.jax.cudnn_too_old import cudnn_too_old
from gpudoctor.checks.jax.driver_too_old import driver_too_old
from gpudoctor.checks.jax.import_fails import import_fails
from gpudoctor.checks.jax.import_hangs import import_hangs
from gpudoctor.checks.jax.libraries_missing import libraries_missing
from gpudoctor.checks.jax.no_gpu import no_gpu
from gpudoctor.checks.jax.plugin_skew import plugin_skew
from gpudoctor.checks.jax.ptxas_too_old import ptxas_too_old
from gpudoctor.facts import CondaPackage, DriverLibrary, Facts, Framework, Nvcc, Package, UnmetRequirement
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import change, framework, live, plain_host, with_framework
from tests.checks.amd_machines import RADEON, amd_host
from tests.checks.environments import (
    BLACKWELL,
    PASCAL,
    blind,
    change_toolkits,
    commands,
    environment,
    machine,
    need,
    one,
    package,
    severity,
    torch,
)


def jax(version: str = "0.6.2", plugin: str | None = "jax-cuda12-plugin", **changes: Any) -> Framework:
    """A healthy JAX with its plugin for CUDA 12, or without one."""
    plain: dict[str, Any] = {
        "cuda": plugin[8:10] if plugin else None,
        "variant": "cuda" if plugin else "cpu",
        "plugin": plugin,
        "plugin_version": version if plugin else None,
        "backend_version": version,
        "archs": Unknown("no list"),
    }
    return framework("jax", version, **(plain | changes))


_PATH = "/usr/local/cuda/lib64/libcudart.so.12"
CUDART = DriverLibrary(soname="libcudart.so.12", path=_PATH, real=_PATH)


def parts(jax_version: str, plugin: str) -> tuple[Package, ...]:
    return (
        package("jaxlib", jax_version),
        package("jax-cuda12-plugin", plugin),
        package("jax-cuda12-pjrt", plugin),
    )


def test_cpu_only() -> None:
    bare = jax(plugin=None)
    facts = environment(bare, packages=(package("numpyro", "0.18.0"),))
    expected = (
        "JAX 0.6.2 is CPU-only: no CUDA plugin is installed, and GPU 0 (NVIDIA GeForce RTX 4090) is not used. numpyro "
        "uses it."
    )
    assert one(cpu_only, facts) == ("problem", expected)
    assert "'jax[cuda12]==0.6.2'" in commands(cpu_only, facts)
    assert severity(cpu_only, facts) == "fail"
    assert severity(cpu_only, environment(bare, torch(), packages=(package("flax", "0.10.0"),))) == "warn"
    assert one(cpu_only, environment(bare, torch())) == ("pass", "")
    brought = environment(bare, packages=(package("mediapipe", "0.10.21", requires=("jax", "jaxlib")),))
    assert one(cpu_only, brought) == ("pass", "")
    assert one(cpu_only, environment(jax())) == ("pass", "")
    assert one(cpu_only, with_framework(bare, plain_host())) == ("pass", "")
    assert one(cpu_only, environment(jax(variant=Unknown("closed")))) == ("unknown", "closed")


def test_cpu_only_beside_an_amd_gpu() -> None:
    facts = with_framework(jax(plugin=None), amd_host())
    message = "JAX 0.6.2 is CPU-only: no ROCm plugin is installed, and GPU 0 (Radeon RX 7900 XTX) is not used."
    assert one(cpu_only, facts) == ("problem", message)
    assert severity(cpu_only, facts) == "warn"
    assert "'jax[rocm7-local]==0.6.2'" in commands(cpu_only, facts)
    assert one(cpu_only, with_framework(jax(plugin=None), amd_host(rocm=None, rocm_path=None))) == ("pass", "")
    other = msgspec.structs.replace(RADEON, gfx="gfx906")
    assert one(cpu_only, with_framework(jax(plugin=None), amd_host((other,)))) == ("pass", "")


def test_the_plugin_for_cuda_13_only_where_driver_and_jax_have_it() -> None:
    assert "'jax[cuda13]==0.9.2'" in commands(cpu_only, environment(jax("0.9.2", None), facts=machine("13.0")))
    assert "'jax[cuda12]==0.6.2'" in commands(cpu_only, environment(jax("0.6.2", None), facts=machine("13.0")))
    pascal = machine("13.0", card=PASCAL)
    assert "'jax[cuda12]==0.9.2'" in commands(cpu_only, environment(jax("0.9.2", None), facts=pascal))


def test_plugin_skew() -> None:
    ill = jax("0.4.31", plugin_version="0.4.35", live=live(died="SIGSEGV", stage="devices"))
    facts = environment(ill, packages=parts("0.4.31", "0.4.35"))
    expected = "jax-cuda12-plugin 0.4.35 does not match jaxlib 0.4.31 (jax 0.4.31)."
    assert one(plugin_skew, facts) == ("problem", expected)
    assert severity(plugin_skew, facts) == "fail"
    assert "'jax[cuda12]==0.4.31'" in commands(plugin_skew, facts)
    assert one(plugin_skew, environment(jax(), packages=parts("0.6.2", "0.6.2"))) == ("pass", "")
    # What jax's own extra asks for: the wheel jax-0.4.35-py3-none-any.whl.
    asks = ('jaxlib==0.4.34; extra == "cuda12"', 'jax-cuda12-plugin[with_cuda]<=0.4.35,>=0.4.34; extra == "cuda12"')
    there = (package("jax", "0.4.35", requires=asks), *parts("0.4.34", "0.4.35"))
    apart = jax("0.4.35", plugin_version="0.4.35", backend_version="0.4.34")
    assert one(plugin_skew, change(environment(apart), "pythons.0.packages", there)) == ("pass", "")
    undeclared = environment(apart, packages=there[1:])
    assert one(plugin_skew, undeclared)[0] == "problem"
    fix = commands(plugin_skew, undeclared)
    assert "'jax[cuda12]==0.4.35' 'nvidia-cuda-nvcc-cu12<12.9'" in fix
    assert one(plugin_skew, environment(jax(plugin=None))) == ("pass", "")
    assert one(plugin_skew, environment(jax(plugin_version=Unknown("closed")))) == ("unknown", "closed")


@pytest.mark.parametrize(
    ("jaxlib", "asked", "message"),
    [
        ("0.4.20", None, None),
        ("0.4.19", None, None),  # older than jax, as its metadata allows
        ("0.4.31", None, "jaxlib 0.4.31 is newer than jax 0.4.20, and jax refuses it: the import raises RuntimeError."),
        ("0.4.10", ">=0.4.14", "jax 0.4.20 requires jaxlib>=0.4.14; jaxlib 0.4.10 is installed."),
    ],
)
def test_a_jaxlib_that_jax_refuses(jaxlib: str, asked: str | None, message: str | None) -> None:
    ill = jax("0.4.20", plugin=None, backend_version=jaxlib)
    facts = environment(ill, packages=(package("jax", "0.4.20"), package("jaxlib", jaxlib)))
    if asked:
        unmet = UnmetRequirement(package="jax", version="0.4.20", requires=f"jaxlib{asked}", found=jaxlib)
        facts = change(facts, "pythons.0.unmet", (unmet,))
    assert one(plugin_skew, facts) == (("problem", message) if message else ("pass", ""))
    if message:
        assert severity(plugin_skew, facts) == "fail"
        said = commands(plugin_skew, facts)
        assert "--upgrade 'jax[cuda12]'" in said
        assert "jaxlib==0.4.20" in said
        other = environment(ill, packages=(package("jaxlib", jaxlib),), facts=plain_host())
        assert "cuda12" not in commands(plugin_skew, change(other, "pythons.0.unmet", facts.pythons[0].unmet))


def test_the_plugin_of_the_jax_that_another_package_uses_comes_first() -> None:
    user = package("dm-haiku", "0.0.12", requires=("jax>=0.4.24",))
    ill = jax("0.4.26", plugin=None, backend_version="0.4.38")
    facts = environment(ill, packages=(package("jax", "0.4.26"), package("jaxlib", "0.4.38"), user))
    first, newest, cpu = plugin_skew.fixes_for(next(subject for _, subject in plugin_skew.targets(facts)))
    assert "'jax[cuda12]==0.4.26'" in first.commands[0]
    assert "dm-haiku" in first.message
    assert "--upgrade" in newest.commands[0]
    assert "jaxlib==0.4.26" in cpu.commands[0]


def test_a_build_for_the_cpu_explains_no_failed_import() -> None:
    ill = jax(plugin=None, live=live(import_error="ImportError: cannot import name 'x' from 'ml_dtypes'"))
    facts = environment(ill, packages=(package("flax", "0.7.5"),))
    listed, _ = findings([*run(cpu_only, facts), *run(import_fails, facts)])
    assert {finding.root.check.id for finding in listed} == {"jax.cpu-only", "jax.import-fails"}


def test_driver_too_old() -> None:
    ill = jax("0.9.2", "jax-cuda13-plugin", live=blind())
    there = (package("jax-cuda13-plugin", "0.9.2"), package("jax-cuda13-pjrt", "0.9.2"))
    facts = environment(ill, packages=there)
    expected = (
        "jax-cuda13-plugin 0.9.2 is built for CUDA 13 and requires driver 580 or newer; the driver 570.169 (CUDA 12.8) "
        "is too old and supports at most CUDA 12.8, so JAX falls back to the CPU."
    )
    assert one(driver_too_old, facts) == ("problem", expected)
    said = commands(driver_too_old, facts)
    assert "uninstall -y jax-cuda13-plugin jax-cuda13-pjrt" in said
    assert "'jax[cuda12]==0.9.2'" in said
    more = (
        package("jax-cuda13-plugin", "0.9.2"),
        package("nvidia-cudnn-cu13", "9.28.1.4"),
        package("nvidia-nccl-cu13", "2.32.3"),
        package("torch", "2.13.0", requires=("nvidia-nccl-cu13==2.32.3",)),
    )
    beside = commands(driver_too_old, change(facts, "pythons.0.packages", more))
    assert "uninstall -y jax-cuda13-plugin nvidia-cudnn-cu13\n" in f"{beside}\n"
    assert one(driver_too_old, environment(jax())) == ("pass", "")
    assert one(driver_too_old, environment(jax(cuda=Unknown("closed")))) == ("unknown", "closed")


def test_libraries_missing() -> None:
    ill = jax(live=blind(error="RuntimeError: Unable to load CUDA. Is it installed?"))
    expected = (
        "JAX 0.6.2 does not load CUDA: its plugin is built for CUDA 12, and neither nvidia-* wheels nor a toolkit that "
        "the loader finds have the libraries of CUDA 12."
    )
    assert one(libraries_missing, environment(ill)) == ("problem", expected)
    assert "install 'jax[cuda12]==0.6.2'" in commands(libraries_missing, environment(ill))
    there = change_toolkits(libraries=(CUDART,))
    assert one(libraries_missing, change(environment(ill), "toolkits", there)) == ("pass", "")
    assert one(libraries_missing, environment(jax())) == ("pass", "")
    assert one(libraries_missing, environment(jax(cuda=Unknown("closed")))) == ("unknown", "closed")


def test_arch_missing() -> None:
    facts = environment(jax("0.9.2", "jax-cuda13-plugin"), facts=machine("13.0", card=PASCAL))
    expected = (
        "jax-cuda13-plugin 0.9.2 has no kernels for GPU 0 (NVIDIA GeForce GTX 1080 Ti, Pascal, compute capability 6.1, "
        "sm_61): it requires compute capability 7.5 or newer."
    )
    assert one(arch_missing, facts) == ("problem", expected)
    assert "jax[cuda12]" in commands(arch_missing, facts)
    assert one(arch_missing, environment(jax(), facts=machine(card=PASCAL))) == ("pass", "")
    hidden = environment(jax(), facts=machine(card={"capability": Unknown("lost")}))
    assert one(arch_missing, hidden) == ("unknown", "lost")


def test_cudnn_too_old() -> None:
    ill = jax(needs=(need("libcudnn.so.9", "/opt/x/libcudnn.so.9", version="9.1.0.70"),))
    expected = "JAX 0.6.2 requires cuDNN 9.8 or a newer 9.x but loads 9.1.0.70 (/opt/x/libcudnn.so.9)."
    assert one(cudnn_too_old, environment(ill)) == ("problem", expected)
    assert "'nvidia-cudnn-cu12>=9.8,<10'" in commands(cudnn_too_old, environment(ill))
    pascal = environment(ill, facts=machine(card=PASCAL))  # for which cuDNN 9.11 has no kernels
    assert "'nvidia-cudnn-cu12>=9.8,<9.11'" in commands(cudnn_too_old, pascal)
    newer = jax(needs=(need("libcudnn.so.9", "/opt/x/libcudnn.so.9", version="9.10.2"),))
    assert one(cudnn_too_old, environment(newer)) == ("pass", "")
    assert one(cudnn_too_old, environment(jax(needs=Unknown("closed")))) == ("unknown", "closed")


def test_a_cudnn_that_jax_refused() -> None:
    """Conda's jaxlib has no plugin whose table names the oldest."""
    line = "E1027 cuda_dnn.cc:456] Loaded runtime CuDNN library: 9.10.1 but source was compiled with: 9.13.1.  CuDNN"
    refused = jax(plugin=None, cuda="12", variant="cuda", live=live(0, stderr=line))
    assert one(cudnn_too_old, environment(refused)) == (
        "problem",
        "JAX 0.6.2 requires cuDNN 9.13 or a newer 9.x but loads 9.10.1.",
    )
    assert "'nvidia-cudnn-cu12>=9.13,<10'" in commands(cudnn_too_old, environment(refused))
    conda = (CondaPackage(name="cudnn", version="9.10.1.4", build="hbcb9cd8_1", channel="conda-forge"),)
    facts = environment(refused, conda=conda, manager="conda")
    assert "conda install -p /opt/env -c conda-forge 'cudnn>=9.13,<10'" in commands(cudnn_too_old, facts)


def test_ptxas_too_old() -> None:
    wheel = (package("nvidia-cuda-nvcc-cu12", "12.6.85"),)
    facts = environment(jax(), packages=wheel, facts=machine(card=BLACKWELL))
    outcome, message = one(ptxas_too_old, facts)
    assert outcome == "problem"
    assert message.startswith("nvidia-cuda-nvcc-cu12 12.6.85 does not support sm_120 of GPU 0")
    assert "--upgrade nvidia-cuda-nvcc-cu12" in commands(ptxas_too_old, facts)
    assert one(ptxas_too_old, environment(jax(), packages=wheel)) == ("pass", "")
    hidden = environment(jax(), packages=wheel, facts=machine(card={"capability": Unknown("lost")}))
    assert one(ptxas_too_old, hidden) == ("unknown", "lost")


def on_path(version: str, jaxes: str = "0.4.38", folder: str = "/usr/local/cuda-12.1/bin", wheel: bool = True) -> Facts:
    """JAX with its wheel of CUDA 12.6's compiler, and a toolkit on PATH."""
    nvcc = Nvcc(path=f"{folder}/nvcc", real=f"{folder}/nvcc", version=version, on_path=True)
    packages = (package("nvidia-cuda-nvcc-cu12", "12.6.85"),) if wheel else ()
    facts = environment(jax(jaxes), packages=packages, facts=machine(toolkits=change_toolkits(nvccs=(nvcc,))))
    return change(facts, "host.environment", {"PATH": f"{folder}:/usr/bin"})


def test_an_older_ptxas_on_path_comes_before_that_of_the_wheel_up_to_a_release() -> None:
    expected = (
        "JAX 0.4.38 runs ptxas 12.1 of /usr/local/cuda-12.1/bin, first on PATH, before that of nvidia-cuda-nvcc-cu12 "
        "12.6.85, which is newer."
    )
    assert one(ptxas_too_old, on_path("12.1")) == ("problem", expected)
    assert "export PATH=/usr/bin" in commands(ptxas_too_old, on_path("12.1"))
    assert "export PATH" not in commands(ptxas_too_old, on_path("12.1", folder="/usr/bin"))
    assert one(ptxas_too_old, on_path("12.6")) == ("pass", "")
    assert one(ptxas_too_old, on_path("12.1", jaxes="0.6.2")) == ("pass", "")
    assert one(ptxas_too_old, on_path("12.1", wheel=False)) == ("pass", "")
    outcome, message = one(ptxas_too_old, on_path("11.5", wheel=False))
    assert outcome == "problem"
    assert message.startswith("ptxas 11.5 of /usr/local/cuda-12.1/bin, first on PATH, does not support sm_89 of GPU 0")


LIVE = [
    (import_fails, {"import_error": "ImportError: x"}, "JAX 0.6.2 fails to import: ImportError: x"),
    (import_hangs, {"hung": True, "stage": "devices"}, "JAX 0.6.2 hangs while listing devices."),
    (
        crashes,
        {"died": "SIGSEGV", "stage": "devices"},
        "JAX 0.6.2 crashes with SIGSEGV in the stage devices, before it reports any GPU.",
    ),
    (
        no_gpu,
        {"available": False, "count": 0, "error": "a line\nRuntimeError: cuInit failed"},
        "JAX 0.6.2 does not use GPU 0 (NVIDIA GeForce RTX 4090).",
    ),
]


@pytest.mark.parametrize(("check", "changes", "message"), LIVE)
def test_what_jax_says_itself(check: Any, changes: dict[str, Any], message: str) -> None:
    assert one(check, environment(jax(live=live(**changes)))) == ("problem", message)
    assert one(check, environment(jax())) == ("pass", "")


def test_no_gpu_does_not_know() -> None:
    assert one(no_gpu, environment(jax(live=live(available=Unknown("it hung"))))) == ("unknown", "it hung")


def test_an_integrated_gpu_counts_where_a_build_for_rocm_is_installed() -> None:
    words = (
        "Failed to open xla_rocm_plugin.so: librocm_sysdeps_hwloc.so.5: cannot open shared object file: No such file"
    )
    halo = msgspec.structs.replace(RADEON, gfx="gfx1151", integrated=True)
    ours = jax("0.9.1", "jax-rocm7-plugin", variant="rocm", hip="7", cuda=None, live=live(0, error=words))
    facts = change(environment(ours, facts=amd_host((halo,))), "amd.rocm", None)
    facts = change(facts, "amd.rocm_path", None)
    assert one(no_gpu, facts)[0] == "problem"
    assert "install --upgrade jax jaxlib jax-rocm7-plugin jax-rocm7-pjrt" in commands(no_gpu, facts)
