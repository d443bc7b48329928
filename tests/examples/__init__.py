"""The files of examples/, each held by what truly reads it, or run."""

import re
import shlex
import sys
from pathlib import Path

import msgspec

from tests.machines.registry import machines

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
BIN = "/opt/gpudoctor/bin/gpudoctor"
# As in a shell script, a unit, a JSON list, a YAML list: what follows the program on its line, or its lines.
_CALL = re.compile(r"(?:/|^\s*|`|\$ |\")gpudoctor\"?[,\s]\s*((?:check|record|smoke|facts)\b[^|&;>)`#]*)", re.MULTILINE)
WELL, ILL = "hgx-h100", "upgraded-under-a-running-kernel"


def files() -> list[Path]:
    """Every file of examples/."""
    return sorted(path for path in EXAMPLES.rglob("*") if path.is_file())


def calls(text: str) -> list[list[str]]:
    """The words of every call of gpudoctor in a text, without the program."""
    found = []
    for call in _CALL.finditer(re.sub(r"\\\n\s*", " ", text)):
        line = call[1].split("\n")[0].rstrip("\"'],} ")
        found.append([word.strip(",") for word in shlex.split(line.replace('", "', " ").replace('"', ""))])
    return found


def stand_in(folder: Path, name: str) -> Path:
    """A program that is gpudoctor itself, on a recorded machine in place of this one.

    Args:
        folder: where it is written.
        name: of the machine, see tests/machines.
    """
    become(folder, name)
    program = folder / "gpudoctor"
    noted = f'echo asked >>"{folder}/asked"'
    start = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m gpudoctor "$@" --facts "{folder}/facts.json"'
    program.write_text(f"#!/bin/sh\n{noted}\n{start}\n")
    program.chmod(0o755)
    return program


def become(folder: Path, name: str) -> None:
    """From now on the program of `stand_in` finds this machine."""
    made = next(one for one in machines() if one.name == name).make()
    (folder / "facts.json").write_bytes(msgspec.json.encode(made))


def asked(folder: Path) -> int:
    """How often the program of `stand_in` was started."""
    path = folder / "asked"
    return len(path.read_text().splitlines()) if path.exists() else 0


def host(folder: Path) -> Path:
    """The file system of a host with an NVIDIA GPU and no driver, as a container sees it under --root."""
    root = folder / "host"
    for path, text in {
        "etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
        "proc/modules": "",
        "proc/version": "Linux version 6.8.0-40-generic\n",
        "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.0/device": "0x2330\n",
        "sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root
