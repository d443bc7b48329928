"""Which PyTorch wheel has code for a GPU and runs on its driver."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.drivers import drivers
from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.knowledge.table import KnowledgeTable, load


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where wheels are, and which variants to advise first."""

    wheels: str
    preferred: tuple[str, ...]


class TorchRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A minor release: its CUDA wheels with the capabilities compiled into each, and what else they need."""

    version: str
    python: tuple[str, str]
    default: str
    wheels: dict[str, str]
    rocm: str = ""
    assumed: str = ""
    cudnn: dict[str, str] = msgspec.field(default_factory=dict)


class Nvrtc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How PyTorch uses CUDA's run-time compiler."""

    clamped_since: str
    clamped_before: str


class Inductor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """PyTorch's compiler: the release before which its cache needs the user's name."""

    named_before: str


class UnnamedMachine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is assumed of a machine that a message does not name: its driver's CUDA release, and its GPUs."""

    driver_cuda: str
    older: tuple[str, ...]
    newer: tuple[str, ...]


class TorchTable(KnowledgeTable, frozen=True):
    """The table ``torch.toml``."""

    index: Index
    nvrtc: Nvrtc
    inductor: Inductor
    compiles: dict[str, str]
    unnamed: UnnamedMachine
    aarch64: dict[str, str]
    rocm_gfx: dict[str, str]
    rocm_without_blas: dict[str, str]
    release: tuple[TorchRelease, ...]


class TorchChoice(msgspec.Struct, frozen=True):
    """A wheel to install: the minor release ("2.14") and the variant ("cu126", "rocm7.2")."""

    version: str
    variant: str

    @property
    def index(self) -> str:
        """The address of the package index that has it."""
        return index_of(self.variant)


@cache
def torch() -> TorchTable:
    """Return the table, read once."""
    return load("torch", TorchTable)


def release(number: str) -> TorchRelease | None:
    """Return the release of "2.9", "2.9.1" or "2.9.1+cu128", or None where it is unknown."""
    return _releases().get(_minor(number))


def _minor(number: str) -> str:
    return ".".join(number.partition("+")[0].split(".", 2)[:2])


@cache
def _releases() -> dict[str, TorchRelease]:
    return {one.version: one for one in torch().release}


def index_of(variant: str) -> str:
    """Return the address of PyTorch's package index for a variant such as "cu126", "rocm7.2" or "cpu"."""
    return torch().index.wheels.format(variant=variant)


def index_of_build(version: str) -> str | None:
    """Return the address of the index from which a version came: "2.7.1+cu126"; None: it names none of its builds.

    Nightly builds ("2.12.0.dev20260324+rocm7.2") have indexes of their own.
    """
    public, _, build = version.partition("+")
    nightly = "nightly/" if ".dev" in public else ""
    return index_of(f"{nightly}{build}") if re.fullmatch(r"cpu|xpu|cu\d+|rocm[\d.]+", build) else None


def with_cudnn(major: int) -> str:
    """Return which releases include a cuDNN major or a newer one, as a requirement: "torch>=2.4" of 9, else "torch"."""
    fits = (r for r in torch().release if r.cudnn and all(version(v)[0] >= major for v in r.cudnn.values()))
    first = next(fits, None)
    return f"torch>={first.version}" if first else "torch"


def cuda_variant(cuda: str) -> str:
    """Return the variant for a CUDA release, as indexes name it: "12.6" is "cu126"."""
    return f"cu{cuda.replace('.', '')}"


def cuda_of_variant(variant: str) -> str | None:
    """Return the CUDA version of a variant: "cu126" is "12.6"; None for "cpu" and "rocm7.2"."""
    digits = variant.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}" if digits.isdigit() else None


def targets_of(number: str, variant: str, machine: str = "x86_64") -> str | None:
    """Return the capabilities compiled into a wheel ("7.5 8.0 12.0+PTX"), or None where it is unknown."""
    found = release(number)
    if found is None or variant not in found.wheels:
        return None
    return torch().aarch64.get(variant) if machine == "aarch64" else found.wheels[variant]


def wheel_for(
    capability: str,
    driver_cuda: str | None = None,
    python: str | None = None,
    machine: str = "x86_64",
    number: str | None = None,
) -> TorchChoice | None:
    """Return the newest wheel that has code for this GPU, runs on this driver and exists for this Python.

    Args:
        capability: compute capability, "8.6".
        driver_cuda: the CUDA version that the driver reports, "12.4"; None: the driver can be changed.
        python: "3.12"; None: any.
        machine: "x86_64" or "aarch64".
        number: the release that it has to be of, "2.9.1"; None: any.
    """
    kept = _minor(number) if number else None
    there = [c for c in _wheels(python) if kept in (None, c.version)]
    fits = [c for c in there if _runs(c, capability, driver_cuda, machine)]
    found = release(number) if number else None
    wanted = [c for c in fits if found and c.variant == found.default]  # what most have who have this release
    wanted = wanted or [c for c in fits if c.variant in torch().index.preferred]
    return _newest(wanted or fits)


def wheels_for(
    capabilities: tuple[str, ...], driver_cuda: str | None = None, python: str | None = None, machine: str = "x86_64"
) -> tuple[TorchChoice, ...]:
    """Return every wheel that has code for each of these GPUs and runs on the driver, the advised one first.

    Args:
        capabilities: compute capabilities, "8.6".
        driver_cuda: the CUDA version that the driver reports; None: the driver can be changed.
        python: "3.12"; None: any.
        machine: "x86_64" or "aarch64".
    """
    fits = [c for c in _wheels(python) if all(_runs(c, one, driver_cuda, machine) for one in capabilities)]
    order = torch().index.preferred
    return tuple(sorted(fits, key=lambda one: (one.variant in order, _rank(one)), reverse=True))


def driver_runs(variant: str, driver_cuda: str) -> bool:
    """Say whether a driver that reports ``driver_cuda`` runs wheels of this variant.

    From CUDA 11 the major decides (minor-version compatibility); a newer driver runs older majors.
    """
    cuda = cuda_of_variant(variant)
    if cuda is None:
        return False
    if cuda.partition(".")[0] in drivers().floor:
        return version(driver_cuda)[0] >= version(cuda)[0]
    return version(driver_cuda) >= version(cuda)


def nearest_python(lowest: str, highest: str) -> str:
    """Return 3.12, which most other packages support, else the Python of this span that is nearest to it."""
    return min(max("3.12", lowest, key=version), highest, key=version)


def python_for(number: str) -> str:
    """Return a Python for which a release has wheels, as of `nearest_python`."""
    found = release(number)
    return nearest_python(*(found.python if found else ("3.12", "3.12")))


def rocm_for(gfx: str) -> str | None:
    """Return the newest ROCm version whose PyTorch wheels have all kernels for this gfx target, or None."""
    found = [v for v in torch().rocm_gfx if _has_gfx(v, gfx)]
    return max(found, key=version, default=None)


def _has_gfx(rocm: str, gfx: str) -> bool:
    """Whether the wheels for a ROCm release were compiled for a target, and the rocBLAS inside was as well."""
    end = torch().rocm_without_blas.get(gfx)
    return gfx in torch().rocm_gfx.get(rocm, "").split() and (end is None or version(rocm) < version(end))


def rocm_wheel_for(gfx: str, python: str | None = None, number: str | None = None) -> TorchChoice | None:
    """Return the newest wheel for ROCm that has all kernels for this gfx target and exists for this Python.

    Args:
        gfx: the target, "gfx1100".
        python: "3.12"; None: any.
        number: the release that it has to be of, "2.9.1"; None: any.
    """
    kept = release(number) if number else None
    for found in reversed(torch().release) if number is None else [kept] if kept else []:
        for rocm in sorted(found.rocm.split(), key=version, reverse=True):
            if _has_gfx(rocm, gfx) and fits_python(found, python):
                return TorchChoice(found.version, f"rocm{rocm}")
    return None


def _wheels(python: str | None) -> list[TorchChoice]:
    """Every CUDA wheel that was seen to exist, newest release first."""
    return [
        TorchChoice(r.version, variant)
        for r in reversed(torch().release)
        if fits_python(r, python)
        for variant in reversed(r.wheels)
        if variant not in r.assumed.split()
    ]


def _runs(choice: TorchChoice, capability: str, driver_cuda: str | None, machine: str) -> bool:
    targets = targets_of(choice.version, choice.variant, machine)
    if not targets or coverage(targets, capability) is None:
        return False
    return driver_cuda is None or driver_runs(choice.variant, driver_cuda)


def _newest(choices: list[TorchChoice]) -> TorchChoice | None:
    return max(choices, key=_rank, default=None)


def _rank(choice: TorchChoice) -> tuple[tuple[int, ...], int]:
    order = torch().index.preferred
    return version(choice.version), -(order.index(choice.variant) if choice.variant in order else len(order))


def fits_python(found: TorchRelease, python: str | None) -> bool:
    """Whether a release has wheels for a Python, "3.12"; None: any."""
    if python is None:
        return True
    lowest, highest = (version(v) for v in found.python)
    return lowest <= version(python)[:2] <= highest


def releases_that_compile_less() -> tuple[str, ...]:
    """Return the releases with wheels for a Python that their torch.compile does not support."""
    rows = torch().compiles.items()
    return tuple(
        one.version
        for one in torch().release
        if any(fits_python(one, python) and version(one.version) < version(first) for python, first in rows)
    )


def asks_nvrtc_for_own_arch(number: str, cuda: str) -> bool:
    """Whether a release ("1.10.0") asks NVRTC of a CUDA ("11.3") for the GPU's architecture, known to it or not."""
    row = torch().nvrtc
    return version(number)[:2] < version(row.clamped_since) or version(cuda)[:2] >= version(row.clamped_before)
