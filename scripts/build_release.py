"""Build a release into dist/: wheel, sdist, and one file per CPU architecture for nodes without a network.

The single files hold gpudoctor and its dependencies for every supported Python of Linux with glibc 2.28 and newer; the
first start unpacks them into PEX_ROOT (default: ~/.cache/pex). Needs `build` and `pex`, and a package index.

    python scripts/build_release.py [VERSION]      fails where VERSION is not the project's
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
PYTHONS = ("310", "311", "312", "313", "314")
ARCHITECTURES = ("x86_64", "aarch64")
# The oldest image that the wheels of the compiled dependencies (msgspec, psutil, markupsafe) are made for.
IMAGE = "manylinux_2_28"
# pex's own pip is of 2020 and does not know that image.
PIP = "25.0"


def main(arguments: list[str]) -> None:
    """Build all, and try the file of this machine's architecture."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "-o", str(DIST), str(ROOT)], check=True)
    (wheel,) = DIST.glob("*.whl")
    version = wheel.name.split("-")[1]
    if arguments and arguments[0] != version:
        sys.exit(f"The tag is {arguments[0]}, the version in pyproject.toml {version}.")
    for architecture in ARCHITECTURES:
        single_file(wheel, architecture, DIST / f"gpudoctor-{version}-linux-{architecture}.pyz")
    own = DIST / f"gpudoctor-{version}-linux-{platform.machine()}.pyz"
    if own.exists():
        subprocess.run([sys.executable, str(own), "--version"], check=True)


def single_file(wheel: Path, architecture: str, into: Path, pythons: tuple[str, ...] = PYTHONS) -> None:
    """Write one executable file with all dependencies.

    Args:
        wheel: of gpudoctor.
        architecture: x86_64 or aarch64.
        into: the file to write.
        pythons: versions without the dot, such as 311.

    Raises:
        subprocess.CalledProcessError: pex failed; it said why.
    """
    platforms = [f"--platform={IMAGE}_{architecture}-cp-{python}-cp{python}" for python in pythons]
    command = [sys.executable, "-m", "pex", str(wheel), "--no-build", f"--pip-version={PIP}", *platforms]
    start = ["--entry-point=gpudoctor.__main__:main", "--python-shebang=/usr/bin/env python3", f"--output-file={into}"]
    subprocess.run([*command, *start], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
