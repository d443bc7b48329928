"""A GPU's driver crashed inside the kernel: an oops whose faulting instruction is in its module."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import known
from gpudoctor.queries.kernel_log import WEEK, age, ago
from gpudoctor.targets import gpus_of, in_container, wants_nvidia
from gpudoctor.tasks import as_root, filtered, query

MODULES = ("nvidia", "amdgpu", "amdkfd", "amdkcl", "amdttm", "xe", "i915", "nouveau", "nova_core", "gpu_sched", "ttm")
# The lines of one oops are written at once.
_AT_ONCE = 2.0
# Who suspends the machine: the driver's own script, and what writes to /sys/power/state.
_SUSPENDS = ("nvidia-sleep.sh", "systemd-sleep", "pm-suspend", "rtcwake")


class _Oops(msgspec.Struct, frozen=True):
    """One oops in a driver: its header, the line of the instruction, and the process that it ended."""

    header: LogEvent
    place: LogEvent
    process: str | None


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if not in_container(facts) and (gpus_of(facts) or wants_nvidia(facts)):
        yield MACHINE, facts


def _belongs(header: LogEvent, event: LogEvent) -> bool:
    apart = (event.seconds or 0.0) - (header.seconds or 0.0)
    return 0.0 <= apart <= _AT_ONCE


def _found(facts: Facts) -> list[_Oops]:
    """The oopses since boot in the module of a GPU's driver.

    A warning (WARN_ON) writes the same lines of registers and harms nothing: only what follows a header counts, up
    to the next one. NMIs and bugs in other code with such a module in their call trace are not counted.
    """
    found: list[_Oops] = []
    header: LogEvent | None = None
    process: str | None = None
    for event in known(facts.log.events):
        if event.kind == "oops":
            header, process = event, None
        elif header is None or not _belongs(header, event):
            continue
        elif event.kind == "oops-process":
            process = process or event.what.get("process")
        elif event.kind == "oops-place":
            if event.what.get("module", "").startswith(MODULES):
                found.append(_Oops(header, event, process))
            header = None
    return found


def _module(oops: _Oops) -> str:
    return oops.place.what["module"]


def _in_suspend(oops: _Oops) -> bool:
    function = oops.place.what.get("text", "")
    return "suspend" in function or "resume" in function or (oops.process or "").startswith(_SUSPENDS)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    last = _found(facts)[-1]
    fixes = [
        Fix(
            "Reboot: the crashed process still has the driver's locks, so that unloading the module, suspend and "
            "new programs may hang until then.",
            (as_root("reboot"),),
            "reboot",
            root=True,
            needs="reboot",
            verify=filtered(query("dmesg", root=True), query("grep", "-A6", "-E", "Oops|general protection")),
        )
    ]
    if _module(last) == "nvidia_uvm" and _in_suspend(last):
        fixes.append(
            Fix(
                "Until a release of the driver has the correction: end the programs that use CUDA and unload "
                "nvidia_uvm before each suspend.",
                (as_root("modprobe", "-r", "nvidia_uvm"),),
                "reload-module",
                root=True,
                undo=(as_root("modprobe", "nvidia_uvm"),),
            )
        )
    fixes.append(
        Fix(
            "If it comes again: update the driver, or go back to the kernel or driver before the last update, and "
            "report the oops with its call trace to the driver's developers.",
            (filtered(query("journalctl", "-k", "-b", root=True), query("grep", "-A40", "-E", "BUG:|Oops")),),
            impact="none",
        )
    )
    return tuple(fixes)


@check(
    title="GPU driver crashed in the kernel (Oops)",
    severity=Severity.WARNING,
    cause="An oops is a bug in kernel code, here in the GPU's driver: it dereferenced a bad pointer (NULL), or hit a "
    "BUG. The kernel ends the process that was in it, but what that one had locked stays locked until the next boot.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/admin-guide/bug-hunting.html",
        "https://docs.kernel.org/admin-guide/tainted-kernels.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/pull/1340",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1082",
    ),
    targets=_hosts,
    only_with=("gpus targets:nvidia_machine",),
    caused_by=(
        "driver.built-for-another-kernel",
        "driver.stopped-by-ibt",
        "device.fallen-off-the-bus",
        "driver.half-upgraded",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gpu_driver_oops(facts: Facts) -> Problem | None:
    """The kernel's messages: the header of an oops, and an instruction in the module of a GPU's driver."""
    found = [oops for oops in _found(facts) if (age(facts, oops.header) or 0.0) <= WEEK]
    if not found:
        return None
    last = found[-1]
    while_ = " during suspend or resume" if _in_suspend(last) else ""
    process = f", in the process {last.process}" if last.process else ""
    times = "once" if len(found) == 1 else f"{len(found)} times"
    message = (
        f"The kernel module {_module(last)} crashed {times}{while_}{process}{ago(facts, last.header)}: "
        f"{last.header.what.get('text', 'Oops')} in {last.place.what.get('text', '?')}."
    )
    return Problem(message, (last.header.text, last.place.text))
