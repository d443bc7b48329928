"""A package that is compiled for another vendor's GPUs than PyTorch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.extensions import companions, own_index, same_build
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.extensions import COMPANIONS
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.other_vendor import BUILDS, found_in
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnPython, pythons


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found, torch = found_in(on), one_of(on.python, "torch")
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
    found = found_in(on)
    if not found:
        return None
    first, others = found[0], sorted({one.package for one in found[1:]})
    more = f" The same applies to {', '.join(others)}." if others else ""
    here = f"PyTorch{phrase(' {}', torch.version)}"
    message = (
        f"{first.package} {first.version} is built for {BUILDS[first.vendor]}, {here} for {BUILDS[ours]}: its compiled "
        f"part does not load.{more}"
    )
    return Problem(message, tuple(one.evidence for one in found[:4]))
