"""Makes real virtual environments and false distributions for the tests of the Python probes."""

import os
import subprocess
import sys
from pathlib import Path

from gpudoctor.machine import Machine

HERE = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def venv(folder: Path, python: str = sys.executable) -> Path:
    """A virtual environment without pip; returns its site-packages."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    return next((folder / "lib").glob("python3*/site-packages"))


def distribution(
    site: Path,
    name: str,
    version: str,
    files: tuple[str, ...] = (),
    requires: tuple[str, ...] = (),
    installer: str = "pip",
    gone: tuple[str, ...] = (),
) -> Path:
    """Lay a distribution under a folder; `gone` are files that RECORD names and nobody laid."""
    place = site / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True)
    lines = [f"Requires-Dist: {each}" for each in requires]
    head = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, "", "A description."])
    (place / "METADATA").write_text(head)
    (place / "INSTALLER").write_text(f"{installer}\n")
    record = [f"{file},sha256=abc,0" for file in (*files, *gone, f"{place.name}/RECORD")]
    (place / "RECORD").write_text("".join(f"{line}\n" for line in record))
    for file in files:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text("")
    return place


def machine(**env: str) -> Machine:
    """This machine with a bare environment."""
    return Machine(env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **env})


def script(path: Path, text: str) -> str:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return str(path)
