"""A package that is compiled for another vendor's GPUs than PyTorch."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.extensions import companions, own_index, same_build
from gpudoctor.knowledge.sonames import vendor_of
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.extensions import COMPANIONS, is_of_torch
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import failures, missing_in_words, was_imported
from gpudoctor.queries.packages import package, packages_of
from gpudoctor.targets import OnPython, pythons

# PyTorch's libraries for each vendor, https://github.com/pytorch/pytorch/blob/main/caffe2/CMakeLists.txt: a build has
# those of one vendor, and what is compiled against it links to them.
_LIBRARY = pattern(r"lib(?:torch|c10)_(cuda|hip|xpu)(?:_\w+)?\.so")
# The labels of wheels on download.pytorch.org: +cu128, +rocm6.4, +xpu.
_LABEL = pattern(r"(cu(?=\d)|rocm|xpu)")
_VARIANTS = {"cuda": "cuda", "cu": "cuda", "hip": "rocm", "rocm": "rocm", "xpu": "xpu"}
_VENDORS = {"nvidia": "cuda", "amd": "rocm"}
_NAMES = {"cuda": "CUDA (NVIDIA)", "rocm": "ROCm (AMD)", "xpu": "XPU (Intel)"}


class _Stranger(msgspec.Struct, frozen=True):
    """A package, the vendor that it is compiled for ("cuda"), and what shows it."""

    package: str
    version: str
    vendor: str
    evidence: str


def _found(on: OnPython) -> list[_Stranger]:
    """The packages for another vendor: by what failed to load, by their label, and by what they link to."""
    torch = one_of(on.python, "torch")
    ours = known_or(torch.variant, None) if torch else None
    if ours not in _NAMES:
        return []
    found = {one.package: one for one in (*_linked(on, ours), *_labelled(on), *_failing(on)) if one.vendor != ours}
    return list(found.values())


def _vendor(library: str) -> str | None:
    """The build of PyTorch that a library is of, or whose vendor it is of: "cuda" of libcudart.so.13."""
    match = _LIBRARY.match(library)
    return _VARIANTS[match[1]] if match else _VENDORS.get(vendor_of(library) or "")


def _failing(on: OnPython) -> Iterator[_Stranger]:
    for one, error in failures(on.python):
        vendors = [match[1] for name in missing_in_words(error) if (match := _LIBRARY.match(name))]
        yield from (_Stranger(one.package, one.version, _VARIANTS[vendor], error[:500]) for vendor in vendors)


def _labelled(on: OnPython) -> Iterator[_Stranger]:
    for each in packages_of(on.python):
        label = _LABEL.match(each.version.partition("+")[2])
        if label and is_extension(each.name):
            evidence = f"{each.name} {each.version}"
            yield _Stranger(each.name, each.version, _VARIANTS[label[1]], evidence)


def _linked(on: OnPython, ours: str) -> Iterator[_Stranger]:
    """By files alone where nothing was imported; a package may bring a library for each vendor.

    What is compiled for PyTorch's stable ABI need not link to PyTorch's library for a vendor, only to the vendor's own.
    """
    every = [e for e in known_or(on.python.extensions, ()) if is_of_torch(e)]
    vendors = {e.path: {vendor for name in e.needed if (vendor := _vendor(name))} for e in every}
    fit = {e.package for e in every if ours in vendors[e.path]}
    for extension in every:
        loads = extension.package in fit or was_imported(on.python, extension.package)
        if len(vendors[extension.path]) == 1 and not loads:
            name = next(filter(_vendor, extension.needed))
            evidence = f"{extension.path} needs {name}"
            yield _Stranger(extension.package, extension.version, vendors[extension.path].pop(), evidence)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found, torch = _found(on), one_of(on.python, "torch")
    if not found or torch is None or not isinstance(torch.version, str):
        return ()
    if found[0].package in COMPANIONS and package(on.python, found[0].package):
        return (companions(on.facts, on.python, torch),)
    own = own_index(on, found[0].package) if torch.variant == "rocm" else ()
    return own or (same_build(on, found[0].package, found[0].version, torch),)


@check(
    title="A package is built for another vendor's GPUs than PyTorch (libtorch_cuda.so, libtorch_hip.so)",
    severity=Severity.ERROR,
    cause="What is compiled against PyTorch links to its libraries for one vendor, or to the vendor's own: "
    "libtorch_cuda.so and libcudart.so in builds for CUDA, libtorch_hip.so in those for ROCm, libtorch_xpu.so in those "
    "for Intel. The same release of PyTorch for another vendor does not contain them. pip takes PyPI's wheel, which is "
    "built for CUDA, wherever the index of the other build was not given.",
    fixes=_fixes,
    references=(
        "https://github.com/C0untFloyd/bark-gui/issues/112",
        "https://pytorch.org/get-started/locally/",
        "https://github.com/vllm-project/vllm/issues/44660",
        "https://github.com/pytorch/pytorch/blob/main/caffe2/CMakeLists.txt",
    ),
    targets=pythons,
    only_with=("pythons.frameworks.variant=cuda,rocm,xpu pythons.packages?",),
    caused_by=("python.*", "pytorch.wrong-vendor", "packages.builds-overwrite"),
    affects=("wheels", "extensions"),
    validated_on=("simulated 2026-11",),
    read_from_files=True,
)
def wrong_vendor(on: OnPython) -> Problem | None:
    """A package needs PyTorch's libraries for one vendor, and PyTorch is built for another."""
    torch = one_of(on.python, "torch")
    known(on.python.packages)
    if torch is None:
        return None
    ours = known(torch.variant)
    found = _found(on)
    if not found:
        return None
    first, others = found[0], sorted({one.package for one in found[1:]})
    more = f" The same applies to {', '.join(others)}." if others else ""
    here = f"PyTorch{phrase(' {}', torch.version)}"
    message = (
        f"{first.package} {first.version} is built for {_NAMES[first.vendor]}, {here} for {_NAMES[ours]}: its compiled "
        f"part does not load.{more}"
    )
    return Problem(message, tuple(one.evidence for one in found[:4]))
