"""Writes the rows of gpudoctor/knowledge/gpu_names.toml from the public lists that it names as sources.

    python scripts/gpu_names.py PCI_IDS AMDGPU_IDS OPEN_MODULES_README

Device ids and names alone are taken over. Names of NVIDIA's driver and of libdrm, which are exact, go before those of
pci.ids. Put the date of the lists into the table afterwards.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpudoctor.knowledge.pci_ids import amd_chip, nvidia_chip  # noqa: E402 - needs the path above

TABLE = ROOT / "gpudoctor" / "knowledge" / "gpu_names.toml"
# Names by device id; within one, by subsystem ("10de:1463") or revision ("c8"); "": of all others.
Names = dict[str, dict[str, str]]
_VENDORS = {"nvidia": "10de", "amd": "1002", "intel": "8086"}
_INTEL = re.compile(r"Graphics|\bArc\b|Data Center GPU|\bIris\b|\bXe\b")
_NO_GPU = re.compile(r"Audio|USB|UCSI|Bridge|Switch|Poulsbo|Cedarview")
_README = re.compile(r"^\| (.+?) +\| ([0-9A-F]{4})(?: ([0-9A-F]{4}) ([0-9A-F]{4}))? +\|$", re.M)
_AMDGPU = re.compile(r"^([0-9A-F]{4}),\s*([0-9A-F]{1,2}),\s*(.+?)\s*$", re.M)


def of_pci_ids(text: str, vendor: str) -> dict[str, str]:
    """The marketing names in brackets: "2204  GA102 [GeForce RTX 3090]"."""
    start = text.index(f"\n{_VENDORS[vendor]}  ")
    block = re.split(r"\n(?=[0-9a-f])", text[start + 1 :], maxsplit=1)[0]
    rows = re.findall(r"^\t([0-9a-f]{4})  (.+)$", block, re.M)
    named = ((device, name, re.search(r"\[(.+)\]", name)) for device, name in rows if not _NO_GPU.search(name))
    return {
        device: _branded(vendor, found[1]) for device, name, found in named if found and _is_gpu(vendor, device, name)
    }


def _is_gpu(vendor: str, device: str, name: str) -> bool:
    if vendor == "nvidia":
        return nvidia_chip(device) is not None
    return amd_chip(device) is not None if vendor == "amd" else _INTEL.search(name) is not None


def _branded(vendor: str, name: str) -> str:
    brand = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}[vendor]
    return name if name.startswith(brand) else f"{brand} {name}"


def nvidia(readme: str, pci_ids: str) -> Names:
    """As NVIDIA's driver calls them, else as pci.ids does."""
    names: Names = {}
    for name, device, *subsystem in _README.findall(readme):
        key = ":".join(part.lower() for part in subsystem if part)
        names.setdefault(device.lower(), {})[key] = _branded("nvidia", name)
    listed = of_pci_ids(pci_ids, "nvidia")
    for device in listed:
        names.setdefault(device, {})
    for device, of_device in names.items():
        alone = set(of_device.values())
        # Of a device whose boards all have one name, that is the name.
        usual = of_device.get("") or (next(iter(alone)) if len(alone) == 1 else listed.get(device, ""))
        names[device] = {key: name for key, name in of_device.items() if name != usual} | ({"": usual} if usual else {})
    return names


def amd(amdgpu_ids: str, pci_ids: str) -> Names:
    """As libdrm calls a device of this revision, else as pci.ids does."""
    names: Names = {}
    for device, revision, name in _AMDGPU.findall(amdgpu_ids):
        names.setdefault(device.lower(), {})[revision.lower().zfill(2)] = _branded("amd", name)
    for device, name in of_pci_ids(pci_ids, "amd").items():
        names.setdefault(device, {"": name})
    for device, of_device in names.items():
        if len(alone := set(of_device.values())) == 1:
            names[device] = {"": alone.pop()}
    return names


def rows(names: Names) -> Iterator[str]:
    """A line for each name: the device, the subsystems or revisions that have it, the name."""
    for device in sorted(names):
        by_name: dict[str, list[str]] = {}
        for key, name in sorted(names[device].items()):
            by_name.setdefault(name, []).append(key)
        yield from (" ".join(filter(None, (device, ",".join(keys), name))) for name, keys in by_name.items())


def main(paths: list[str]) -> None:
    """Put the rows into the table."""
    pci_ids, amdgpu_ids, readme = (Path(path).read_text(encoding="utf-8") for path in paths)
    tables = {
        "nvidia": nvidia(readme, pci_ids),
        "amd": amd(amdgpu_ids, pci_ids),
        "intel": {device: {"": name} for device, name in of_pci_ids(pci_ids, "intel").items()},
    }
    head = TABLE.read_text(encoding="utf-8").partition("[names]\n")[0]
    parts = (
        f"{vendor} = '''\n" + "".join(f"{row}\n" for row in rows(names)) + "'''\n" for vendor, names in tables.items()
    )
    TABLE.write_text(head + "[names]\n" + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
