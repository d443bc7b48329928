"""Whether a log was written on this machine: what it names of its own machine, held against the facts."""

import re
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.knowledge.kernel_log import pci_address
from gpudoctor.lazy_regex import pattern

Where = Literal["here", "elsewhere", "unknown"]
# Values of one kind that are kept: a log of a thousand nodes names a thousand hosts.
MOST = 16
# What a line names of its machine: the kind of mark, the texts of which one is in such a line, and where it stands.
_PCI = r"((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2})\b"
_SYSLOG = r"^(?:\S+ +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+) ([\w.-]+) kernel(?:\[\d+\])?:"
_DRIVER = (
    r"(?:Driver Version:? *|NVIDIA-SMI +|Module(?: for \S+)? +|NVRM version: .{0,60}? |library version: *|"
    r"module (?:is )?version:? |the version |modules/nvidia/|dkms/nvidia/|nvidia/)(\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b"
)
_GPU = (
    r"\b(GeForce (?:RTX|GTX) \d{3,4}(?: ?Ti)?(?: SUPER)?(?: Laptop GPU)?|RTX A?\d{4}(?: Ti)?(?: Ada)?|"
    r"Tesla [A-Z]\d+\w*|Quadro \w+ \d+|NVIDIA (?:[ABHLTV]\d{2,3}\w*|GB?\d{3}|GH200)|"
    r"Radeon (?:RX|Pro|AI PRO) ?\w+(?: XTX?)?|MI\d{2,3}[AX]?|Arc(?:\(TM\))? [AB]\d{3})\b"
)
# Windows: the Python that a program brings, or the environment of a module. What is installed for all needs no path.
_WINDOWS_PYTHON = (
    r"((?:[A-Z]:|\.)\\(?:[^\"'<>|\\\s]+\\)*python_embed\w*)\\(?:python\.exe|Lib\\)"
    r"|([A-Z]:\\(?:[^\"'<>|\\]+\\)*\.?v?env)\\(?:Scripts|Lib)\\"
    r"|([A-Z]:\\(?:[^\"'<>|\\]+\\)*ComfyUI_windows_portable\w*)\\ComfyUI\\"
)
_MARKS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    ("kernel", ("Linux version ",), pattern(r"Linux version (\d\S+)")),
    ("kernel", ("/lib/modules/", "/linux-headers-"), pattern(r"/(?:lib/modules/|linux-headers-)(\d[\w.+~-]+)/")),
    ("kernel", ("ernel-", "ernel ", "ernel:"), pattern(r"[Kk]ernel[: -]+(\d+\.\d+\.\d+-[\w.+~-]*\w)")),
    ("host", (" kernel:", " kernel["), pattern(_SYSLOG)),
    ("host", ("  host ",), pattern(r"^ *host +: ([\w.-]+)$")),  # torchrun's summary
    ("address", ("PCI:",), pattern(rf"\(PCI:{_PCI}")),
    ("address", ("nvidia ", "amdgpu ", "i915 ", "xe ", "GPU "), pattern(rf"\b(?:nvidia|amdgpu|i915|xe|GPU) {_PCI}")),
    ("driver", ("Driver Version", "NVRM", "NVIDIA-SMI", "NVML library", "nvidia/", "UNIX"), pattern(_DRIVER)),
    ("gpu", ("GeForce", "RTX", "Tesla", "Quadro", "NVIDIA ", "Radeon", "MI", "Arc"), pattern(_GPU)),
    ("gfx", ("gfx",), pattern(r"(?:Name:|[Aa]rch:?|ISA:?|device 0:.*?) *(?:amdgcn-amd-amdhsa--)?(gfx[0-9a-f]{3,4})\b")),
    ("system", (":\\", "/Users/"), pattern(r"(?:^|[\s\"'(])(?:[A-Z](:\\)|(/Users/))\w")),
    ("python", ("\\Lib\\", "\\Scripts\\", "\\python", "portable"), pattern(_WINDOWS_PYTHON)),
    ("path", ("-packages/",), pattern(r"[\"'\s](/[^\"']*?/(?:site|dist)-packages)/")),
)
_SYSTEMS = {":\\": "Windows", "/Users/": "Darwin"}
# Where every machine has it: such a path says nothing of whose it is.
_COMMON = ("/usr/", "/opt/conda/", "/opt/venv/", "/root/", "/app/", "/workspace/")
# A host name that Docker or Kubernetes made: the same machine has another one outside of the container.
_MADE = pattern(r"^[0-9a-f]{12}$|-[0-9a-f]{8,10}-[a-z0-9]{5}$|^localhost")


class Origin(msgspec.Struct, frozen=True):
    """Where a log was written, and what shows it: sentences that name both sides."""

    where: Where = "unknown"
    evidence: tuple[str, ...] = ()


class LogMarks(msgspec.Struct):
    """What a log names of its machine: values by kind (kernel, host, address, driver, gpu, gfx, system, python ...)."""

    found: dict[str, list[str]] = msgspec.field(default_factory=dict)

    def read(self, text: str) -> None:
        """Add what a line names."""
        for kind, gates, expression in _MARKS:
            if any(gate in text for gate in gates) and (match := expression.search(text)) is not None:
                values = self.found.setdefault(kind, [])
                value = match[match.lastindex or 1]
                value = _SYSTEMS.get(value, value)
                if value not in values and len(values) < MOST:
                    values.append(value)

    @property
    def system(self) -> str | None:
        """The operating system by whose paths it is known: Windows or Darwin; None: it is not, as that of Linux."""
        return next(iter(self.found.get("system", ())), None)

    @property
    def windows_python(self) -> str | None:
        """How the interpreter is typed that a log of Windows names, a portable program's or an environment's."""
        folder = next(iter(self.found.get("python", ())), None)
        if folder is None:
            return None
        if "portable" in folder and "python_embed" not in folder:
            folder += r"\python_embeded"
        portable = "python_embed" in folder  # which reads the user's own packages, too, without -s
        return f"{folder}\\python.exe -s" if portable else f"{folder}\\Scripts\\python.exe"


def origin(marks: LogMarks, facts: Facts) -> Origin:
    """Tell whether the machine of a log is that of the facts.

    What agrees (a kernel release, a driver version, a GPU's name, an environment's path) speaks for this machine, what
    differs against it; where both occur, as on a machine that was upgraded since, or neither, it is unknown. A host
    name decides alone.

    Args:
        marks: what the log names.
        facts: of this machine; a part that is Unknown speaks neither for it nor against it.
    """
    agree, differ = [], []
    for kind, (name, own) in _own(facts).items():
        there = marks.found.get(kind, [])
        if not there or not own:
            continue
        same = [one for one in there if _same(kind, one, own)]
        if same and kind != "address":  # half of all machines have their GPU at 0000:01:00
            agree.append((kind, f"{name} {same[0]} is this machine's"))
        elif not same and kind != "path":  # a container's or another environment's
            differ.append((kind, f"{name} {there[0]} in the log, {_listed(own)} here"))
    if agree and (not differ or agree[0][0] == "host"):
        return Origin("here", tuple(text for _, text in agree))
    if differ and (not agree or differ[0][0] == "host"):
        return Origin("elsewhere", tuple(text for _, text in differ))
    return Origin("unknown", tuple(text for _, text in (*agree, *differ)))


def _own(facts: Facts) -> dict[str, tuple[str, list[str]]]:
    """What a log of this machine would name, by kind, the host first: the kind's name for people, and the values."""
    nvidia, pci = facts.nvidia, facts.pci if isinstance(facts.pci, tuple) else ()
    gpus = facts.gpus if isinstance(facts.gpus, tuple) else ()
    cards = [one for one in pci if one.role == "gpu"]
    names = _texts([*(one.name for one in gpus), *(one.name for one in cards)])
    none = isinstance(facts.pci, tuple) and isinstance(facts.gpus, tuple) and not cards and not gpus
    hosts = [one for one in _texts([facts.host.hostname]) if _MADE.search(one) is None]
    return {
        "host": ("host", hosts),
        "kernel": ("kernel", _texts([facts.host.kernel.release])),
        "driver": ("driver", _texts([nvidia.kernel.loaded, nvidia.nvml.driver_version])),
        "address": ("a GPU at", [one.address for one in cards] or (["no GPU"] if none else [])),
        "gpu": ("GPU", names or (["no GPU"] if none else [])),
        "system": ("system", [facts.host.system] if facts.host.wsl is None else []),
        "path": ("environment", _texts(one.site_packages for one in facts.pythons)),
    }


def _texts(values: Iterable[object]) -> list[str]:
    return list(dict.fromkeys(one for one in values if isinstance(one, str) and one))


def _same(kind: str, there: str, own: list[str]) -> bool:
    return any(_SAME.get(kind, _equal)(there, one) for one in own)


def _equal(there: str, here: str) -> bool:
    return there == here


def _same_host(there: str, here: str) -> bool:
    return there.partition(".")[0].lower() == here.partition(".")[0].lower() or _MADE.search(there) is not None


def _same_address(there: str, here: str) -> bool:
    return here.startswith(pci_address(there)[:10])


def _same_gpu(there: str, here: str) -> bool:
    wanted = set(re.split(r"[^a-z0-9]+", there.lower())) - {"nvidia", "geforce", "tm", "gpu", ""}
    return wanted <= set(re.split(r"[^a-z0-9]+", here.lower()))


def _same_path(there: str, here: str) -> bool:
    return there == here and not here.startswith(_COMMON)


_SAME: dict[str, Callable[[str, str], bool]] = {
    "host": _same_host,
    "address": _same_address,
    "gpu": _same_gpu,
    "path": _same_path,
}


def _listed(own: list[str]) -> str:
    return own[0] if len(own) == 1 else f"{own[0]} and {len(own) - 1} more"
