"""Writes gpudoctor/workers/smoke/cuda/kernels.ptx from kernels.cu beside it: `python docs/make_ptx.py`; needs nvcc.

Current nvcc compiles for compute capability 7.5 and newer alone. The kernels use nothing that 5.0 has not, so the text
is marked for 5.0 and for PTX 6.0, which every driver from CUDA 9.0 on compiles for every GPU from Maxwell on
(https://docs.nvidia.com/cuda/parallel-thread-execution/, "PTX Module Directives" and "Release Notes").
tests/smoke/test_ptx.py has it assembled for all of them.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "gpudoctor/workers/smoke/cuda"
SOURCE, TARGET = FOLDER / "kernels.cu", FOLDER / "kernels.ptx"
MARKED = {r"^\.version .*$": ".version 6.0", r"^\.target .*$": ".target sm_50"}


def release() -> str:
    """The version of the nvcc that PATH names: "13.0.88"."""
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return said.rpartition(" V")[2].split()[0]


def compiled() -> str:
    """What nvcc makes of the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "kernels.ptx")
        subprocess.run(["nvcc", "--ptx", "-arch=compute_75", "-o", made, SOURCE], check=True)
        return made.read_text(encoding="ascii")


def marked(text: str) -> str:
    """The text for old drivers and GPUs, without comments and empty lines."""
    for line, instead in MARKED.items():
        text, found = re.subn(line, instead, text, flags=re.MULTILINE)
        if found != 1:
            raise ValueError(f"nvcc wrote {found} lines {line}")
    lines = (line.partition("//")[0].rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def head(version: str) -> str:
    """The first lines: of what it is made, and by which nvcc."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    return f"// Made by docs/make_ptx.py with nvcc {version} from kernels.cu, whose SHA-256 is\n// {digest}\n"


if __name__ == "__main__":
    TARGET.write_text(head(release()) + marked(compiled()), encoding="ascii")
    sys.exit(0)
