"""A framework built for CUDA in WSL, on a Windows without NVIDIA's driver."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import intel, rocm_wsl, wsl
from gpudoctor.fixes.python import another_build
from gpudoctor.fixes.torch_build import torch_family
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.gpu_requests import requests
from gpudoctor.targets import OnLive, asked_for_nvidia, in_container, lives, on_wsl

_NAMES = {"amd": "AMD's", "intel": "Intel's"}
_NVIDIA = wsl.windows_driver("If the machine has an NVIDIA card: install NVIDIA's current driver on Windows.")


def _builds(facts: Facts) -> Iterator[tuple[About, OnLive]]:
    """Frameworks for CUDA that were imported in a WSL distribution, into which Windows brings no NVIDIA library."""
    if on_wsl(facts) and not in_container(facts) and not asked_for_nvidia(facts):
        yield from ((about, on) for about, on in lives(facts) if isinstance(on.framework.cuda, str))


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    vendors = on.facts.wsl.vendors
    if "amd" in vendors:
        return (rocm_wsl.first_release(on.facts), _NVIDIA)
    if "intel" in vendors and on.framework.name == "torch":
        xpu = Fix(
            "If the GPU is Intel's (Arc): install PyTorch's build for it.",
            another_build(on.python, *torch_family(on.python), index=intel.INDEX),
            "reinstall-package",
            verify=intel.verify(on.python),
        )
        return (xpu, _NVIDIA)
    return (_NVIDIA,)


@check(
    title="CUDA build in WSL, but Windows has no NVIDIA driver",
    severity=Severity.WARNING,
    cause="WSL has no driver of its own: libcuda comes from the driver that is installed on Windows. The files that "
    "Windows shows here (/usr/lib/wsl) have none of NVIDIA's, so a build for CUDA finds no GPU, whatever is installed "
    "in WSL. AMD's cards need ROCm for WSL and a build for it, Intel's a build for XPU.",
    fixes=_fixes,
    references=(
        wsl.CUDA_ON_WSL,
        rocm_wsl.GUIDE,
        "https://github.com/NVIDIA/nvidia-container-toolkit/pull/1890",
        "https://github.com/yuk7/ArchWSL/issues/308",
    ),
    targets=_builds,
    only_with=("queries.containers:windows_gpu",),
    caused_by=("wsl.version-1", "wsl.no-dxg", "wsl.gpu-disabled", "wsl.access-blocked"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def no_nvidia_driver(on: OnLive) -> Problem | None:
    """Windows shows its files here and none of NVIDIA's: ADVICE where nothing asks for a GPU."""
    if known(on.facts.nvidia.kernel.wsl_drivers) != () or known_or(on.live.available, False) is True:
        return None
    vendors = [_NAMES[vendor] for vendor in on.facts.wsl.vendors]
    only = f", only {' and '.join(vendors)}" if vendors else ""
    message = f"{on.name} is built for NVIDIA's GPUs, and Windows has no NVIDIA driver{only}."
    asked = [one for one in requests(on.facts) if one.vendor == "nvidia"]
    runtime = "nvidia" in (known_or(on.facts.containers.docker_runtimes, None) or ())
    seen = (*(one.why for one in asked), *(("Docker has the runtime nvidia",) if runtime else ()))
    # a laptop with Intel's graphics has PyPI's build, which is for CUDA, and computes on its processor
    wanted = seen or "amd" in on.facts.wsl.vendors
    return Problem(message, seen, severity=None if wanted else Severity.ADVICE)
