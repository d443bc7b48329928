"""gVisor's nvproxy does not know the installed driver version."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known
from gpudoctor.queries.containers import container_host
from gpudoctor.queries.driver import branch
from gpudoctor.tasks import as_root, query


def _nearest(facts: Facts) -> str | None:
    """The newest version of the installed driver's branch that nvproxy knows."""
    own = branch(known(facts.nvidia.kernel.loaded))
    same = [one for one in known(facts.containers.gvisor_drivers) or () if branch(one) == own]
    return max(same, key=version, default=None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    config, near = facts.containers.gvisor_config or "", _nearest(facts)
    look = query("runsc", "nvproxy", "list-supported-drivers")
    newer = Fix(
        "Install a release of gVisor (runsc) whose list contains this driver version; the newest is at "
        "https://gvisor.dev/docs/user_guide/install/.",
        (query("runsc", "--version"), look),
        "reinstall-package",
        verify=look,
    )
    if near is None:
        return (newer,)
    driver = Fix(f"Install driver {near} on this node, which this runsc knows.", (), "reinstall-package", root=True)
    if not config.endswith(".toml"):
        return newer, driver
    line = f'  nvproxy-driver-version = "{near}"'
    as_near = Fix(
        f"Have nvproxy treat the driver as {near}, which gVisor does not support officially: it works where the two "
        "have the same interface.",
        (as_root("sed", "-i", rf"/^\s*nvproxy\s*=/a\{line}", config),),
        "change-environment",
        root=True,
        undo=(as_root("sed", "-i", r"/nvproxy-driver-version/d", config),),
    )
    return newer, as_near, driver


@check(
    title="gVisor (runsc, nvproxy) does not support this driver version",
    severity=Severity.WARNING,
    cause="nvproxy passes a sandbox's calls on to NVIDIA's driver, whose interface changes with each version, and "
    "runsc takes only versions that it knows. With another one every sandbox with a GPU ends while it starts: "
    "'waiting for sandbox to start: EOF', and only runsc's own debug log says 'unsupported Nvidia driver version'.",
    fixes=_fixes,
    references=(
        "https://gvisor.dev/docs/user_guide/gpu/",
        "https://github.com/google/gvisor/issues/12773",
        "https://github.com/google/gvisor/issues/10605",
    ),
    targets=container_host,
    only_with=("containers.gvisor_drivers",),
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def gvisor_driver_unknown(facts: Facts) -> Problem | None:
    """The loaded driver is not among those that runsc lists."""
    drivers = known(facts.containers.gvisor_drivers)
    own = known(facts.nvidia.kernel.loaded) if drivers else None
    if drivers is None or own is None or own in drivers:
        return None
    near = _nearest(facts)
    branch_has = f"; of its branch it takes {near}" if near else ""
    message = f"This runsc does not take driver {own} (nvproxy){branch_has}: sandboxes with a GPU do not start."
    listed = f"runsc nvproxy list-supported-drivers: ... {', '.join(drivers[-6:])}"
    return Problem(message, (f"{facts.containers.gvisor_config or 'runsc'}: nvproxy is on", listed))
