"""NVML, and with it nvidia-smi, does not respond."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes.module import hang_fixes
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.cause_groups import DEAD, SURROUNDINGS
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import in_container, nvidia_machine
from gpudoctor.tasks import as_root, query

_POWERD = "nvidia-powerd"
_NVIDIAS = pattern(r"(?i)nv|cuda|dcgm")  # nvidia-smi, nvidia-persistenced, nv-hostengine


_OWNED = (
    "A process holds a lock of the driver and does not let it go, so every other call into the driver waits behind it; "
    "newer kernels name that process."
)


def _owned(facts: Facts) -> tuple[LogEvent, ...]:
    """The kernel's lines about a program of NVIDIA's that waits, and who owns the lock that it waits for."""
    return tuple(e for e in events(facts, "lock-owner") if _NVIDIAS.match(e.what.get("process", "")))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    """Switch off the service that holds the lock, where it is the one for laptops' power; else as for any hang."""
    holders = {event.what.get("device") for event in _owned(facts)}
    if _POWERD not in holders or in_container(facts):
        return hang_fixes(facts)
    message = f"Switch {_POWERD} off, which only shifts a laptop's power between CPU and GPU, and reboot."
    tasks = (as_root("systemctl", "disable", _POWERD), as_root("reboot"))
    off = Fix(
        message,
        tasks,
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("systemctl", "enable", _POWERD),),
        verify=query("nvidia-smi"),
    )
    return (off, *hang_fixes(facts))


@check(
    title="nvidia-smi hangs: NVML does not respond",
    severity=Severity.ERROR,
    cause="A call into the kernel module never returns: the GPU or its firmware (GSP) stopped, the driver waits for a "
    "lock, or the module is stuck.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/", "https://github.com/pop-os/pop/issues/4073"),
    targets=nvidia_machine,
    caused_by=(
        *DEAD,
        "device.xid-hardware",
        "device.xid-driver",
        "host.gpu-driver-oops",
        "driver.uptime-hang",
        *SURROUNDINGS,
    ),
    affects=("everything",),
    validated_on=("facts 2026-11",),
    essential=True,
)
def nvml_no_answer(facts: Facts) -> Problem | None:
    """The child that called NVML had to be killed."""
    nvml = facts.nvidia.nvml
    if nvml.hung is None:
        if isinstance(nvml.code, Unknown) and nvml.died is None:
            known(nvml.code)
        return None
    message = f"NVML did not respond in time (in {nvml.hung}); nvidia-smi hangs too."
    owned = _owned(facts)
    if not owned:
        return Problem(message)
    who = owned[-1].what["device"]
    return Problem(f"{message} It waits for a lock of the driver that {who} holds.", texts(owned[-2:]), _OWNED)
