"""A control group on the host keeps this process from NVIDIA's device nodes."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ask_for_gpu
from gpudoctor.maybe import known_or
from gpudoctor.queries.containers import refused
from gpudoctor.queries.driver import own_kernel
from gpudoctor.tasks import as_root, query
from gpudoctor.tasks.placeholders import UNIT

# A pattern of the names in /proc/devices: "nvidia-frontend" or "nvidia", and "nvidia-uvm".
_ALLOW = "DeviceAllow=char-nvidia* rwm"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    kernel = facts.nvidia.kernel
    # Where users submit jobs, a filter on their sessions is often a policy of the site.
    jobs = ask_for_gpu(facts) if isinstance(facts.cluster.client_of, str) else ()
    if not kernel.units:
        look = query("cat", "/proc/self/cgroup")
        message = "Find the control group of this process, and allow NVIDIA's devices there."
        return (*jobs, Fix(message, (look,), impact="none"))
    unit = kernel.restricting_units[0] if kernel.restricting_units else UNIT
    who = unit if isinstance(unit, str) else "the unit that restricts devices"
    show = query("systemctl", "show", "--property=Id,DevicePolicy,DeviceAllow", *kernel.units)
    return (
        *jobs,
        Fix(
            f"Allow NVIDIA's devices in {who}.",
            (show, as_root("systemctl", "set-property", unit, _ALLOW)),
            "change-environment",
            root=True,
            verify=query("nvidia-smi", "-L"),
        ),
    )


@check(
    title="A control group denies NVIDIA's device nodes (Operation not permitted)",
    severity=Severity.ERROR,
    cause="The device filter of a control group denies the nodes (EPERM), whatever their permissions are: a systemd "
    "unit or slice around this process has DevicePolicy=strict or closed, or a DeviceAllow that does not name them. "
    "DeviceAllow=char-nvidia-frontend names no device of newer drivers, which register as nvidia. Other users and "
    "services are not affected, and containers started from here are denied as well.",
    fixes=_fixes,
    references=(
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html#DeviceAllow=",
        "https://github.com/confidential-dot-ai/confidential-os-builder/pull/73",
        "https://github.com/pytorch/pytorch/issues/190132",
    ),
    targets=own_kernel,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def device_nodes_denied(facts: Facts) -> Problem | None:
    """A node that computing needs returns EPERM; of the GPUs' own, all do. A batch job's are its scheduler's choice."""
    denied = refused(facts, "EPERM")
    if not denied or known_or(facts.cluster.job, None):
        return None
    first, last = denied[0].path, denied[-1].path
    which = first if first == last else f"{first} and {last}" if len(denied) == 2 else f"{first} to {last}"
    message = f"{which} cannot be opened: Operation not permitted (EPERM): a control group denies it to this process."
    if facts.nvidia.kernel.restricting_units:
        message += f" {facts.nvidia.kernel.restricting_units[0]} restricts devices."
    return Problem(message, tuple(f"{node.path}: EPERM" for node in denied))
