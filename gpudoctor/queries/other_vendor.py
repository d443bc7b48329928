"""Packages that are compiled for another vendor's GPUs than PyTorch."""

from collections.abc import Iterator

import msgspec

from gpudoctor.knowledge.sonames import vendor_of
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or
from gpudoctor.queries.extensions import is_of_torch
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import failures, missing_in_words, was_imported
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import OnPython

# PyTorch's libraries for each vendor, https://github.com/pytorch/pytorch/blob/main/caffe2/CMakeLists.txt: a build has
# those of one vendor, and what is compiled against it links to them.
_LIBRARY = pattern(r"lib(?:torch|c10)_(cuda|hip|xpu)(?:_\w+)?\.so")
# The labels of wheels on download.pytorch.org: +cu128, +rocm6.4, +xpu.
_LABEL = pattern(r"(cu(?=\d)|rocm|xpu)")
_VARIANTS = {"cuda": "cuda", "cu": "cuda", "hip": "rocm", "rocm": "rocm", "xpu": "xpu"}
_VENDORS = {"nvidia": "cuda", "amd": "rocm"}
BUILDS = {"cuda": "CUDA (NVIDIA)", "rocm": "ROCm (AMD)", "xpu": "XPU (Intel)"}


class OtherVendor(msgspec.Struct, frozen=True):
    """A package, the vendor that it is compiled for ("cuda"), and what shows it."""

    package: str
    version: str
    vendor: str
    evidence: str


def found_in(on: OnPython) -> list[OtherVendor]:
    """The packages for another vendor: by what failed to load, by their label, and by what they link to."""
    torch = one_of(on.python, "torch")
    ours = known_or(torch.variant, None) if torch else None
    if ours not in BUILDS:
        return []
    found = {one.package: one for one in (*_linked(on, ours), *_labelled(on), *_failing(on)) if one.vendor != ours}
    return list(found.values())


def _vendor(library: str) -> str | None:
    """The build of PyTorch that a library is of, or whose vendor it is of: "cuda" of libcudart.so.13."""
    match = _LIBRARY.match(library)
    return _VARIANTS[match[1]] if match else _VENDORS.get(vendor_of(library) or "")


def _failing(on: OnPython) -> Iterator[OtherVendor]:
    for one, error in failures(on.python):
        vendors = [match[1] for name in missing_in_words(error) if (match := _LIBRARY.match(name))]
        yield from (OtherVendor(one.package, one.version, _VARIANTS[vendor], error[:500]) for vendor in vendors)


def _labelled(on: OnPython) -> Iterator[OtherVendor]:
    for each in packages_of(on.python):
        label = _LABEL.match(each.version.partition("+")[2])
        if label and is_extension(each.name):
            evidence = f"{each.name} {each.version}"
            yield OtherVendor(each.name, each.version, _VARIANTS[label[1]], evidence)


def _linked(on: OnPython, ours: str) -> Iterator[OtherVendor]:
    """By files alone where nothing was imported; a package may bring a library for each vendor.

    What is compiled for PyTorch's stable ABI need not link to PyTorch's library for a vendor, only to the vendor's own.
    """
    every = [e for e in known_or(on.python.extensions, ()) if is_of_torch(e)]
    vendors = {e.path: {vendor for name in e.needed if (vendor := _vendor(name))} for e in every}
    fit = {e.package for e in every if ours in vendors[e.path]}
    for extension in every:
        # A package may go on without a part that cannot be loaded (vLLM: "Failed to import from vllm._C").
        imported = was_imported(on.python, extension.package) and not any(map(_vendor, extension.missing))
        if len(vendors[extension.path]) == 1 and not (extension.package in fit or imported):
            name = next(filter(_vendor, extension.needed))
            evidence = f"{extension.path} needs {name}"
            yield OtherVendor(extension.package, extension.version, vendors[extension.path].pop(), evidence)
