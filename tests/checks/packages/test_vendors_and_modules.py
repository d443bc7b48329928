"""Packages for another vendor than PyTorch, modules that are gone, and libraries of the system and the driver."""

from typing import Any

import pytest

from gpudoctor.check_engine import Check, run
from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.packages.library_missing import library_missing
from gpudoctor.checks.packages.module_removed import module_removed
from gpudoctor.checks.packages.part_missing import part_missing
from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.checks.packages.wrong_vendor import wrong_vendor
from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.facts import Extension, Facts, PackageImport, UnmetRequirement
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import change, framework, plain_host
from tests.checks.environments import SITE, commands, environment, one, package, severity, torch, verifies

LOADER = "cannot open shared object file: No such file or directory"
PIP = "/opt/env/bin/python -m pip"
CUDA_GONE = "ImportError: cannot import name 'cuda' from 'cuda' (unknown location)"


def rocm_torch() -> Any:
    return framework("torch", "2.4.1+rocm6.1", variant="rocm", cuda=None, hip="6.1.40091")


def imported(name: str, version: str = "1.0", **changes: Any) -> PackageImport:
    return PackageImport(package=name, version=version, module=name.replace("-", "_"), **changes)


def having(*imports: PackageImport, packages: tuple[Any, ...] = (), torch_: Any = None) -> Facts:
    known = {p.name for p in packages}
    more = tuple(package(one.package, one.version) for one in imports if one.package not in known)
    return change(environment(torch_ or torch("2.8.0"), packages=(*packages, *more)), "pythons.0.imports", imports)


def shape(facts: Facts, *checks: Check[Any]) -> list[tuple[str, list[str]]]:
    """The findings of these checks by id, each with what follows from it."""
    found, _ = findings([verdict for each in checks for verdict in run(each, facts)])
    return [(f.root.check.id, [c.check.id for c in f.consequences]) for f in found]


def test_a_cuda_build_next_to_pytorch_for_rocm_comes_from_pytorchs_index() -> None:
    facts = having(imported("torchaudio", "2.4.1", error=f"OSError: libtorch_cuda.so: {LOADER}"), torch_=rocm_torch())
    expected = (
        "torchaudio 2.4.1 is built for CUDA (NVIDIA), PyTorch 2.4.1+rocm6.1 for ROCm (AMD): its compiled part does not "
        "load."
    )
    assert one(wrong_vendor, facts) == ("problem", expected)
    typed = commands(wrong_vendor, facts)
    assert "--index-url https://download.pytorch.org/whl/rocm6.1 torchaudio==2.4.1" in typed
    assert "whl/cu" not in typed


def test_a_wheels_label_names_its_vendor() -> None:
    facts = having(packages=(package("torchvision", "0.19.1+cu121"),), torch_=rocm_torch())
    assert one(wrong_vendor, facts)[0] == "problem"
    same = having(packages=(package("torchvision", "0.19.1+rocm6.1"),), torch_=rocm_torch())
    assert one(wrong_vendor, same) == ("pass", "")


@pytest.mark.parametrize(
    ("libraries", "imports", "verdict"),
    [
        ((("libc10_cuda.so",),), (), "problem"),
        ((("libc10_hip.so",),), (), "pass"),
        ((("libc10_cuda.so",), ("libtorch_hip.so",)), (), "pass"),  # it brings a library for each vendor
        ((("libc10_cuda.so",),), (imported("xformers"),), "pass"),  # it loads all the same
        ((("libtorch_cpu.so",),), (), "pass"),
    ],
)
def test_what_a_library_links_to_counts_where_no_import_told(
    libraries: tuple[tuple[str, ...], ...], imports: tuple[PackageImport, ...], verdict: str
) -> None:
    facts = having(*imports, packages=(package("xformers", "1.0"),), torch_=rocm_torch())
    files = tuple(
        Extension(package="xformers", version="1.0", path=f"{SITE}/{n}.so", needed=needed)
        for n, needed in enumerate(libraries)
    )
    assert one(wrong_vendor, change(facts, "pythons.0.extensions", files))[0] == verdict


def test_a_package_that_goes_on_without_its_compiled_part_is_of_the_other_vendor_all_the_same() -> None:
    facts = having(imported("vllm", "0.22.1"), torch_=rocm_torch())
    file = Extension(
        package="vllm",
        version="0.22.1",
        path=f"{SITE}/vllm/_C.abi3.so",
        needed=("libcudart.so.13", "libtorch_cuda.so"),
        missing=("libcudart.so.13",),
    )
    unmet = UnmetRequirement(package="vllm", version="0.22.1", requires="torchvision==0.26.0", found="0.27.0+rocm7.2")
    facts = change(change(facts, "pythons.0.extensions", (file,)), "pythons.0.unmet", (unmet,))
    assert one(wrong_vendor, facts)[0] == "problem"
    # Its requirements are those of the build for CUDA: they would replace what fits.
    assert one(unmet_requirement, facts) == ("pass", "")


@pytest.mark.parametrize("prefix", ["/opt/env", "/usr"])
def test_a_build_that_links_to_the_vendors_own_library_comes_from_its_own_index(prefix: str) -> None:
    facts = having(packages=(package("vllm", "0.22.1"),), torch_=rocm_torch())
    file = Extension(
        package="vllm", version="0.22.1", path=f"{SITE}/_C.abi3.so", needed=("libcudart.so.13", "libc10.so")
    )
    facts = change(change(facts, "pythons.0.extensions", (file,)), "pythons.0.prefix", prefix)
    assert one(wrong_vendor, facts)[1].startswith(
        "vllm 0.22.1 is built for CUDA (NVIDIA), PyTorch 2.4.1+rocm6.1 for ROCm"
    )
    place = "/opt/env-vllm" if prefix == "/opt/env" else "~/gpu-env"
    typed = commands(wrong_vendor, facts)
    assert f"uv venv --python 3.12 {place}" in typed
    assert f"--python {place}/bin/python --extra-index-url https://wheels.vllm.ai/rocm/ vllm" in typed
    assert "vllm/vllm-openai-rocm" in typed
    hip = change(facts, "pythons.0.extensions.0.needed", ("libamdhip64.so.7", "libc10.so"))
    assert one(wrong_vendor, hip) == ("pass", "")
    alone = change(facts, "pythons.0.extensions.0.package", "ctranslate2")
    assert one(wrong_vendor, change(alone, "pythons.0.extensions.0.needed", ("libcudart.so.13",))) == ("pass", "")


def test_what_pytorch_is_built_for_may_be_unknown() -> None:
    unknown = change(having(), "pythons.0.frameworks.0.variant", Unknown("closed"))
    assert one(wrong_vendor, unknown) == ("unknown", "closed")


def test_a_library_of_the_system_is_installed_with_the_systems_package() -> None:
    facts = having(imported("sgl-kernel", "0.3.18", error=f"ImportError: libnuma.so.1: {LOADER}"))
    assert "sgl-kernel 0.3.18 fails to import: it needs libnuma.so.1" in one(library_missing, facts)[1]
    typed = commands(library_missing, facts)
    assert "apt-get install libnuma1" in typed or "apt install libnuma1" in typed
    assert "pip install" not in typed


def test_a_library_of_the_driver_comes_with_a_capability_never_with_a_package() -> None:
    facts = having(imported("torchcodec", "0.8.0", error=f"RuntimeError: libnvcuvid.so.1: {LOADER}"))
    assert "(NVIDIA driver, capability video)" in one(library_missing, facts)[1]
    assert "apt" not in commands(library_missing, facts)
    inside = change(facts, "host.container", "docker")
    inside = change(inside, "host.environment", {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility,graphics"})
    typed = commands(library_missing, inside)
    assert "-e NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility,video" in typed
    assert "apt" not in typed


def test_the_ffmpegs_that_are_not_here_are_not_what_is_missing() -> None:
    lines = (f"FFmpeg version {n}: OSError: libavutil.so.{n + 52}: {LOADER}" for n in (8, 7, 5))
    error = "\n".join(
        ["RuntimeError: no libtorchcodec.", *lines, f"FFmpeg version 6: OSError: libnppicc.so.13: {LOADER}"]
    )
    facts = having(imported("torchcodec", "0.11.0", error=error), torch_=torch("2.11.0", cuda="13.0"))
    assert "it needs libnppicc.so.13 (CUDA 13), which is not found" in one(library_missing, facts)[1]
    typed = commands(library_missing, facts)
    assert "nvidia-npp==13.*" in typed
    assert "FFmpeg" not in typed


def cuda_python(version: str = "13.0.1", *, torch_needs: tuple[str, ...] = ()) -> Facts:
    packages = (package("cuda-bindings", version), package("vllm", "0.12.0", requires=torch_needs))
    return having(imported("spikeinterface", "0.103.0", error=CUDA_GONE, dependent=True), packages=packages)


def test_a_module_that_a_newer_release_removed() -> None:
    facts = cuda_python()
    expected = (
        "import spikeinterface (spikeinterface 0.103.0) fails: ImportError: cannot import name 'cuda' from 'cuda' "
        "(unknown location). cuda-bindings 13.0.1 no longer has that; it was removed in 13."
    )
    assert one(module_removed, facts) == ("problem", expected)
    assert f"{PIP} install 'cuda-python>=12,<13'" in commands(module_removed, facts)
    assert one(module_removed, cuda_python("12.9.1")) == ("pass", "")


def test_what_only_a_command_of_the_package_uses_explains_no_other_import() -> None:
    gone = "ModuleNotFoundError: No module named 'pkg_resources'"
    server = imported("tensorboard", "2.19.0", error=gone, part="data.server_ingester", dependent=True)
    text = imported("tensorflow-text", "2.18.1", error="NotFoundError: _ops.so: undefined symbol: _ZN3tsl5mutexC1Ev")
    facts = having(server, text, packages=(package("setuptools", "84.0.0"),))
    assert severity(module_removed, facts) == "advice"
    assert "The command tensorboard does not start, which no program needs" in one(module_removed, facts)[1]
    assert "tensorboard" not in one(import_fails, facts)[1]
    assert shape(facts, module_removed, import_fails) == [
        ("packages.import-fails", []),
        ("packages.module-removed", []),
    ]
    beside = change(facts, "pythons.0.imports", (server,))
    assert shape(beside, module_removed, import_fails) == [("packages.module-removed", ["packages.import-fails"])]
    same = imported("basicsr", "1.4.2", error=gone, dependent=True)
    alike = having(server, same, packages=(package("setuptools", "84.0.0"),))
    assert severity(module_removed, alike) == "fail"
    assert shape(alike, module_removed, import_fails) == [("packages.module-removed", ["packages.import-fails"])]


def test_a_package_that_pins_too_little_is_why_its_module_is_gone() -> None:
    packages = (package("cuda-bindings", "13.0.0"), package("cuda-python", "13.0.0"))
    error = "ModuleNotFoundError: No module named 'cuda.cudart'"
    own = (package("flashinfer-python", "0.2.10"), *packages)
    facts = having(imported("flashinfer-python", "0.2.10", error=error), packages=own)
    assert shape(facts, module_removed, undeclared_requirement) == [
        ("packages.undeclared-requirement", ["packages.module-removed"])
    ]


def test_what_fails_later_explains_no_failed_import() -> None:
    releases = {"pyannote-audio": "3.3.2", "huggingface-hub": "2.4.0", "torchaudio": "2.11.1"}
    packages = tuple(package(*each) for each in releases.items())
    error = "AttributeError: module 'torchaudio' has no attribute 'AudioMetaData'"
    facts = having(imported("pyannote-audio", "3.3.2", error=error, dependent=True), packages=packages)
    assert shape(facts, module_removed, undeclared_requirement) == [
        ("packages.module-removed", []),
        ("packages.undeclared-requirement", []),
    ]


def missing(module: str, *requires: str, dependent: bool = False) -> Facts:
    error = f"ModuleNotFoundError: No module named '{module}'"
    one = imported("faster-whisper", "1.1.1", error=error, dependent=dependent)
    return having(one, packages=(package("faster-whisper", "1.1.1"), package("av", "1.0", requires=requires)))


@pytest.mark.parametrize(
    ("facts", "message", "typed"),
    [
        (missing("requests"), "Install requests: faster-whisper imports it.", f"{PIP} install requests"),
        (
            missing("skimage.metrics"),
            "Install scikit-image, which contains the module skimage: faster-whisper imports it.",
            f"{PIP} install scikit-image",
        ),
        # An installed package requires it, if only for an extra.
        (
            missing("some_thing", "some-thing>=2; extra == 'all'"),
            "Install some-thing, which contains the module some_thing: faster-whisper imports it.",
            f"{PIP} install some-thing",
        ),
        # A name that nobody vouches for is not typed.
        (
            missing("some_thing"),
            "Install what contains the module some_thing: see what faster-whisper documents as its requirements, since "
            "a distribution of that name may be another project.",
            None,
        ),
    ],
)
def test_a_module_that_nothing_contains(facts: Facts, message: str, typed: str | None) -> None:
    first = run(import_fails, facts)[0].fixes[0]
    assert (first.message, first.commands) == (message, (typed,) if typed else ())


@pytest.mark.parametrize(
    ("distribution", "typed"),
    [
        (Distribution(id="debian", version="12"), ("apt-get install liblzma-dev", "pyenv install --force 3.11.7")),
        (Distribution(id="fedora", version="43"), ("dnf install xz-devel", "pyenv install --force 3.11.7")),
        (Distribution(id="gentoo"), ("pyenv install --force 3.11.7",)),
    ],
)
def test_a_python_without_one_of_its_own_modules(distribution: Distribution, typed: tuple[str, ...]) -> None:
    facts = change(missing("_lzma"), "host.distribution", distribution)
    facts = change(facts, "pythons.0.real", "/home/u/.pyenv/versions/3.11.7/bin/python3.11")
    first = run(import_fails, facts)[0].fixes[0]
    assert first.message.startswith("This Python was built without _lzma: install ")
    assert tuple(one.removeprefix("sudo ") for one in first.commands) == typed


def test_a_private_module_of_nobody_is_not_installed() -> None:
    assert "_nothing" not in commands(import_fails, missing("_nothing"))


def test_what_a_messages_step_leaves_open_is_the_package_that_fails() -> None:
    error = "TypeError: Descriptors cannot be created directly."
    part = "compat.proto.event_pb2"
    facts = having(imported("tensorboard", "2.8.0", error=error, dependent=True, blamed="google", part=part))
    first = run(import_fails, facts)[0].fixes[0]
    assert first.commands == (f"{PIP} install -U protobuf tensorboard",)
    assert set(verifies(import_fails, facts)) == {f"/opt/env/bin/python -c 'import tensorboard.{part}'"}


def test_a_step_with_a_name_that_nobody_knows_is_left_out() -> None:
    error = "NotFoundError: /x/_ops.so: undefined symbol: _ZN10tensorflow12OpDefBuilder10SetShapeFnESt8function"
    facts = having(imported("tensorflow-text", "2.20.1", error=error))
    typed = commands(import_fails, facts)
    assert "FILE" not in typed
    assert "tensorflow-text" in typed


def test_what_computes_on_the_gpu_and_misses_a_module_fails() -> None:
    assert severity(import_fails, missing("requests")) == "fail"
    assert severity(import_fails, missing("requests", dependent=True)) == "warn"


@pytest.mark.parametrize(
    ("failing", "error", "causes"),
    [
        # Triton lacks setuptools, too, which is another matter: the error names neither.
        ("ctranslate2", "ImportError: libctranslate2.so: cannot enable executable stack", 2),
        ("bitsandbytes", "ModuleNotFoundError: No module named 'triton.ops'", 2),
        ("torchao", "ModuleNotFoundError: No module named 'setuptools'", 1),
        ("triton", "ModuleNotFoundError: No module named 'setuptools'", 1),
    ],
)
def test_what_one_package_lacks_explains_no_other_error(failing: str, error: str, causes: int) -> None:
    facts = having(imported(failing, "1.0", error=error), packages=(package("triton", "3.2.0"),))
    facts = change(facts, "pythons.0.version", "3.11.9")
    assert len(shape(facts, import_fails, undeclared_requirement)) == causes


def test_the_older_release_is_not_offered_where_another_package_requires_the_newer() -> None:
    facts = cuda_python(torch_needs=("cuda-bindings<14,>=13.0.3",))
    typed = commands(module_removed, facts)
    assert "cuda-python" not in typed
    assert f"{PIP} install --upgrade spikeinterface" in typed


def test_a_package_that_only_requires_others_is_upgraded_not_reinstalled() -> None:
    facts = having(imported("peftx", error="AttributeError: module 'torch' has no attribute 'x'", dependent=True))
    assert f"{PIP} install 'peftx>1.0' torch==2.8.0" in commands(import_fails, facts)
    left = having(imported("peftx", error=Unknown("no time"), dependent=True))
    assert one(import_fails, left) == ("pass", "")


NUMBA = package("numba-cuda", "0.15.0", requires=("numba>=0.59", "cuda-bindings==12.9.*; extra == 'cu12'"))


def test_numba_cuda_needs_its_bindings() -> None:
    facts = environment(torch("2.8.0", cuda="12.8"), packages=(NUMBA,))
    expected = "numba-cuda 0.15.0 is installed without cuda-bindings: its import fails: CUDA bindings not found."
    assert one(part_missing, facts) == ("problem", expected)
    assert f"{PIP} install 'numba-cuda[cu12]==0.15.0'" in commands(part_missing, facts)
    assert one(part_missing, change(facts, "host.environment", {"NUMBA_CUDA_USE_NVIDIA_BINDING": "0"}))[0] == "pass"
    whole = environment(torch("2.8.0", cuda="12.8"), packages=(NUMBA, package("cuda-bindings", "12.9.0")))
    assert one(part_missing, whole) == ("pass", "")


OPENMM = package(
    "openmm", "8.3.1", requires=("numpy", "OpenMM-CUDA-12==8.3.1; platform_system != 'Darwin' and extra == 'cuda12'")
)


def test_openmm_without_cuda_is_advice_next_to_a_gpu() -> None:
    facts = environment(packages=(OPENMM,))
    assert "openmm 8.3.1 is installed without openmm-cuda-12: it has no CUDA platform" in one(part_missing, facts)[1]
    assert severity(part_missing, facts) == "advice"
    typed = commands(part_missing, facts)
    assert f"{PIP} install 'openmm[cuda12]==8.3.1'" in typed
    assert verifies(part_missing, facts) == ["/opt/env/bin/python -m openmm.testInstallation"]
    assert "openmm[cuda12]" in commands(part_missing, change(facts, "nvidia.cuda.version", "13.0"))


@pytest.mark.parametrize(
    "facts",
    [
        environment(packages=(OPENMM, package("openmm-cuda-12", "8.3.1"))),
        environment(packages=(OPENMM,), facts=plain_host()),
        environment(packages=(package("openmm", "8.3.1"),)),  # conda's has every platform
        change(environment(packages=(OPENMM,)), "nvidia.cuda.version", "11.8"),  # it has no extra for CUDA 11
    ],
)
def test_openmm_with_its_platform_or_without_a_gpu(facts: Facts) -> None:
    assert one(part_missing, facts) == ("pass", "")


def test_vllm_needs_amdsmi_on_rocm_alone() -> None:
    vllm = package("vllm", "0.10.2+rocm642")
    facts = change(environment(rocm_torch(), packages=(vllm,)), "amd.rocm_path", "/opt/rocm")
    assert "needs amdsmi, which is not installed" in one(undeclared_requirement, facts)[1]
    assert severity(undeclared_requirement, facts) == "fail"
    assert f"{PIP} install /opt/rocm/share/amd_smi" in commands(undeclared_requirement, facts)
    path = change(facts, "pythons.0.sys_path", ("/opt/rocm/share/amd_smi",))
    assert one(undeclared_requirement, path) == ("pass", "")
    there = environment(rocm_torch(), packages=(vllm, package("amdsmi", "25.5.1")))
    assert one(undeclared_requirement, there) == ("pass", "")
    assert one(undeclared_requirement, environment(torch("2.8.0"), packages=(vllm,))) == ("pass", "")


OUTSIDE = f"{SITE}/flash_attn_interface.py"
NOT_IN_IT = "ModuleNotFoundError: No module named 'flash_attn_3.flash_attn_interface'"


def test_a_module_next_to_its_package() -> None:
    facts = having(imported("transformer-engine", "2.12.0", error=NOT_IN_IT, outside=OUTSIDE))
    assert one(import_fails, facts)[1].endswith(f"That module is at {OUTSIDE}, outside of its package.")
    assert f"cp {OUTSIDE} {SITE}/flash_attn_3/flash_attn_interface.py" in commands(import_fails, facts)
    assert "attn_implementation" not in commands(import_fails, facts)  # FlashAttention is installed
