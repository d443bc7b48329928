"""CuPy: its packages, its libraries, its headers, its driver."""

from typing import Any

import pytest

from gpudoctor.checks.cupy.arch_missing import arch_missing
from gpudoctor.checks.cupy.crashes import crashes
from gpudoctor.checks.cupy.driver_too_old import driver_too_old
from gpudoctor.checks.cupy.headers_missing import headers_missing
from gpudoctor.checks.cupy.import_fails import import_fails
from gpudoctor.checks.cupy.import_hangs import import_hangs
from gpudoctor.checks.cupy.newer_nvrtc import newer_nvrtc
from gpudoctor.checks.cupy.no_gpu import no_gpu
from gpudoctor.checks.cupy.nvrtc_missing import nvrtc_missing
from gpudoctor.checks.cupy.several_packages import several_packages
from gpudoctor.checks.cupy.wrong_cuda_major import wrong_cuda_major
from gpudoctor.facts import CudaHome, DriverLibrary, Facts, Framework
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, live
from tests.checks.environments import (
    PASCAL,
    change_toolkits,
    commands,
    environment,
    machine,
    need,
    one,
    package,
    severity,
)

NVRTC = "/usr/local/cuda-12.6/lib64/libnvrtc.so.12"
RUNTIME = DriverLibrary(
    soname="libcudart.so.12", path="/usr/local/cuda-12.6/lib64/libcudart.so.12", real="/x", kind="toolkit"
)
WHOLE = change_toolkits(
    installed=(("/usr/local/cuda-12.6", "12.6"),),
    libraries=(RUNTIME,),
    home=CudaHome(path="/usr/local/cuda", found_by="CUDA_PATH", exists=True, nvcc=None, headers=True),
)
BARE = change_toolkits(
    installed=(("/usr/local/cuda-12.6", "12.6"),),
    libraries=(RUNTIME,),
    home=CudaHome(path="/usr/local/cuda", found_by="CUDA_PATH", exists=True, nvcc=None, headers=False),
)


def cupy(name: str = "cupy-cuda12x", version: str = "13.4.1", **changes: Any) -> Framework:
    """A healthy CuPy for CUDA 12."""
    plain = {"distribution": name, "cuda": "12", "archs": Unknown("no list"), "needs": (need("libnvrtc.so.12", NVRTC),)}
    return framework("cupy", version, **(plain | changes))


def test_several_packages() -> None:
    facts = environment(cupy("cupy-cuda11x", others=(("cupy", "11.5.0"),)), facts=machine(toolkits=WHOLE))
    expected = "cupy-cuda11x 13.4.1 and cupy 11.5.0 are installed together and overwrite each other's files."
    assert one(several_packages, facts) == ("problem", expected)
    said = commands(several_packages, facts)
    assert "uninstall -y cupy-cuda11x cupy" in said
    assert "pip install cupy-cuda12x" in said
    assert one(several_packages, environment(cupy())) == ("pass", "")


def test_wrong_cuda_major() -> None:
    ill = cupy("cupy-cuda11x", cuda="11", needs=(need("libnvrtc.so.11.2"), need("libcublas.so.11")))
    nvrtc = DriverLibrary(soname="libnvrtc.so.12", path=NVRTC, real=NVRTC, kind="toolkit")
    facts = environment(ill, facts=machine(toolkits=change_toolkits(libraries=(RUNTIME, nvrtc))))
    expected = (
        "cupy-cuda11x 13.4.1 is built for CUDA 11 and needs libnvrtc.so.11.2; installed is only CUDA 12 in "
        "/usr/local/cuda-12.6/lib64."
    )
    assert one(wrong_cuda_major, facts) == ("problem", expected)
    assert "pip install cupy-cuda12x" in commands(wrong_cuda_major, facts)
    assert one(wrong_cuda_major, environment(cupy())) == ("pass", "")
    assert one(wrong_cuda_major, environment(cupy(needs=Unknown("no cache")))) == ("unknown", "no cache")


def test_nvrtc_missing() -> None:
    ill = cupy(needs=(need("libnvrtc.so.12", wheel="/opt/env/libnvrtc.so.12"),))
    expected = (
        "CuPy 13.4.1 needs libnvrtc.so.12, which is not found; the copy in /opt/env/libnvrtc.so.12 is not searched for."
    )
    assert one(nvrtc_missing, environment(ill)) == ("problem", expected)
    assert "'cupy-cuda12x[ctk]>=14.0.0'" in commands(nvrtc_missing, environment(ill))
    assert one(nvrtc_missing, environment(cupy())) == ("pass", "")
    assert one(nvrtc_missing, environment(cupy(needs=Unknown("no cache")))) == ("unknown", "no cache")


def test_nvrtc_of_a_cupy_that_another_package_brought_is_opened_by_cuda_bindings() -> None:
    ill = cupy(needs=(need("libnvrtc.so.12", wheel="/opt/env/libnvrtc.so.12"),))
    cudf = package("cudf-cu12", "26.2.1", requires=("cupy-cuda12x>=13.6.0",))
    both = environment(ill, packages=(cudf, package("cuda-bindings", "12.9.5")))
    assert severity(nvrtc_missing, both) == "warn"
    assert one(nvrtc_missing, both)[1].endswith("only once cuda-bindings has opened it in the same process.")
    assert severity(nvrtc_missing, environment(ill, packages=(cudf,))) == "fail"
    assert severity(nvrtc_missing, environment(ill, packages=(package("cuda-bindings", "12.9.5"),))) == "fail"


def test_a_package_whose_last_release_came_before_the_extra_is_replaced() -> None:
    ill = cupy("cupy-cuda11x", cuda="11", needs=(need("libnvrtc.so.11.2"),))
    said = commands(nvrtc_missing, environment(ill))
    assert "uninstall -y cupy-cuda11x" in said
    assert "'cupy-cuda12x[ctk]'" in said
    assert "14.0.0" not in said
    old = commands(nvrtc_missing, environment(ill, facts=machine("11.4")))  # a driver that runs no CUDA 12
    assert "11.8" in old or "11-8" in old
    assert "ctk" not in old


def test_headers_missing() -> None:
    facts = environment(cupy(), facts=machine(toolkits=BARE))
    expected = (
        f"CuPy 13.4.1 finds NVRTC 12.6 ({NVRTC}), but not the CUDA headers: /usr/local/cuda/include has no "
        "vector_types.h and cuda_fp16.h."
    )
    assert one(headers_missing, facts) == ("problem", expected)
    said = commands(headers_missing, facts)
    assert "nvidia-cuda-runtime-cu12==12.6.*" in said
    assert "cuda-cudart-dev-12-6" in said
    assert one(headers_missing, environment(cupy(), facts=machine(toolkits=WHOLE))) == ("pass", "")
    wheel = (package("nvidia-cuda-runtime-cu12", "12.6.77"),)
    assert one(headers_missing, environment(cupy(), packages=wheel, facts=machine(toolkits=BARE))) == ("pass", "")
    closed = change_toolkits(home=CudaHome(path="/usr/local/cuda", headers=Unknown("closed")))
    assert one(headers_missing, environment(cupy(), facts=machine(toolkits=closed))) == ("unknown", "closed")


def test_driver_too_old() -> None:
    facts = environment(cupy("cupy-cuda13x", cuda="13"), facts=machine("12.4"))
    expected = (
        "cupy-cuda13x 13.4.1 is built for CUDA 13 and requires driver 580 or newer; the driver 570.169 (CUDA 12.4) "
        "is too old and supports at most CUDA 12.4."
    )
    assert one(driver_too_old, facts) == ("problem", expected)
    assert "cupy-cuda12x" in commands(driver_too_old, facts)
    assert one(driver_too_old, environment(cupy(), facts=machine("12.0"))) == ("pass", "")
    assert one(driver_too_old, environment(cupy(cuda=Unknown("from source")))) == ("unknown", "from source")


def test_arch_missing() -> None:
    facts = environment(cupy("cupy-cuda13x", cuda="13"), facts=machine("13.0", card=PASCAL))
    outcome, message = one(arch_missing, facts)
    assert outcome == "problem"
    assert message.startswith("cupy-cuda13x 13.4.1 has no kernels for GPU 0 (NVIDIA GeForce GTX 1080 Ti, Pascal")
    assert "cupy-cuda12x" in commands(arch_missing, facts)
    assert one(arch_missing, environment(cupy(), facts=machine(card=PASCAL))) == ("pass", "")
    hidden = environment(cupy(), facts=machine(card={"capability": Unknown("lost")}))
    assert one(arch_missing, hidden) == ("unknown", "lost")


def test_a_build_from_source_has_the_nvrtc_of_its_cuda() -> None:
    built = environment(cupy("cupy", cuda="13"), facts=machine("13.0", card=PASCAL))
    assert "the NVRTC of CUDA 13, which compiles its kernels, supports 7.5 and newer" in one(arch_missing, built)[1]
    assert "cupy-cuda12x" in commands(arch_missing, built)
    assert one(arch_missing, environment(cupy("cupy", cuda="13"), facts=machine("13.0"))) == ("pass", "")
    assert one(arch_missing, environment(cupy("cupy"), facts=machine(card=PASCAL))) == ("pass", "")


LIVE = [
    (import_fails, {"import_error": "ImportError: x"}, "CuPy 13.4.1 fails to import: ImportError: x"),
    (import_hangs, {"hung": True, "stage": "devices"}, "CuPy 13.4.1 hangs while listing devices."),
    (
        crashes,
        {"died": "SIGSEGV", "stage": "import"},
        "CuPy 13.4.1 crashes with SIGSEGV in the stage import, before it reports any GPU.",
    ),
    (
        no_gpu,
        {"available": False, "count": 0, "error": "cudaErrorUnknown: unknown error"},
        "CuPy 13.4.1 does not use GPU 0 (NVIDIA GeForce RTX 4090).",
    ),
]


@pytest.mark.parametrize(("check", "changes", "message"), LIVE)
def test_what_cupy_says_itself(check: Any, changes: dict[str, Any], message: str) -> None:
    assert one(check, environment(cupy(live=live(**changes)))) == ("problem", message)
    assert one(check, environment(cupy())) == ("pass", "")


def test_no_gpu_does_not_know() -> None:
    assert one(no_gpu, environment(cupy(variant=Unknown("from source")))) == ("unknown", "from source")


THIRTEEN = package("nvidia-cuda-nvrtc", "13.5.37")


@pytest.mark.parametrize(
    ("cuda", "card", "status", "message"),
    [
        (
            "13.0",
            PASCAL,
            "fail",
            "which compiles nothing for GPU 0 (NVIDIA GeForce GTX 1080 Ti, Pascal, compute capability 6.1, sm_61).",
        ),
        ("12.8", None, "warn", "; the driver 570.169 (CUDA 12.8) runs no CUDA 13."),
    ],
)
def test_newer_nvrtc(cuda: str, card: Any, status: str, message: str) -> None:
    ill = cupy(version="14.2.0")
    facts = environment(ill, packages=(THIRTEEN,), facts=machine(cuda, card=card))
    status_, said = one(newer_nvrtc, facts)
    assert status_ == "problem"
    assert said.startswith("CuPy 14.2.0 is for CUDA 12, but loads NVRTC 13.5.37 of nvidia-cuda-nvrtc")
    assert said.endswith(message)
    assert severity(newer_nvrtc, facts) == status
    typed = commands(newer_nvrtc, facts).splitlines()
    assert typed[1].endswith("-m pip uninstall -y nvidia-cuda-nvrtc")
    assert typed[2].endswith("-m pip install 'cupy-cuda12x[ctk]>=14.0.0'")
    theirs = package("torch", "2.12.0", requires=("nvidia-cuda-nvrtc==13.0.48; platform_system == 'Linux'",))
    facts = environment(ill, packages=(THIRTEEN, theirs), facts=machine(cuda, card=card))
    assert commands(newer_nvrtc, facts).splitlines()[1:] == [f"export LD_PRELOAD={NVRTC}"]
    assert one(newer_nvrtc, change(facts, "host.environment", {"LD_PRELOAD": NVRTC})) == ("pass", "")
    lost = environment(cupy(version="14.2.0", needs=()), packages=(THIRTEEN, theirs), facts=machine(cuda, card=card))
    assert commands(newer_nvrtc, lost) == ""


def test_an_nvrtc_that_serves() -> None:
    ill, new = cupy(version="14.2.0"), machine("13.0")
    assert one(newer_nvrtc, environment(ill, packages=(THIRTEEN,), facts=new)) == ("pass", "")
    blind_ = environment(ill, packages=(THIRTEEN,), facts=machine("13.0", card={"capability": Unknown("closed")}))
    assert one(newer_nvrtc, blind_) == ("unknown", "closed")
    old = machine("12.8")
    assert one(newer_nvrtc, environment(cupy(), packages=(THIRTEEN,), facts=old)) == ("pass", "")  # before release 14
    assert one(newer_nvrtc, environment(ill, facts=old)) == ("pass", "")
    mine = package("nvidia-cuda-nvrtc-cu12", "12.9.86")
    assert one(newer_nvrtc, environment(ill, packages=(mine,), facts=old)) == ("pass", "")
    thirteen = cupy("cupy-cuda13x", "14.2.0", cuda="13")
    assert one(newer_nvrtc, environment(thirteen, packages=(THIRTEEN,), facts=old)) == ("pass", "")


WHEEL = "/opt/env/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"


def mixed(
    cupy_release: str, nvrtc_release: str, toolkit: Any, headers: Any = True, cuda_path: Any = "/usr/local/cuda"
) -> Facts:
    """CuPy with the NVRTC of a wheel, next to a toolkit of another release."""
    found = need("libnvrtc.so.12", WHEEL, "wheel", version=nvrtc_release, wheel=WHEEL)
    home = CudaHome(path="/usr/local/cuda", found_by="CUDA_PATH", exists=True, nvcc=toolkit, headers=headers)
    wheels = (package("nvidia-cuda-nvrtc-cu12", nvrtc_release), package("nvidia-cuda-runtime-cu12", nvrtc_release))
    own = cupy(version=cupy_release, needs=(found,), live=live(1, cuda_path=cuda_path))
    return environment(own, packages=wheels, facts=machine(toolkits=change_toolkits(installed=(), home=home)))


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (mixed("14.0.1", "12.9.86", "12.0"), "problem"),
        (mixed("14.0.0", "12.4.127", "12.8"), "problem"),  # older than the headers
        (mixed("14.0.1", "12.9.86", "12.9"), "pass"),
        (mixed("14.1.0", "12.9.86", "12.0"), "pass"),
        (mixed("13.6.0", "12.9.86", "12.0"), "pass"),  # loads no wheel's
        (mixed("14.0.1", "12.9.86", "12.0", headers=False), "pass"),
        (mixed("14.0.1", "12.9.86", "12.0", cuda_path="/opt/cuda-12.9"), "pass"),
        (mixed("14.0.1", "12.9.86", None), "pass"),
        (mixed("14.0.1", "12.9.86", Unknown("nvcc was not run")), "unknown"),
        (mixed("13.6.0", "12.9.86", Unknown("nvcc was not run")), "pass"),
    ],
)
def test_headers_of_another_release_than_nvrtc(facts: Facts, outcome: str) -> None:
    assert one(headers_missing, facts)[0] == outcome


def test_what_brings_headers_and_nvrtc_together() -> None:
    facts = mixed("14.0.1", "12.9.86", "12.0")
    assert severity(headers_missing, facts) == "warn"
    assert "cupy-cuda12x[ctk]>=14.1.0" in commands(headers_missing, facts)
    assert "nvidia-cuda-nvrtc-cu12==12.0.*" in commands(headers_missing, facts)


LOADER = "CuPy failed to load {0}: OSError: {0}: cannot open shared object file: No such file or directory"


def without(library: str, cupy_release: str, *wheels: str) -> Facts:
    """CuPy that does not start, because the loader finds no such library."""
    error = LOADER.format(library)
    own = cupy(version=cupy_release, live=live(0, available=False, error=error, error_code=999))
    return environment(own, packages=tuple(package(name, "13.1.80") for name in wheels))


@pytest.mark.parametrize(
    ("facts", "typed", "not_typed"),
    [
        (without("libcudart.so.13", "14.0.0rc1"), "--upgrade 'cupy-cuda12x!=14.0.0rc1'", "LD_LIBRARY_PATH"),
        (without("libcudart.so.13", "14.0.0", "nvidia-cuda-runtime"), "site-packages/nvidia/cu13/lib", "install"),
        (without("libnvrtc.so.12", "15.0.0a1", "nvidia-cuda-nvrtc-cu12"), "nvidia/cuda_nvrtc/lib", "cu13"),
        (without("libcudart.so.13", "14.0.0", "nvidia-cuda-runtime-cu12"), "import cupy", "LD_LIBRARY_PATH"),
        (without("libfoo.so.1", "14.0.0"), "import cupy", "LD_LIBRARY_PATH"),
    ],
)
def test_a_library_that_only_a_wheel_has(facts: Facts, typed: str, not_typed: str) -> None:
    found = commands(no_gpu, facts)
    assert typed in found
    assert not_typed not in found
