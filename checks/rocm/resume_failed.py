"""An AMD GPU that was suspended while idle does not resume."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_boards import OnBoard, boards
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.tasks import Edit, as_root


def _boards(facts: Facts) -> Iterator[tuple[About, OnBoard]]:
    yield from (one for one in boards(facts) if one[1].card.driver == "amdgpu")


def _set(on: OnBoard) -> str | None:
    """The parameter as it is set now: "amdgpu.runpm=1"; of several the kernel takes the last."""
    words = (known_or(on.facts.host.kernel.command_line, None) or "").split()
    return next((word for word in reversed(words) if word.startswith("amdgpu.runpm=")), None)


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    message = "Keep amdgpu from suspending idle GPUs (runtime power management)."
    now = _set(on)
    if now:
        message += f" Remove {now} from wherever it is set."
    fix = kernel_parameter(on.facts, message, "amdgpu.runpm=0", amd.PROOF)
    if now and any(isinstance(task, Edit) for task in fix.tasks):
        # grub puts GRUB_CMDLINE_LINUX_DEFAULT behind GRUB_CMDLINE_LINUX, and of two values the kernel takes the last.
        remove = as_root("sed", "-i", f"s/ *{now.replace('.', '[.]')}//g", "/etc/default/grub")
        fix = msgspec.structs.replace(fix, tasks=(remove, *fix.tasks))
    again = Fix(
        "If the GPU is still missing after that: power the machine off and on; a reboot alone may not reset it.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=amd.PROOF,
    )
    return fix, again


@check(
    title="AMD GPU does not resume from runtime suspend (amdgpu.runpm)",
    severity=Severity.ERROR,
    cause="amdgpu suspends a GPU that nothing uses (runtime power management, BACO), and resumes it when a program "
    "opens it. If a part of it (SMU, PSP) does not resume, the kernel marks the device with an error and does not try "
    "again: ROCm lists no GPU, or its programs fail, until the next reboot.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/module-parameters.html",
        "https://docs.kernel.org/power/runtime_pm.html",
        "https://github.com/ROCm/amdgpu/issues/183",
        "https://github.com/ROCm/TheRock/issues/8232",
    ),
    targets=_boards,
    only_with=("queries.amd_boards:boards",),
    caused_by=("rocm.bad-pages", "rocm.reset-failed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def resume_failed(on: OnBoard) -> Problem | None:
    """The runtime power management of the card's device reports an error (power/runtime_status)."""
    if known(on.card.runtime_status) != "error":
        return None
    logged = tuple(e for e in events(on.facts, "driver-error") if e.gpu == on.address and "resume" in e.text)
    setting = _set(on)
    message = f"{on.name} was suspended while idle, and did not resume: its runtime power management reports an error"
    return Problem(f"{message}{f' ({setting} is set)' if setting else ''}.", texts(logged))
