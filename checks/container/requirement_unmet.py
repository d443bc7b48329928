"""An image made for a newer CUDA major than the host's driver supports."""

import re
from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Framework
from gpudoctor.facts.container_host import RefusedContainer
from gpudoctor.fixes.container import again
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known, present
from gpudoctor.queries.containers import docker_host, nvidia_container
from gpudoctor.queries.driver import branch, driver_runs
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import in_container
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import REST

VARIABLE = "NVIDIA_REQUIRE_CUDA"
_CUDA = "cuda>="


def _wanted(facts: Facts) -> str | None:
    """The CUDA release of the first alternative, the one without conditions of brand and driver."""
    found = re.match(r"cuda>=(\d+\.\d+)(?:\s|$)", facts.host.environment.get(VARIABLE, "").strip())
    return found[1] if found else None


def _works(framework: Framework, has: str) -> bool:
    """Whether a framework uses the GPU, or was not asked and is built for a CUDA that this driver supports."""
    if framework.live is not None:
        return framework.live.available is True
    return isinstance(framework.cuda, str) and driver_runs(framework.cuda, has)


def _targets(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """A container that was started in spite of its requirement, or the host that refused to start one."""
    yield from nvidia_container(facts)
    yield from docker_host(facts)


def _refused(facts: Facts) -> RefusedContainer | None:
    """The first container that Docker could not start because of a CUDA release that this driver still lacks."""
    has = known(facts.nvidia.cuda.version)
    if has is None:
        return None
    found = (one for one in known(facts.containers.refused) if one.condition.startswith(_CUDA))
    return next((one for one in found if numbers(one.condition.removeprefix(_CUDA)) > numbers(has)), None)


def _host_fixes(facts: Facts) -> tuple[Fix, ...]:
    container = present(_refused(facts))
    wanted = container.condition.removeprefix(_CUDA)
    has = present(facts.nvidia.cuda.version)
    older = again(f"Use an older tag of the image, for CUDA {has} or earlier, and create {container.name} again.")
    fixes = [older]
    if driver_runs(wanted, has):
        message = (
            f"Start it without that comparison: a driver for CUDA {has} runs programs built for another CUDA "
            f"{wanted.partition('.')[0]}, except where they compile PTX."
        )
        fixes.append(again(message, cmd("docker", "run", "--gpus", "all", "-e", "NVIDIA_DISABLE_REQUIRE=1", REST)))
    best = best_branch(facts, at_least=branch(drivers.native_driver(wanted)) or 0)
    return (install_driver(facts, best), *fixes) if best is not None else tuple(fixes)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return _inside_fixes(facts) if in_container(facts) else _host_fixes(facts)


def _inside_fixes(facts: Facts) -> tuple[Fix, ...]:
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
    targets=_targets,
    only_with=("queries.containers:nvidia_container queries.containers:docker_host",),
    caused_by=("driver.*", "device.*"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def requirement_unmet(facts: Facts) -> Problem | None:
    """Inside: the image's major is newer than libcuda's, and no framework works anyway. Outside: Docker refused it."""
    if not in_container(facts):
        return _outside(facts)
    wanted = _wanted(facts)
    if wanted is None:
        return None
    has = known(facts.nvidia.cuda.version)
    if has is None or driver_runs(wanted, has) or any(_works(f, has) for p in facts.pythons for f in p.frameworks):
        return None
    message = f"The image is made for CUDA {wanted}, but the driver of this container's host supports CUDA {has}."
    return Problem(message, (f"{VARIABLE}={facts.host.environment[VARIABLE][:60]}",))


def _outside(facts: Facts) -> Problem | None:
    container = _refused(facts)
    if container is None:
        return None
    message = (
        f"Docker could not start the container {container.name}: its image requires {container.condition}, but this "
        f"machine's driver supports CUDA {present(facts.nvidia.cuda.version)}."
    )
    return Problem(message, (f"{container.name}: unsatisfied condition: {container.condition}",))
