"""Commands as Windows takes them: PowerShell's words and quotes, which are not those of a shell of Unix."""

import re

import msgspec

from gpudoctor.judge import Fix

_QUOTED = re.compile(r"-c '([^']*)'")  # Python's code: the outer quotes have to be double, the inner ones single
_PATH = re.compile(r"(?:\b[A-Za-z]:|~)/[^\s'\",;)]*")


def worded(fix: Fix) -> Fix:
    """The fix with its commands in PowerShell's words."""
    return msgspec.structs.replace(
        fix,
        commands=tuple(command(one) for one in fix.commands),
        verify=command(fix.verify) if fix.verify else fix.verify,
        undo=command(fix.undo) if fix.undo else fix.undo,
    )


def command(text: str) -> str:
    """One command."""
    text = _QUOTED.sub(lambda found: '-c "' + found[1].replace('"', "'") + '"', text)
    text = re.sub(r"^export (\w+)=(\S*)$", r"$env:\1 = '\2'", text)
    text = re.sub(r"^([A-Z_]+)=(\S*) (.+)$", r"$env:\1 = '\2'; \3", text)
    text = re.sub(r"^unset (\w+)$", r"Remove-Item Env:\1", text)
    text = re.sub(r"^rm -r (\S+)$", r"Remove-Item -Recurse \1", text)
    text = text.replace("/bin/python", "/Scripts/python.exe")
    return _PATH.sub(lambda found: found[0].replace("/", "\\"), text)
