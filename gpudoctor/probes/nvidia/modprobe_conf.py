"""Which modules modprobe.d and the kernel command line forbid, and which options they set."""

from collections.abc import Iterator

import msgspec

from gpudoctor.facts.host import ConfigLine
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

# modprobe.d(5): a file hides those of the same name in the folders after its own.
_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
# modprobe(8), dracut.cmdline(7) and the kernel's own admin-guide/kernel-parameters.
_FORBIDDING = ("modprobe.blacklist", "rd.driver.blacklist", "module_blacklist")
_NOTHING = pattern(r"\S*/?(?:false|true)$")

# The modules that decide over GPU computing; the names with * are their beginnings.
MATTER = pattern(
    r"nvidia\w*|nouveau|nova\w*|nvgpu|vfio_pci|vfio_pci_core|pci_stub|amdgpu|amdkcl|radeon|i915|xe|bbswitch|acpi_call"
    r"|dxgkrnl|mlx5_\w+|ib_\w+|gdrdrv|nv_peer_mem|i2c_nvidia_gpu|snd_hda_intel|vgpu_vfio_mdev|xen_pciback"
)
# Those that only options are read of: TTM decides how much RAM a graphics driver may take.
_MEMORY = ("ttm", "amdttm")


class ModprobeConf(msgspec.Struct, frozen=True):
    """Forbidden modules, and options by "module.parameter"; dashes in modules' names are underscores."""

    blacklists: tuple[str, ...]
    options: dict[str, str]
    lines: dict[str, tuple[ConfigLine, ...]] = {}  # those of files, by the module that they forbid
    reserving: tuple[ConfigLine, ...] = ()  # of files: the ids of devices that vfio-pci takes for virtual machines


def probe(machine: Machine, command_line: str) -> ModprobeConf:
    """Read modprobe's configuration and the kernel command line, as far as it is about GPUs.

    A module whose `install` command is /bin/false or /bin/true counts as forbidden.
    """
    blacklists: dict[str, None] = {}
    options: dict[str, str] = {}
    lines: dict[str, tuple[ConfigLine, ...]] = {}
    reserving: list[ConfigLine] = []
    for path, line in _lines(machine):
        words = line.split()
        if len(words) >= 2 and _matters(module := _name(words[1])):
            if _forbids(words):
                blacklists[module] = None
                lines[module] = (*lines.get(module, ()), ConfigLine(path=path, text=line))
            elif words[0] == "options":
                if module == "vfio_pci" and any(word.startswith("ids=") for word in words):
                    reserving.append(ConfigLine(path=path, text=line))
                for name, _equals, value in (option.partition("=") for option in words[2:]):
                    options[f"{module}.{name}"] = value.strip('"')
    for word in command_line.split():
        name, equals, value = word.partition("=")
        if name in _FORBIDDING:
            blacklists.update((_name(m), None) for m in value.split(",") if MATTER.fullmatch(_name(m)))
        elif equals and "." in name and _matters(_name(name.split(".")[0])):
            module, _, parameter = name.partition(".")
            options[f"{_name(module)}.{parameter}"] = value
    return ModprobeConf(tuple(blacklists), options, lines, tuple(reserving))


def loaded_by_name(machine: Machine, module: str) -> tuple[ConfigLine, ...]:
    """Return the lines that load a module at each boot: modprobe.d's blacklists forbid it only by its aliases.

    modules-load.d(5), modules(5) of Debian, initramfs-tools(7) for the initial RAM disk.
    """
    folder = "/etc/modules-load.d"
    files = ["/etc/initramfs-tools/modules", "/etc/modules", *(f"{folder}/{name}" for name in machine.names(folder))]
    return tuple(
        ConfigLine(path=path, text=line.strip())
        for path in files
        for line in _text(machine, path).splitlines()
        if line.split()[:1] == [module]
    )


def _forbids(words: list[str]) -> bool:
    word, _module, *rest = words
    off = word == "install" and rest and _NOTHING.fullmatch(rest[0]) is not None
    return word == "blacklist" or bool(off) or (word == "alias" and rest == ["off"])


def _lines(machine: Machine) -> Iterator[tuple[str, str]]:
    files: dict[str, str] = {}
    for folder in _FOLDERS:
        for name in machine.names(folder):
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    for _name_of_file, path in sorted(files.items()):
        for line in map(str.strip, _text(machine, path).replace("\\\n", " ").splitlines()):
            if line and line[0] != "#":
                yield path, line


def _text(machine: Machine, path: str) -> str:
    try:
        return machine.text(path, 1 << 20)
    except OSError:
        return ""


def _matters(module: str) -> bool:
    return module in _MEMORY or MATTER.fullmatch(module) is not None


def _name(module: str) -> str:
    return module.replace("-", "_")
