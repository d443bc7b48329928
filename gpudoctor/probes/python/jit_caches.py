"""Kernels that packages compiled into the user's caches: those that cannot be loaded, and builds that never ended.

PyTorch (torch/utils/cpp_extension.py, _get_build_directory) builds in TORCH_EXTENSIONS_DIR/NAME, or in
~/.cache/torch_extensions/py311_cu128/NAME; FlashInfer (flashinfer/jit/env.py) in
~/.cache/flashinfer/RELEASE/ARCHITECTURES/cached_ops/NAME, where FLASHINFER_WORKSPACE_BASE stands for the home.
A build of PyTorch's holds an empty file `lock` (torch/utils/file_baton.py): it waits for as long as the file is there,
also where the process that made it was killed.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpudoctor.facts.python import JitKernel
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution

if TYPE_CHECKING:
    from gpudoctor.probes.python.extension_search import ExtensionSearch, InstalledTorch

# More would make a report unreadable; each costs the reading of two directories.
_MOST = 200
_BUILDS = pattern(r"(?m)^build [^\n:]*\.o: \w+ ([^\n|]+)")
# /proc shows every process of the machine, and only a few of them have files of ours.
_MOST_PROCESSES = 65536


def probe(
    machine: Machine, prefix: str, version: str, found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[JitKernel, ...]:
    """The kernels in caches that cannot be used as they are.

    Args:
        machine: where they are.
        prefix: the environment's, whose lib directory conda's Python searches.
        version: the interpreter's, "3.11.7".
        found: the installed distributions.
        names: the listings of directories.
    """
    torch = next((each.package for each in found if each.package.name == "torch"), None)
    if torch is None:
        return ()
    places = [*_torch_builds(machine, version), *_flashinfer(machine, found)][:_MOST]
    if not places:
        return ()
    from gpudoctor.probes.python.extension_search import ExtensionSearch, InstalledTorch  # most have no such caches

    known = InstalledTorch(machine, f"{torch.directory}/torch/lib", names)
    search = ExtensionSearch(machine, prefix, found, known)
    kernels = (_kernel(machine, cache, folder, search, known) for cache, folder in places)
    return tuple(kernel for kernel in kernels if kernel.missing or kernel.lock)


def _torch_builds(machine: Machine, version: str) -> Iterator[tuple[str, str]]:
    """The directories of this interpreter's builds."""
    given = machine.env.get("TORCH_EXTENSIONS_DIR", "")
    cache = machine.env.get("XDG_CACHE_HOME") or f"{machine.env.get('HOME', '')}/.cache"
    tag = "py" + "".join(version.split(".")[:2])
    base = f"{cache}/torch_extensions"
    roots = [given] if given.startswith("/") else []
    if not given and cache.startswith("/"):
        roots = [f"{base}/{name}" for name in sorted(machine.names(base)) if re.match(rf"{tag}\D*_", name)]
    for root in roots:
        for name in sorted(machine.names(root)):
            yield "torch_extensions", f"{root.rstrip('/')}/{name}"


def _flashinfer(machine: Machine, found: Sequence[FoundDistribution]) -> Iterator[tuple[str, str]]:
    """The directories of the installed FlashInfer's kernels; before 0.3 their path names no release."""
    one = next((each.package for each in found if each.package.name == "flashinfer-python"), None)
    base = f"{machine.env.get('FLASHINFER_WORKSPACE_BASE') or machine.env.get('HOME', '')}/.cache/flashinfer"
    if one is None or not base.startswith("/"):
        return
    release = one.version.partition("+")[0]
    for first in sorted(machine.names(base)):
        roots = [f"{base}/{first}"]
        if re.match(r"\d+\.\d+", first):
            roots = [f"{base}/{first}/{arch}" for arch in sorted(machine.names(f"{base}/{first}"))]
            if first.partition("+")[0] != release:
                continue
        for root in roots:
            for name in sorted(machine.names(f"{root}/cached_ops")):
                yield "flashinfer", f"{root}/cached_ops/{name}"


def _kernel(machine: Machine, cache: str, folder: str, search: "ExtensionSearch", torch: "InstalledTorch") -> JitKernel:
    there = machine.names(folder)
    library = next((name for name in sorted(there) if name.endswith(".so")), None)
    lock = f"{folder}/lock" if cache == "torch_extensions" and "lock" in there else None
    return JitKernel(
        cache=cache,
        directory=folder,
        library=library,
        missing=_missing(machine, f"{folder}/{library}", search, torch) if library else (),
        lock=lock,
        holder=_holder(machine, lock) if lock else None,
        sources=_sources(machine, folder) if lock else (),
    )


def _missing(machine: Machine, path: str, search: "ExtensionSearch", torch: "InstalledTorch") -> tuple[str, ...]:
    """The vendors' libraries that it needs and that neither PyTorch, nor the loader, nor the environment has."""
    from gpudoctor.knowledge.sonames import vendor_of
    from gpudoctor.probes.python.extension_search import dynamic_of

    dynamic = dynamic_of(machine, path)
    needed = [n for n in dynamic.needed if n not in torch.mapped and vendor_of(n)] if dynamic else []
    origin = os.path.dirname(path)
    return tuple(n for n in needed if dynamic and search.find(n, dynamic, origin) is None and not search.has(n))


def _sources(machine: Machine, folder: str) -> tuple[str, ...]:
    """What build.ninja compiles, which names the package that wants the build."""
    try:
        text = machine.text(f"{folder}/build.ninja")
    except OSError:
        return ()
    words = (word for match in _BUILDS.finditer(text) for word in match[1].split())
    return tuple(dict.fromkeys(word for word in words if word.startswith("/")))[:4]


def _holder(machine: Machine, lock: str) -> Maybe[int | None]:
    """The process that has the lock open, as its owner has for as long as it builds; None: none on this machine.

    Unknown where processes of others could not be read, or the lock's file system is shared with other machines.
    """
    if not machine.here:
        return Unknown("processes are not listed under another root")
    real, status = machine.real(lock), machine.status(lock)
    for pid in [name for name in machine.names("/proc") if name.isdigit()][:_MOST_PROCESSES]:
        if any(machine.link(f"/proc/{pid}/fd/{name}") == real for name in machine.names(f"/proc/{pid}/fd")):
            return int(pid)
    # An ordinary user sees the open files of own processes alone.
    seen = status is not None and hasattr(os, "getuid") and os.getuid() in (0, status.uid)
    return None if seen else Unknown("the open files of other users' processes cannot be read")
