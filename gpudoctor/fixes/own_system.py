"""Fixes for operating systems that install NVIDIA's driver in a way of their own: Gentoo, Void, TrueNAS, Unraid."""

import shlex
from collections.abc import Iterable

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI
from gpudoctor.fixes.system import own_system_of
from gpudoctor.knowledge.packages import Flavour
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Edit, Tasks, as_root


def driver(facts: Facts, flavor: Flavour, last: int | None) -> tuple[Fix, ...]:
    """Install the driver that fits the GPUs here; none on other systems.

    Args:
        facts: the machine.
        flavor: of the kernel modules that the GPUs need.
        last: the last driver branch that supports them all; None: no end is known.
    """
    found = own_system_of(facts)
    if found is None:
        return ()
    row, words = found
    use = _line(row.use, sign="" if flavor == "open" else "-")
    if last is None:
        return (
            _fix(
                f"Install NVIDIA's driver as {row.name} does, then reboot.",
                row.hint,
                (*use, *_typed(row.install, words)),
            ),
        )
    if not row.older or (row.branches and last not in row.branches):
        message = f"Driver branch {last} is the last one for this GPU."
        return (_fix(message, row.dropped or f"{row.name} has no package of it: use a newer GPU.", ()),)
    words = {**words, "branch": str(last)}
    message = f"Install driver branch {last}, the last one for this GPU, then reboot."
    return (_fix(message, row.hint, (*_line(row.mask, next=str(last + 1)), *use, *_typed(row.older, words))),)


def build(facts: Facts) -> tuple[Fix, ...]:
    """Make the module for the running kernel; none on other systems."""
    found = own_system_of(facts)
    if found is None:
        return ()
    row, words = found
    kernel = known_or(facts.host.kernel.release, "")
    message = f"Make NVIDIA's module for kernel {kernel} as {row.name} does, then reboot."
    return (_fix(message, row.hint, _typed(row.build, words)),)


def upgrade(facts: Facts) -> Tasks:
    """The commands that bring the newest release of the installed driver; none on other systems."""
    found = own_system_of(facts)
    return _typed(found[0].upgrade, found[1]) if found else ()


def _typed(commands: Iterable[str], words: dict[str, str]) -> Tasks:
    return tuple(as_root(*(word.format(**words) for word in shlex.split(line, posix=False))) for line in commands)


def _line(row: tuple[str, ...], **words: str) -> Tasks:
    return (Edit(row[0], add=(row[1].format(**words),), root=True),) if row else ()


def _fix(message: str, hint: str, commands: Tasks) -> Fix:
    done = (*commands, as_root("reboot")) if commands else ()
    return Fix(f"{message} {hint}".rstrip(), done, "reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI)
