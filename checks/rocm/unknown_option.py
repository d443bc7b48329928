"""The driver amdgpu does not know an option that was set for it, such as gtt_size."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import ttm
from gpudoctor.maybe import known_or
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import amd_compute, cards_of
from gpudoctor.tasks import query

# What users write in place of amdgpu.gttsize (MiB), which newer kernels leave to ttm.pages_limit.
_SIZE = re.compile(r"gtt_?size", re.IGNORECASE)


def _logged(facts: Facts) -> tuple[LogEvent, ...]:
    """What the kernel reported in this boot; NVIDIA's driver has a check of its own."""
    return tuple(e for e in events(facts, "unknown-parameter") if e.what.get("module") in ("amdgpu", "amdttm"))


def _unknown(facts: Facts) -> list[str]:
    """The options, each once."""
    return list(dict.fromkeys(e.what.get("text", "") for e in _logged(facts)))


def _asked(facts: Facts) -> tuple[str, int] | None:
    """The option that asks for GTT memory on the kernel command line, and for how many bytes; None: it is not there."""
    for word in known_or(facts.host.kernel.command_line, "").split():
        name, _, value = word.partition("=")
        module, _, option = name.partition(".")
        if module == "amdgpu" and _SIZE.fullmatch(option) and option in _unknown(facts) and value.isdigit():
            return option, int(value) << 20
    return None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name, asked = _unknown(facts)[0], _asked(facts)
    files = query("grep", "-rn", name, "/etc/modprobe.d", "/usr/lib/modprobe.d", "/etc/default/grub", "/proc/cmdline")
    look = Fix(
        "Find where the option is set, and correct or remove it; the second command lists those that this driver has.",
        (files, query("modinfo", "-p", "amdgpu")),
        impact="none",
    )
    if asked is None:
        return (look,)
    own = ttm.module_of(facts)
    message = f"Give the limit to {own}, which has it: {own}.pages_limit, in pages of 4 KiB. Remove amdgpu.{asked[0]}."
    return (ttm.raise_limit(facts, message, asked[1]), look)


@check(
    title="Unknown amdgpu driver option is ignored",
    severity=Severity.WARNING,
    cause="The kernel ignores module parameters that it does not know and only logs them: the setting has no effect. "
    "The memory that an integrated GPU may take of the system's RAM (GTT) stays at half of it.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        "https://docs.kernel.org/gpu/amdgpu/module-parameters.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/5595",
    ),
    targets=amd_compute,
    only_with=("log.events.kind=unknown-parameter",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def unknown_option(facts: Facts) -> Problem | None:
    """The kernel's message in the log; grave is only a limit of memory that is not in effect."""
    names = _unknown(facts)
    if not names:
        return None
    message = f"amdgpu ignores {' and '.join(names[:3])}: there is no such option."
    if any(map(_SIZE.fullmatch, names)) and all(card.integrated is True for card in cards_of(facts, "amd")):
        message += " The limit of GTT memory stays at its default, half of the RAM."
        return Problem(message, texts(_logged(facts)))
    return Problem(message, texts(_logged(facts)), severity=Severity.ADVICE)
