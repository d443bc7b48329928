"""Who switched a laptop's NVIDIA GPU off: the files that its tools leave, and udev rules that remove the GPU."""

from collections.abc import Iterator

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

# A rule that takes a display device of NVIDIA's off the bus as soon as it appears (sysfs: ABI/testing/sysfs-bus-pci).
_REMOVES = pattern(r'0x10de.*ATTR\{class\}=="0x03.*ATTR\{remove\}\s*=\s*"1"')
_OWN_RULES = ("/etc/udev/rules.d", "/run/udev/rules.d")
_PACKAGED_RULES = ("/usr/lib/udev/rules.d", "/lib/udev/rules.d")
_PACKAGED_NAME = pattern(r"(?i:.*(?:nvidia|gpu|prime|optimus|envycontrol).*\.rules)")
_FORBIDS = pattern(r"(?m:^\s*(?:blacklist nvidia|alias nvidia off|install nvidia /\S*false)\s*$)")
# Files in modprobe.d that belong to one tool: bayasdev/envycontrol, pop-os/system76-power,
# supergfxctl (gitlab.com/asus-linux), Askannz/optimus-manager.
_MODPROBE = {
    "blacklist-nvidia.conf": "envycontrol",
    "system76-power.conf": "system76-power",
    "supergfxd.conf": "supergfxctl",
    "optimus-manager.conf": "optimus-manager",
}
_SUPERGFX = "/etc/supergfxd.conf"
_INTEGRATED = pattern(r'"mode"\s*:\s*"Integrated"')
# ASUS: the firmware takes the GPU off the bus from the next start on (Documentation/ABI/testing/
# sysfs-platform-asus-wmi); newer kernels have it at the second place.
_ASUS = (
    "/sys/devices/platform/asus-nb-wmi/dgpu_disable",
    "/sys/class/firmware-attributes/asus-armoury/attributes/dgpu_disable/current_value",
)
_BIN = ("/usr/bin", "/usr/sbin", "/usr/local/bin")
_LONGEST = 1 << 20


def probe(machine: Machine) -> tuple[str | None, tuple[str, ...]]:
    """Return who switches the GPU off, and the files that say so.

    That is a tool's name, "asus-firmware" for a laptop's own switch, "udev" for a rule of nobody that we know, or None.
    """
    rules = list(_rules(machine))
    tools = list(_tools(machine))
    named = [name for _path, name in (*tools, *rules) if name]
    files = tuple(path for path, _name in (*rules, *tools))
    if not files:
        return None, ()
    return (named[0] if named else "udev"), files


def is_lost(machine: Machine, who: str | None) -> bool:
    """Return whether a tool's files are here and its program is not."""
    return who is not None and who in _MODPROBE.values() and machine.which(who, _BIN) is None


def _rules(machine: Machine) -> Iterator[tuple[str, str | None]]:
    seen: set[str] = set()
    for folder in (*_OWN_RULES, *_PACKAGED_RULES):
        for name in machine.names(folder):
            ours = name.endswith(".rules") if folder in _OWN_RULES else _PACKAGED_NAME.fullmatch(name)
            if not ours or name in seen:
                continue
            seen.add(name)  # a file hides its namesakes in the later folders (udev(7))
            text = _text(machine, f"{folder}/{name}")
            if any(_REMOVES.search(line) for line in text.splitlines() if not line.lstrip().startswith("#")):
                yield f"{folder}/{name}", _author(text)


def _author(text: str) -> str | None:
    lowered = text.lower()
    return next((tool for tool in ("envycontrol", "optimus-manager", "supergfxctl") if tool in lowered), None)


def _tools(machine: Machine) -> Iterator[tuple[str, str | None]]:
    for name, tool in _MODPROBE.items():
        path = f"/etc/modprobe.d/{name}"
        text = _text(machine, path)
        if _FORBIDS.search(text) and (name != "blacklist-nvidia.conf" or _author(text) == tool):
            yield path, tool
    if _INTEGRATED.search(_text(machine, _SUPERGFX)):
        yield _SUPERGFX, "supergfxctl"
    off = [path for path in _ASUS if machine.line(path) == "1"]
    if off:
        yield off[0], "asus-firmware"


def _text(machine: Machine, path: str) -> str:
    try:
        return machine.text(path, _LONGEST)
    except OSError:
        return ""
