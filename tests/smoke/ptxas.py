"""The PTX assemblers of this machine, and what each makes of the kernels."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gpudoctor.workers.smoke.cuda import kernels

OLDEST = 50  # compute capability 5.0, Maxwell
# Architectures without a suffix that CUDA 12.8's ptxas knows; 3.x is older than the kernels.
EVERY = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120)


def installed() -> list[str]:
    """The ptxas of PATH, of CUDA_HOME, of NVIDIA's wheels and of Triton's, in this order, each once."""
    found = dict.fromkeys(os.path.realpath(path) for path in _candidates() if os.access(path, os.X_OK))
    return list(found)


def _candidates() -> Iterator[str]:
    yield shutil.which("ptxas") or ""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        yield os.path.join(os.environ.get(name, "/nonexistent"), "bin/ptxas")
    yield "/usr/local/cuda/bin/ptxas"
    for package in ("nvidia", "triton"):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from map(str, sorted(Path(folder).rglob("ptxas*")))


def known(ptxas: str) -> list[int]:
    """The architectures from 5.0 on that an assembler knows, such as 86."""
    said = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted({int(arch) for arch in re.findall(r"'sm_(\d+)'", said) if int(arch) >= OLDEST})


def assembled(ptxas: str, arch: int) -> dict[str, str]:
    """What an assembler says of each kernel, assembled for an architecture without a warning; {"": why} if it fails."""
    argv = [ptxas, "-v", "--warning-as-error", f"-arch=sm_{arch}", kernels.PTX, "-o", "/dev/null"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        return {"": done.stderr}
    parts = re.split(r"Compiling entry function '(\w+)' for 'sm_\d+'", done.stderr)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def trouble(ptxas: str, arch: int) -> str:
    """Why the kernels are not well on an architecture: not assembled, or registers that spilled; empty: they are."""
    said = assembled(ptxas, arch)
    if set(said) != set(kernels.PARAMETERS):
        return f"sm_{arch}: {said.get('') or sorted(said)}"
    spilled = [name for name, words in said.items() if "0 bytes spill stores, 0 bytes spill loads" not in words]
    return f"sm_{arch}: {spilled} spill" if spilled else ""
