"""An image made for a newer CUDA major than the host's driver supports."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Framework
from gpudoctor.fixes.container import again
from gpudoctor.maybe import known, present
from gpudoctor.queries.containers import nvidia_container
from gpudoctor.queries.driver import driver_runs
from gpudoctor.tasks import query

VARIABLE = "NVIDIA_REQUIRE_CUDA"


def _wanted(facts: Facts) -> str | None:
    """The CUDA release of the first alternative, the one without conditions of brand and driver."""
    found = re.match(r"cuda>=(\d+\.\d+)(?:\s|$)", facts.host.environment.get(VARIABLE, "").strip())
    return found[1] if found else None


def _works(framework: Framework, has: str) -> bool:
    """Whether a framework uses the GPU, or was not asked and is built for a CUDA that this driver supports."""
    if framework.live is not None:
        return framework.live.available is True
    return isinstance(framework.cuda, str) and driver_runs(framework.cuda, has)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    major = (_wanted(facts) or "").partition(".")[0]
    has = present(facts.nvidia.cuda.version).partition(".")[0]
    newer = Fix(
        f"On the host, update the driver to a branch that supports CUDA {major}, then restart the container.",
        (query("nvidia-smi"),),
        "reinstall-package",
        root=True,
        needs="reboot of the host",
        verify=query("nvidia-smi"),
    )
    return (again(f"Use an image of CUDA {has}, such as another tag of the same image."), newer)


@check(
    title="The image needs a newer CUDA than the host's driver supports",
    severity=Severity.WARNING,
    cause="NVIDIA's images declare in NVIDIA_REQUIRE_CUDA which CUDA the driver must support, and the container "
    "runtime refuses to start them elsewhere. With NVIDIA_DISABLE_REQUIRE, and with CDI, this is not checked: the "
    "container starts, and programs fail with 'CUDA driver version is insufficient for CUDA runtime version'.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html#constraints",
        "https://docs.nvidia.com/deploy/cuda-compatibility/",
    ),
    targets=nvidia_container,
    caused_by=("driver.*", "device.*"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def requirement_unmet(facts: Facts) -> Problem | None:
    """The image's major is newer than that of the libcuda in use, and no framework here works anyway."""
    wanted = _wanted(facts)
    if wanted is None:
        return None
    has = known(facts.nvidia.cuda.version)
    if has is None or driver_runs(wanted, has) or any(_works(f, has) for p in facts.pythons for f in p.frameworks):
        return None
    message = f"The image is made for CUDA {wanted}, but the driver of this container's host supports CUDA {has}."
    return Problem(message, (f"{VARIABLE}={facts.host.environment[VARIABLE][:60]}",))
