"""llama.cpp: libraries that the loader does not find for its backends, and builds without one."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.llamacpp.cpu_build import cpu_build
from gpudoctor.checks.llamacpp.library_not_found import library_not_found
from gpudoctor.facts import Facts, LlamaCpp, Need
from gpudoctor.facts.host import Distribution
from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.amd_machines import RADEON, amd_host
from tests.checks.intel_machines import UHD, arc_host

BIN = "/src/llama.cpp/build/bin"
PROGRAM = f"{BIN}/llama-server"
WHY = Unknown("script")
PASS, SKIPPED, UNKNOWN = ("pass", ""), ("skipped", ""), ("unknown", "script")
HIPS = ("libhipblas.so.3", "librocblas.so.5")


def backend(kind: str, *missing: str, linked: bool = True, there: str = "") -> GgmlBackend:
    path = f"{BIN}/libggml-{kind}.so"
    copies = [(f"{there}/{name}",) if there else () for name in missing]
    needs = tuple(Need(soname=n, needed_by=path, copies=c) for n, c in zip(missing, copies, strict=True))
    return GgmlBackend(kind=kind, path=path, linked=linked, missing=needs)


def having(facts: Facts, *backends: GgmlBackend, **changes: Any) -> Facts:
    return change(facts, "llama_cpp", LlamaCpp(**({"program": PROGRAM, "backends": backends} | changes)))


def off_path(facts: Facts | None = None, **changes: Any) -> Facts:
    return having(facts or amd_host(), backend("hip", *HIPS, there="/opt/rocm/lib"), **changes)


def gone(facts: Facts, kind: str = "hip", *names: str, **changes: Any) -> Facts:
    return having(facts, backend(kind, *(names or HIPS), linked=False), **changes)


def of(facts: Facts, name: str, version: str = "") -> Facts:
    return change(facts, "host.distribution", Distribution(id=name, version=version, like=()))


def image(facts: Facts, engine: str = "docker", program: str = "/app/llama-server") -> Facts:
    return change(change(facts, "host.container", engine), "llama_cpp.program", program)


NEEDS = "libggml-hip.so needs libhipblas.so.3, librocblas.so.5, which the loader does not find"
THERE = f"llama.cpp ({PROGRAM}) does not start: {NEEDS}: they are in /opt/rocm/lib, where it does not look."
NOWHERE = f"llama.cpp ({PROGRAM}) computes on the CPU: {NEEDS}; they are in no directory of ROCm here."
VULKAN = (
    f"llama.cpp ({PROGRAM}) computes on the CPU: libggml-vulkan.so needs libvulkan.so.1, which the loader does not "
    "find; it is not installed."
)
LOST = Need(soname="libllama.so.0", needed_by=PROGRAM, copies=("/usr/local/lib/libllama.so.0",))
OWN = (
    f"llama.cpp ({PROGRAM}) does not start: llama-server needs libllama.so.0, which the loader does not find: it is in "
    "/usr/local/lib, where it does not look."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (off_path(), ("problem", THERE)),
        (gone(amd_host()), ("problem", NOWHERE)),
        (having(amd_host(), backend("hip")), PASS),
        (having(amd_host()), PASS),
        (having(amd_host(), backends=WHY), UNKNOWN),
        (having(amd_host(), backends=WHY, missing=(LOST,)), ("problem", OWN)),
        (having(amd_host(), program=None), SKIPPED),
        (having(plain_host(), backend("hip", *HIPS)), SKIPPED),
        # Libraries for the GPUs of other vendors do not matter.
        (gone(nvidia_host()), PASS),
        (gone(amd_host(), "cuda", "libcudart.so.12"), PASS),
        (gone(amd_host(), "sycl", "libsycl.so.8"), PASS),
        # Neither does one of several that are opened; what the program links to does.
        (having(amd_host(), backend("hip", *HIPS, linked=False), backend("vulkan")), PASS),
        (having(amd_host(), backend("vulkan"), backend("hip", *HIPS, there="/opt/rocm/lib")), ("problem", THERE)),
        (gone(nvidia_host(), "vulkan", "libvulkan.so.1"), ("problem", VULKAN)),
        # A GPU that no program can open is another check's.
        (off_path(change(amd_host(), "amd.kfd", ())), SKIPPED),
        (gone(change(nvidia_host(), "nvidia.cuda.code", 999), "cuda", "libcudart.so.12"), SKIPPED),
    ],
)
def test_library_not_found(facts: Facts, verdict: tuple[str, str]) -> None:
    assert (ask(library_not_found, facts) or [SKIPPED]) == [verdict]


def fixes(facts: Facts) -> list[tuple[str, ...]]:
    return [fix.commands for fix in run(library_not_found, facts)[0].fixes]


def test_a_library_off_the_path() -> None:
    conf, shell, rebuild = fixes(off_path())
    assert conf == ("echo /opt/rocm/lib | sudo tee /etc/ld.so.conf.d/llama-cpp.conf", "sudo ldconfig")
    assert shell == ("export LD_LIBRARY_PATH=/opt/rocm/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",)
    assert rebuild[0].startswith(
        "cmake -S /src/llama.cpp -B /src/llama.cpp/build '-DCMAKE_INSTALL_RPATH=/opt/rocm/lib;"
    )
    assert fixes(off_path(of(amd_host(), "nixos"))) == [shell]  # it has no ld.so.conf
    assert fixes(off_path(program="/usr/bin/llama-server")) == [conf, shell]  # no source to build
    oneapi = backend("sycl", "libsycl.so.8", there="/opt/intel/oneapi/compiler/latest/lib")
    assert fixes(having(arc_host(), oneapi)) == [(". /opt/intel/oneapi/setvars.sh",)]
    assert fixes(having(amd_host(), missing=(LOST,)))[0][1] == "sudo ldconfig"
    assert fixes(having(amd_host(), missing=(msgspec.structs.replace(LOST, copies=()),))) == [()]


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        (image(gone(amd_host())), "docker pull ghcr.io/ggml-org/llama.cpp:server-rocm"),
        (image(gone(amd_host()), "podman"), "podman pull ghcr.io/ggml-org/llama.cpp:server-rocm"),
        (image(gone(nvidia_host(), "cuda", "libcublas.so.12")), "docker pull ghcr.io/ggml-org/llama.cpp:server-cuda"),
        (image(gone(amd_host()), program="/app/llama-cli"), "docker pull ghcr.io/ggml-org/llama.cpp:light-rocm"),
        (gone(nvidia_host(), "vulkan", "libvulkan.so.1"), "sudo apt-get install libvulkan1"),
        (
            gone(of(change(amd_host(), "amd.rocm", None), "fedora", "43"), "hip", "libamdhip64.so.7"),
            "sudo dnf install rocm-hip",
        ),
        (gone(of(amd_host(), "arch")), "sudo pacman -S hipblas rocblas"),
    ],
)
def test_a_library_that_is_not_installed(facts: Facts, command: str) -> None:
    assert fixes(facts)[0][0] == command


def test_the_packages_of_the_release_that_it_was_built_for() -> None:
    cuda = fixes(gone(nvidia_host(), "cuda", "libcublas.so.12"))[0]
    assert "sudo apt-get install cuda-libraries-12-9" in cuda
    arch = of(nvidia_host(), "arch")
    assert fixes(gone(arch, "cuda", "libcublas.so.13"))[0] == ("sudo pacman -S cuda", "sudo ldconfig")
    assert fixes(gone(arch, "cuda", "libcublas.so.12"))[0] == ()  # Arch has the newest release alone
    seven = change(amd_host(), "amd.rocm", "7.2.4")
    assert fixes(gone(seven, "hip", "libamdhip64.so.7"))[0] == ("sudo apt-get install hip-runtime-amd", "sudo ldconfig")
    six = run(library_not_found, gone(change(amd_host(), "amd.rocm", "6.4.1"), "hip", "libamdhip64.so.7"))[0].fixes
    assert six[0].commands == ()
    assert "Install the ROCm 7.0 or newer" in six[0].message
    assert six[1].commands[0] == "cmake -S /src/llama.cpp -B /src/llama.cpp/build -DGGML_HIP=ON"


IDLE = f"llama.cpp ({PROGRAM}) has no library for a GPU and computes on the CPU:"
INTEGRATED = amd_host((msgspec.structs.replace(RADEON, integrated=True),))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (having(nvidia_host()), ("problem", f"{IDLE} GPU 0 (NVIDIA GeForce RTX 4090) stays idle.")),
        (having(amd_host()), ("problem", f"{IDLE} GPU 0 ({RADEON.name}) stays idle.")),
        (having(arc_host()), ("problem", f"{IDLE} The Intel GPU at 0000:03:00.0 (DG2 [Arc A770]) stays idle.")),
        (having(INTEGRATED), PASS),
        (having(change(arc_host(), "pci", (UHD,))), PASS),
        (having(nvidia_host(), backend("vulkan")), PASS),
        (having(nvidia_host(), backend("opencl")), PASS),
        (having(nvidia_host(), missing=(LOST,)), PASS),
        (having(nvidia_host(), backends=WHY), UNKNOWN),
        (having(plain_host()), SKIPPED),
    ],
)
def test_cpu_build(facts: Facts, verdict: tuple[str, str]) -> None:
    assert (ask(cpu_build, facts) or [SKIPPED]) == [verdict]


def test_a_build_with_the_backend() -> None:
    (found,) = run(cpu_build, having(nvidia_host()))
    assert found.severity is Severity.ADVICE
    assert found.fixes[0].commands[0] == "cmake -S /src/llama.cpp -B /src/llama.cpp/build -DGGML_CUDA=ON"
    (packaged,) = run(cpu_build, having(nvidia_host(), program="/usr/bin/whisper-cli"))[0].fixes
    assert packaged.commands[0] == "git clone https://github.com/ggml-org/whisper.cpp"
    (pulled,) = run(cpu_build, image(having(nvidia_host())))[0].fixes
    assert pulled.commands == ("docker pull ghcr.io/ggml-org/llama.cpp:server-cuda",)
