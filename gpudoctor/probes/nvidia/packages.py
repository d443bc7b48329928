"""The distribution's packages of NVIDIA's driver, with versions and whether they are installed to the end."""

from collections.abc import Sequence

from gpudoctor.facts import Host
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or

# Reading rpm's database takes seconds on a cold disk.
_SECONDS = 15.0
# dpkg-query(1), db:Status-Abbrev: what is wanted, what is there, and R for "reinstall".
_STATE = pattern(r"[uihrp][ncHUFWti]R?")
_OURS = pattern(r"nvidia|^libcuda|^libnv|^cuda-(?:drivers|compat)|^xorg-x11-drv-nvidia")
# Packages with NVIDIA's name that are no part of the driver.
_NOT_OURS = pattern(
    r"container|docker|cuda-(?:toolkit|dev|doc|gdb)|cudnn|nccl|texture-tools|nvvp|profiler|visual|-doc$"
)
_PATTERNS = ("*nvidia*", "libcuda*", "libnvcuvid*", "cuda-drivers*", "cuda-compat*")

_COMMANDS: dict[str, Sequence[str]] = {
    "dpkg-query": ("-W", "-f=${Package} ${Version} ${db:Status-Abbrev}\n", *_PATTERNS),
    "rpm": ("-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE} ii\n", *_PATTERNS),
    "pacman": ("-Q",),
}
_FAMILIES = {
    "dpkg-query": {"debian", "ubuntu"},
    "rpm": {"fedora", "rhel", "centos", "suse", "sles", "opensuse", "amzn", "azurelinux", "mariner", "ol", "rocky"},
    "pacman": {"arch", "archlinux"},
}


def probe(machine: Machine, host: Host) -> Maybe[tuple[tuple[str, str, str], ...]]:
    """Return (name, version, state) of each package; the state is dpkg's: "ii" installed, "iU" unpacked only."""
    tool = _tool(machine, host)
    if tool is None:
        return Unknown("dpkg-query, rpm and pacman are missing")
    ended = machine.run([tool, *_COMMANDS[tool]], seconds=_SECONDS)
    # dpkg-query fails where one of several patterns matches nothing, and prints the others all the same.
    nothing = "no packages found" in ended.err
    if not ended.ok and not ended.out.strip() and not nothing:
        return Unknown(f"{tool}: {ended.err.strip() or ended.missing or 'it timed out'}")
    return parse(ended.out)


def parse(text: str) -> tuple[tuple[str, str, str], ...]:
    """Return the driver's packages in the output of dpkg-query -W, dpkg -l, rpm -qa or pacman -Q.

    Names lose their ":amd64"; packages of which dpkg knows only the name are left out.
    """
    found = [entry for line in text.splitlines() if (entry := _entry(line.split()))]
    return tuple(dict.fromkeys(e for e in found if _OURS.search(e[0]) and not _NOT_OURS.search(e[0])))


def _entry(words: list[str]) -> tuple[str, str, str] | None:
    if len(words) >= 3 and _STATE.fullmatch(words[0]):  # dpkg -l puts the state first
        words = [words[1], words[2], words[0]]
    if len(words) < 2 or _STATE.fullmatch(words[1]):  # a name without a version: not installed
        return None
    state = words[2] if len(words) > 2 and _STATE.fullmatch(words[2]) else "ii"
    return words[0].partition(":")[0], words[1], state


def _tool(machine: Machine, host: Host) -> str | None:
    """The tool of the distribution's family; Debian has rpm too, and Fedora dpkg, without packages in them."""
    family = {known_or(host.distribution.id, ""), *host.distribution.like}
    own = [tool for tool, names in _FAMILIES.items() if names & family]
    return next((tool for tool in (*own, *_COMMANDS) if machine.which(tool, ("/usr/bin",))), None)
