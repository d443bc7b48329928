"""The kernel refuses access to /dev/kfd: EPERM."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, amd_container
from gpudoctor.fixes.container import engine
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import amd_compute, in_container
from gpudoctor.tasks import Shell, filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts) and engine(facts) == "lxc":
        nodes = (*known_or(facts.amd.kfd, ()), *known_or(facts.amd.render, ()))
        majors = sorted({n.major for n in nodes if isinstance(n.major, int)})
        rules = "; ".join(f"lxc.cgroup2.devices.allow: c {m}:* rwm" for m in majors)
        message = f"On the host, allow these device majors in the container's configuration: {rules}."
        return (Fix(message, (), "change-environment", root=True, needs="restart of the container", verify=amd.PROOF),)
    if in_container(facts):
        return amd_container.pass_devices(facts)
    return (
        Fix(
            "See what restricts this process: a service's DeviceAllow, or a half-installed driver.",
            (
                Shell("systemd-cgls --unit $(ps -o unit= -p $$)", lookup=True),
                query("dkms", "status"),
                filtered(query("dmesg", root=True), query("grep", "-iE", "kfd|amdgpu"), query("tail")),
            ),
            root=True,
            verify=amd.PROOF,
        ),
    )


@check(
    title="Operation not permitted (EPERM): /dev/kfd",
    severity=Severity.ERROR,
    cause="EPERM (Operation not permitted) does not come from groups or file mode: the cgroup's device rules forbid "
    "the node, or the loaded driver does not match its installed files.",
    fixes=_fixes,
    references=(amd.CONTAINERS, "https://github.com/ROCm/legacy-rocm-build/issues/1211"),
    targets=amd_compute,
    caused_by=("rocm.half-installed", "rocm.dkms-build-failed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def kfd_refused(facts: Facts) -> Problem | None:
    """Opening it gives EPERM."""
    node = next((n for n in known(facts.amd.kfd) if known(n.error) == "EPERM"), None)
    if node is None:
        return None
    where = "the cgroup of this container" if in_container(facts) else "the kernel"
    return Problem(
        f"/dev/kfd cannot be opened: Operation not permitted (EPERM); {where} denies it; group membership is not the "
        "cause."
    )
