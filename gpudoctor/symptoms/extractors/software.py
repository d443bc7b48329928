"""What messages tell of libraries and packages: names, versions, and which wheel brings what."""

import re
from collections.abc import Sequence

from gpudoctor.facts import Facts
from gpudoctor.knowledge.sonames import library_of
from gpudoctor.symptoms.extractors import NOTHING, Extracted

_SONAME = r"(lib[\w+-]+?\.so(?:\.\d+)*)(?![\w.]|$)"  # whole: a line that is cut may end in the number


def soname(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """Which library is missing, and what provides it."""
    text = "\n".join(lines[:2])
    found = re.search(rf"{_SONAME}(?:: cannot open| is not found|'; dlerror)", text) or _before(text)
    name = found[1] if found else None
    if name is None or name == "libonnxruntime_providers_cuda.so":
        return NOTHING
    library = library_of(name)
    if library is None:
        return Extracted(details=(f"The missing library: {name}.",))
    wheel, major = library.wheel, name.rpartition(".so.")[2]
    if wheel.endswith("cudnn"):
        number = f" {major}" if major[:1].isdigit() else ""
        return Extracted(details=(f"{name} is cuDNN{number}; the wheels {wheel}-cuNN provide it.",))
    cuda = [release for release, one in library.soname.items() if one == name]
    if not cuda:
        return Extracted(details=(f"{name} is in the wheel {wheel}.",))
    return Extracted(
        details=(f"{name} is CUDA {' and '.join(cuda)}'s; the wheel {_wheel(wheel, cuda[-1])} provides it.",)
    )


def _before(text: str) -> "re.Match[str] | None":
    return re.search(_SONAME, text)


def _wheel(name: str, major: str) -> str:
    """From CUDA 13 on the wheels have no -cuNN."""
    return name if int(major) >= 13 and name != "nvidia-cudnn" else f"{name}-cu{major}"


def cudnn_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which cuDNN was loaded, and which was compiled against."""
    text = " ".join(lines[:3])
    found = re.search(r"Loaded runtime CuDNN library: ([\d.]+) but source was compiled with: ([\d.]+)\.\s", text, re.I)
    if found:
        return _cudnn(found[1], found[2])
    found = re.search(r"compiled\s+against \(([\d, ]+)\) but found runtime version \(([\d, ]+)\)", text)
    return _cudnn(found[2].replace(", ", "."), found[1].replace(", ", ".")) if found else NOTHING


def _cudnn(loaded: str, compiled: str) -> Extracted:
    return Extracted(details=(f"cuDNN {loaded} was loaded; the program was compiled with {compiled}.",))


def extension(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which file has the symbol that nobody knows."""
    found = re.search(r"(\S+\.so[\w.]*): undefined symbol: (\w+)", lines[0])
    if found is None:
        return NOTHING
    package = re.search(r"(?:site|dist)-packages/([\w.]+?)(?:/|\.cpython|\.abi3|\.so)", found[1])
    name = f" of the package {package[1]}" if package else ""
    return Extracted(details=(f"The incompatible file is {found[1].rpartition('/')[2]}{name}.",))


def nvcc_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """The compiler's release, and PyTorch's."""
    text = " ".join(lines[:3])
    found = re.search(r"CUDA version \((\d+\.\d+)\) mismatches .*?PyTorch\s+\((\d+\.\d+)\)", text)
    return (
        Extracted(details=(f"nvcc is from CUDA {found[1]}, PyTorch was built with CUDA {found[2]}.",))
        if found
        else NOTHING
    )


def numpy_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which NumPy is installed."""
    found = re.search(r"cannot be run in\s+NumPy ([\d.]+\d)\s", " ".join(lines[:2]))
    return Extracted(details=(f"NumPy {found[1]} is installed.",)) if found else NOTHING


def glibc(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which file wants a newer library, and which library that is."""
    wanted = r"(\S+): version [`']((?:GLIBCXX|GLIBC|CXXABI)_[\d.]+)' not found \(required by ([^)]+)\)"
    found = re.search(wanted, lines[0])
    if found is None:
        return NOTHING
    return Extracted(details=(f"{found[3].rpartition('/')[2]} needs {found[2]}, which {found[1]} does not have.",))


def pip_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Whether the index has anything for this Python at all."""
    found = re.search(r"\(from versions: ([^)]*)\)", " ".join(lines[:2]))
    if found is None:
        return NOTHING
    if found[1].strip() in ("none", ""):
        return Extracted(
            details=("The index has no version at all for this Python: the Python or the index is wrong.",)
        )
    there = found[1].split(", ")
    span = f"from {there[0]} to {there[-1]}" if len(there) > 1 else there[0]
    return Extracted(details=(f"For this Python the index has {span}, but not the requested version.",))


def jax_outdated(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which version JAX met, and which it wants at least."""
    text = " ".join(lines[:6])
    name = re.search(r"Outdated (\w+) installation", text, re.I)
    met = re.search(r"Installed version: (\d+)", text)
    least = re.search(r"Minimum supported: (\d+)", text)
    if not (name and met and least):
        return NOTHING
    return Extracted(details=(f"JAX found {name[1]} {met[1]} but needs {least[1]} or newer.",))
