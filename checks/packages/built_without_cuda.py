"""A compiled extension of PyTorch that was built without code for GPUs (detectron2, pytorch3d, mmcv, apex)."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Extension, Package
from gpudoctor.fixes.extensions import built_with_cuda
from gpudoctor.knowledge.cuda_extensions import CudaExtension, cuda_extensions
from gpudoctor.knowledge.sonames import vendor_of
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.extensions import has_cuda_in_name
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import and_more, numbers, package
from gpudoctor.targets import ANY_GPU, OnPython, pythons

# An editable installation names a handful of files, and its libraries lie elsewhere.
_INSTALLED = 30


def _found(on: OnPython) -> Iterator[tuple[CudaExtension, Package]]:
    torch = one_of(on.python, "torch")
    if torch is None or not nvidia_gpus(on.facts) or known(torch.cuda) is None:
        return
    for row in cuda_extensions().row:
        owner = package(on.python, row.package)
        if owner and numbers(row.since) <= numbers(owner.version) < numbers(row.before) and _lacks(on, row, owner):
            yield row, owner


def _lacks(on: OnPython, row: CudaExtension, owner: Package) -> bool:
    """Whether none of its libraries is for GPUs, or it has none at all although its files are known."""
    read = [e for e in known(on.python.extensions) if e.package == owner.name]
    if read:
        return not any(map(_is_for_gpus, read))
    return not row.compiled and owner.installer != "conda" and not owner.libraries and (owner.files or 0) >= _INSTALLED


def _is_for_gpus(extension: Extension) -> bool:
    """Whether a library is linked to CUDA's libraries or to those parts of PyTorch that are for GPUs, or says so."""
    linked = (vendor_of(name) or "cuda" in name or "hip" in name for name in extension.needed)
    return any(linked) or has_cuda_in_name(extension)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    return tuple(fix for row, owner in _found(on) for fix in built_with_cuda(on, row, owner))[:4]


@check(
    title="An extension of PyTorch was built without CUDA (Not compiled with GPU support)",
    severity=Severity.WARNING,
    cause="Some packages are compiled while they are installed, and are built for the CPU alone where the build sees "
    "no GPU (docker build, a login node) and no FORCE_CUDA, or finds no nvcc. pip's build isolation hides PyTorch from "
    "the build: then some leave out their compiled part altogether.",
    fixes=_fixes,
    references=(
        "https://detectron2.readthedocs.io/en/latest/tutorials/install.html#common-installation-issues",
        "https://github.com/facebookresearch/pytorch3d/issues/318",
        "https://github.com/open-mmlab/mmcv/issues/3319",
        "https://github.com/NVIDIA/apex/issues/1755",
        "https://github.com/rusty1s/pytorch_sparse/issues/281",
    ),
    targets=pythons,
    only_with=(ANY_GPU, f"pythons.packages.name={names(row.package for row in cuda_extensions().row)}"),
    caused_by=("python.*", "packages.extension-abi"),
    affects=("wheels", "extensions"),
    validated_on=("simulated 2026-11",),
)
def built_without_cuda(on: OnPython) -> Problem | None:
    """A package of the table without a library for GPUs, next to a PyTorch for CUDA and an NVIDIA GPU."""
    found = list(_found(on))
    if not found:
        return None
    (row, owner), torch = found[0], one_of(on.python, "torch")
    build = phrase(" for CUDA {}", torch.cuda) if torch else ""
    has = "its compiled part" if not row.compiled else "code for GPUs"
    message = f"{owner.name} {owner.version} was built without {has}, PyTorch{build}{and_more(found)}: {row.effect}."
    return Problem(message, tuple(f"{p.name} {p.version}: {', '.join(p.libraries) or 'no library'}" for _, p in found))
