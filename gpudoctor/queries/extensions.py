"""Questions about compiled extensions of PyTorch, from facts alone."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Extension, Framework, Package, Python
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, phrase
from gpudoctor.parsers.metadata import is_optional
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import LOCAL_TORCH, major, numbers, packages_of, release

# PyTorch's own companions, each release of which belongs to one release of PyTorch.
COMPANIONS = ("torchvision", "torchaudio")

_OF_RELEASE = pattern(r"[-_](?:py)?torch[-_]?(\d+\.\d+\.\d+)\.so$")
_VARIANT = pattern(r"cu\d{3}")
# PyTorch's own, which are in the process as soon as torch is imported: the loader need not find them.
_OURS = ("libc10", "libtorch", "libcaffe2", "libshm")


def strangers(extension: Extension) -> tuple[str, ...]:
    """The libraries that an extension lacks although torch was imported before it."""
    return tuple(name for name in extension.missing if not name.startswith(_OURS))


def runtime_of(extension: Extension) -> str | None:
    """The CUDA runtime that it needs and that is not there: "libcudart.so.12"."""
    return next((name for name in extension.missing if name.startswith("libcudart")), None)


def unfit(python: Python) -> tuple[Extension, ...]:
    """The extensions that lack symbols of PyTorch, or the CUDA runtime of another major: they cannot be loaded.

    Raises:
        UnknownFactError: the symbols were not read.
    """
    every = known(python.extensions)
    return tuple(
        e for e in every if e.unresolved or (is_of_torch(e) and runtime_of(e) and not has_fit_variant(every, e))
    )


def is_of_torch(extension: Extension) -> bool:
    """Whether it is compiled against PyTorch, or belongs to a package that is."""
    return is_extension(extension.package) or any(name.startswith(_OURS) for name in extension.needed)


def has_fit_variant(every: Iterable[Extension], extension: Extension) -> bool:
    """Whether another library, whose name differs in numbers alone, lacks nothing: libbitsandbytes_cuda126.so."""
    stem = _stem(extension.path)
    others = (e for e in every if e.path != extension.path and _stem(e.path) == stem)
    return any(not (other.absent or other.unresolved or runtime_of(other)) for other in others)


def _stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/{''.join(letter for letter in name if not letter.isdigit())}"


def has_cuda_in_name(extension: Extension) -> bool:
    """Whether a library calls itself one for CUDA: _scatter_cuda.so, amp_C has none."""
    return "cuda" in extension.path.rpartition("/")[2].lower()


def lack(extension: Extension, torch: Framework | None) -> str:
    """What an unfit extension lacks: a symbol, or the CUDA runtime of the major that it was built for."""
    file, runtime = extension.path.rpartition("/")[2], runtime_of(extension)
    if extension.unresolved or runtime is None:
        return f"undefined symbol {extension.unresolved[0]} in {file}"
    cuda = torch.cuda if torch and isinstance(torch.cuda, str) else None
    ours = f"; this PyTorch is built for CUDA {cuda}" if cuda else ""
    built = major(runtime.partition(".so.")[2])
    return f"{file} is built for CUDA{phrase(' {}', built)} (it needs {runtime}, which is not found){ours}"


def abi(symbols: tuple[str, ...]) -> str | None:
    """Which C++ ABI the symbols' strings use: "old" (pre-C++11), "new" (C++11); None: they name no string.

    GCC mangles the old std::string as Ss, and the new one with the tag cxx11:
    https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
    """
    if any("__cxx1112basic_string" in s or "B5cxx11" in s for s in symbols):
        return "new"
    return "old" if any(s.endswith(("Ss", "SsE")) or "ESs" in s or "RKSs" in s for s in symbols) else None


def pin(python: Python, name: str) -> str | None:
    """The version of torch that a package requires exactly: "2.5.1"; None where it takes several."""
    package = next((p for p in packages_of(python) if p.name == name), None)
    for line in package.requires if package else ():
        wanted = line.partition(";")[0].replace(" ", "").strip("()")
        if wanted.startswith("torch==") and not is_optional(line):
            return wanted.removeprefix("torch==").partition(",")[0]
    return None


def built_for(package: Package) -> tuple[str | None, str | None]:
    """The torch and the CUDA of a package's build, by its own record, else by its version's local part.

    "2.1.2+pt24cu121" is for 2.4 and 12.1. PyTorch Geometric writes pt24cu121, flash-attention
    cu12torch2.5cxx11abiFALSE, ExLlama cu121.torch2.4.0, NATTEN torch260cu126.
    """
    local = package.version.partition("+")[2]
    if package.built_with:
        number, _, build = package.built_with.partition("+")
        local = f"torch{'.'.join(number.split('.')[:2])}{build}"
    cuda = re.search(r"cu(\d\d)(\d?)", local)
    release = f"{cuda[1]}.{cuda[2]}" if cuda and cuda[2] else cuda[1] if cuda else None
    return _torch_in(local, f"cu{cuda[1]}{cuda[2]}" if cuda else ""), release


def _torch_in(local: str, build: str) -> str | None:
    """The minor release of torch that a local version names; None where its digits could be those of two."""
    found = LOCAL_TORCH.search(local)
    if found is None:
        return None
    name, digits = found.groups()
    first, dot, rest = digits.partition(".")
    if dot:
        return f"{first}.{rest.partition('.')[0]}"
    minors = [digits[1:]] if name == "pt" or len(digits) == 2 else [digits[1:-1], digits[1:]]  # torch260, torch210
    from gpudoctor.knowledge import torch as torch_table  # few environments have a package that needs it

    rows = [(f"{digits[0]}.{minor}", torch_table.release(f"{digits[0]}.{minor}")) for minor in minors if minor]
    if len(rows) > 1:
        rows = [(number, row) for number, row in rows if row and (build in row.wheels or not _VARIANT.fullmatch(build))]
    return rows[0][0] if len(rows) == 1 else None


def library_releases(package: Package) -> tuple[str, ...]:
    """The PyTorch releases for which a package brings a library each, oldest first; none where no name tells.

    DGL opens libgraphbolt_pytorch_2.2.1.so with PyTorch 2.2.1, and libtensoradapter_pytorch_2.2.1.so.
    """
    named = (name for name in package.libraries if "torch" in name and name[-4:-3].isdigit())  # ..._2.2.1.so
    found = {match[1] for name in named if (match := _OF_RELEASE.search(name))}
    return tuple(sorted(found, key=numbers))


def is_for_another(extension: Extension, python: Python) -> bool:
    """Whether a library is the one for another PyTorch, by its name, of a package that has one for each release."""
    named, torch = _OF_RELEASE.search(extension.path.rpartition("/")[2]), one_of(python, "torch")
    return bool(named and torch and isinstance(torch.version, str) and named[1] != release(torch.version))


def loads(python: Python, name: str) -> bool:
    """Whether PyTorch has all symbols that a package's extensions need.

    Raises:
        UnknownFactError: the symbols were not read.
    """
    own = [e for e in known(python.extensions) if e.package == name]
    return bool(own) and not any(e in unfit(python) for e in own)
