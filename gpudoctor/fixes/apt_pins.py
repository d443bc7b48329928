"""What apt's preferences forbid, before it is installed: a priority below 0 leaves a package without a candidate."""

import re
from fnmatch import fnmatchcase

from gpudoctor.facts import Facts, NegativePin
from gpudoctor.maybe import known_or, text_of
from gpudoctor.tasks import Command, as_root, sed

_ANY = ("release *", "version *", "origin *")


def lifted(facts: Facts, names: tuple[str, ...], nvidia: bool = False) -> tuple[Command, ...]:
    """Take away what keeps apt from these packages (apt_preferences(5)).

    apt passes over a file that ends in .disabled (Dir::Ignore-Files-Silently).

    Args:
        facts: the machine.
        names: of the packages.
        nvidia: whether they come from NVIDIA's repository; else from the distribution's.
    """
    commands: dict[tuple[str, ...], str] = {}
    for pin in known_or(facts.host.pins, ()):
        kept = next((name for name in names if any(_stands_for(one, name) for one in pin.packages)), None)
        if kept is None or not _holds_for(facts, pin, nvidia):
            continue
        listed = " ".join(pin.packages)
        argv: tuple[str, ...] = ("mv", pin.path, f"{pin.path}.disabled")
        if not pin.alone:
            argv = ("sed", "-i", rf"/^Package:\s*{sed.words(listed)}\s*$/,/^\s*$/d", pin.path)
        commands[argv] = f'The pin of "{listed}" in {pin.path} keeps apt from installing {kept}.'
    return tuple(as_root(*argv, note=note) for argv, note in commands.items())


def _stands_for(pattern: str, name: str) -> bool:
    if len(pattern) > 2 and pattern[0] == pattern[-1] == "/":
        try:
            return re.search(pattern[1:-1], name) is not None
        except re.error:
            return False
    return fnmatchcase(name, pattern)


def _holds_for(facts: Facts, pin: NegativePin, nvidia: bool) -> bool:
    """Whether the pin is for the archive that has the packages; one of a suite or a version may leave another one."""
    if pin.source in _ANY:
        return True
    if nvidia:
        return "nvidia" in pin.source.lower()
    return pin.source.lower() == f"release o={text_of(facts.host.distribution.id)}"
