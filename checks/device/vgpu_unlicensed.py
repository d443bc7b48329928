"""A virtual GPU without a license is throttled or accepts no new programs."""

from msgspec import structs

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cloud import aws_grid_driver, guest_driver
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.driver import CUDA_BUSY, not_wsl
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, filtered, query

_LICENSE = Fix(
    "Let the guest get its license: put the client token into /etc/nvidia/ClientConfigToken (older ones: "
    "ServerAddress in /etc/nvidia/gridd.conf), check that the license server is reachable, and restart "
    "nvidia-gridd.",
    (
        query("ls", "-l", "/etc/nvidia/ClientConfigToken"),
        as_root("systemctl", "restart", "nvidia-gridd"),
        query("journalctl", "-u", "nvidia-gridd", "-n", "20"),
    ),
    "restart-process",
    root=True,
    verify=filtered(query("nvidia-smi", "-q"), query("grep", "-A2", "-i", "licensed")),
)

_NO_DAEMON = (
    "NVIDIA vGPU needs a license, which the daemon nvidia-gridd gets. It belongs to the GRID driver's user space; here "
    "the kernel module was installed without it, so the vGPU stays unlicensed: the driver slows it down after 20 "
    "minutes, and after a day (Restricted) refuses new CUDA contexts."
)


def _lacks_daemon(facts: Facts) -> bool:
    """Whether the license daemon, which the GRID driver's user space brings, is not installed."""
    return facts.nvidia.kernel.gridd is None and not in_container(facts)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    """In a container the license is that of the host, which is the virtual machine."""
    inside = in_container(facts)
    if _lacks_daemon(facts):
        return aws_grid_driver(facts) if facts.cloud.provider == "aws" else (guest_driver(facts), _LICENSE)
    if not inside:
        return (_LICENSE,)
    message = f"On the host: {_LICENSE.message[0].lower()}{_LICENSE.message[1:]}"
    return (structs.replace(_LICENSE, place="outside", message=message),)


@check(
    title="vGPU has no license",
    severity=Severity.ERROR,
    cause="NVIDIA vGPU needs a license from a license server. Without one the driver slows the GPU down after 20 "
    "minutes, and later (Restricted) refuses new CUDA contexts with error 46, though nvidia-smi looks fine.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/license-system/latest/nvidia-license-system-user-guide/index.html",
        "https://github.com/awslabs/amazon-eks-ami/pull/2450",
        "https://github.com/DDMAL/Rodan/issues/1332",
    ),
    targets=not_wsl,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def vgpu_unlicensed(facts: Facts) -> Problem | None:
    """The state as nvidia-smi reports it; no vGPU has none."""
    state = known(facts.nvidia.kernel.license)
    if state is None or not state.lower().startswith("unlicensed"):
        return None
    grave = "(restricted" in state.lower() or facts.nvidia.cuda.code == CUDA_BUSY
    daemon = known_or(facts.nvidia.kernel.gridd, None)
    also = f" The license daemon nvidia-gridd is {daemon}." if daemon and daemon != "active" else ""
    also = " nvidia-gridd, the license daemon of the GRID driver, is not installed." if _lacks_daemon(facts) else also
    message = f"This vGPU's license status is {state!r}.{also}"
    cause = _NO_DAEMON if _lacks_daemon(facts) else None
    return Problem(message, cause=cause, severity=None if grave else Severity.WARNING)
