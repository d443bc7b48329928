"""What `dkms status` says, in the spellings of DKMS 2 and 3 (dell/dkms, dkms.in, show_status)."""

import re
from collections.abc import Iterator

import msgspec

from gpudoctor.lazy_regex import pattern

# DKMS 2 writes "nvidia, 535.98, ...", DKMS 3 "nvidia/535.98, ..."; a module that is only added has no kernel.
_LINE = pattern(
    r"(?P<module>[^\s,/:]+)(?:/|, )(?P<version>[^\s,/:]+)(?:, (?P<kernel>[^\s,]+?)(?:, (?P<arch>[^\s,:]+))?)?: "
    r"(?P<state>[\w-]+)(?P<rest>.*)"
)
_BROKEN = pattern(
    r"(?:Error! )?(?P<module>[^\s,/:]+)/(?P<version>[^\s,/:]+)(?: is broken!|: Missing the module source)"
)


class DkmsModule(msgspec.Struct, frozen=True):
    """One line: a module, its version, the kernel that it was built for, and its state.

    `state` is added, built, installed, installed-weak or broken; `note` is what follows, such as
    "WARNING! Diff between built and installed module!" or "from 4.18.0-553.el8.x86_64".
    """

    module: str
    version: str
    kernel: str | None
    state: str
    note: str = ""


def dkms_status(text: str) -> tuple[DkmsModule, ...]:
    """Return the modules that `dkms status` lists, in its order; lines in no known spelling are passed over.

    Args:
        text: standard output and standard error together: DKMS says there that a module is broken.
    """
    return tuple(dict.fromkeys(_modules(text)))


def _modules(text: str) -> Iterator[DkmsModule]:
    for line in map(str.strip, text.splitlines()):
        if found := _LINE.fullmatch(line):
            module, version, kernel, _arch, state, rest = found.groups()
            yield DkmsModule(module, version, kernel, state, _note(rest))
        elif found := _BROKEN.match(line):
            yield DkmsModule(found["module"], found["version"], None, "broken")


def _note(rest: str) -> str:
    """Return what follows the state; DKMS repeats its warning for each of a module's files."""
    notes = re.findall(r"\(([^()]*)\)", rest) or [rest.strip()]
    return "; ".join(dict.fromkeys(note for note in notes if note))
