"""The folders into which frameworks write, and files of the working directory that hide a package."""

import posixpath
from collections.abc import Mapping

from gpudoctor.facts.host import WritableDirectory
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.registry import FRAMEWORKS

# What `python -c` and `python -m` would import from the working directory instead of the installed package.
SHADOWS = (*(one.module for one in FRAMEWORKS), "numpy")


def folders(machine: Machine, home: str | None) -> tuple[WritableDirectory, ...]:
    """Return the cache folders, each judged by its nearest parent that exists.

    Args:
        machine: where to look.
        home: the user's home; None where neither HOME nor /etc/passwd names one.
    """
    return tuple(_folder(machine, purpose, path, home) for purpose, path in _wanted(machine.env))


def _wanted(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Purpose and path, as the documentation of each cache says; "~" stands for the home."""
    cache = env.get("XDG_CACHE_HOME") or "~/.cache"
    triton = env.get("TRITON_HOME") or "~"
    inductor = env.get("TORCHINDUCTOR_CACHE_DIR")  # without it a folder of the temporary files
    return [
        ("PyTorch", env.get("TORCH_HOME") or f"{cache}/torch"),
        *([("torch.compile", inductor)] if inductor else []),
        ("Triton", env.get("TRITON_CACHE_DIR") or f"{triton}/.triton/cache"),
        ("CuPy", env.get("CUPY_CACHE_DIR") or "~/.cupy/kernel_cache"),
        ("CUDA", env.get("CUDA_CACHE_PATH") or "~/.nv/ComputeCache"),
        ("Hugging Face", env.get("HF_HOME") or f"{cache}/huggingface"),
        ("temporary files", env.get("TMPDIR") or "/tmp"),
    ]


def _folder(machine: Machine, purpose: str, path: str, home: str | None) -> WritableDirectory:
    if path == "~" or path.startswith("~/"):
        if home is None:
            why = Unknown("HOME is not set, and /etc/passwd names no home for this user")
            return WritableDirectory(path=path, purpose=purpose, free=why, writable=why, executable=why)
        path = home.rstrip("/") + path[1:]
    there = _nearest(machine, path)
    space, why = machine.space(there), Unknown(f"statvfs(2) on {there} failed")
    return WritableDirectory(
        path=posixpath.normpath(path),
        purpose=purpose,
        free=space.free if space else why,
        writable=machine.may_write(there),
        executable=not space.noexec if space else why,
    )


def _nearest(machine: Machine, path: str) -> str:
    # A relative path lies under the working directory, "." at last.
    while path and not machine.exists(path):
        path = posixpath.dirname(path.rstrip("/"))
    return path or "."


def shadows(machine: Machine) -> tuple[str, ...]:
    """Return the files and packages in the working directory that bear a framework's name."""
    if not machine.here:
        return ()
    found = []
    for name in SHADOWS:
        if machine.exists(f"{name}.py"):
            found.append(f"{name}.py")
        if machine.exists(f"{name}/__init__.py"):
            found.append(f"{name}/")
    return tuple(found)
