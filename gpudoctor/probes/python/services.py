"""Units of systemd that start a program of an environment whose other programs are not on their PATH."""

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

_UNITS = "/etc/systemd/system"  # where administrators put their own: systemd.unit(5)
# systemd.exec(5), "Environment Variables Set or Propagated by the Service Manager": $PATH.
_DEFAULT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_START = pattern(r"(?m)^ExecStart=[@\-:+!|]*\"?([^\s\"]+)")
_PATH = pattern(r"(?m)^Environment=.*?\bPATH=([^\s\"']*)")
_MORE = pattern(r"(?m)^(?:EnvironmentFile|PassEnvironment)=")


def without(machine: Machine, prefix: str, program: str) -> tuple[str, ...]:
    """The units that start a program of the environment and do not find another one of it.

    A unit whose environment comes from another file is left out: what PATH is there, is not known.

    Args:
        machine: where they lie.
        prefix: the environment's.
        program: "ninja".
    """
    found = []
    for name in sorted(n for n in machine.names(_UNITS) if n.endswith(".service")):
        try:
            text = machine.text(f"{_UNITS}/{name}")
        except OSError:
            continue
        if not any(start.startswith(f"{prefix}/bin/") for start in _START.findall(text)) or _MORE.search(text):
            continue
        folders = (_PATH.findall(text) or [_DEFAULT])[-1].split(":")
        if not any(machine.exists(f"{folder}/{program}") for folder in folders if folder):
            found.append(name)
    return tuple(found)
