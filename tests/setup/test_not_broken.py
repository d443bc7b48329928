"""What setup chooses is never a release of which a table knows that it finds no GPU."""

import itertools

import pytest
from packaging.requirements import Requirement

from gpudoctor.knowledge import cupy, jax, onnxruntime, tensorflow, torch
from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.setup.plan import TargetPlatform, Wheel
from tests.setup.grounds import GPUS, machine
from tests.setup.plans import made

NAMES = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


def _allowed(wheel: Wheel, number: str) -> bool:
    return Requirement(wheel.requirement).specifier.contains(f"{number}.0" if number.count(".") < 2 else number)


def _is_right(wheel: Wheel, ground: TargetPlatform) -> bool:
    """Whether all releases that the requirement allows find the GPUs, as far as the tables know them."""
    lowest = ground.capabilities[0]
    if wheel.framework == "tensorflow":
        rows = [r for r in tensorflow.tensorflow().release if _allowed(wheel, r.version)]
        return bool(rows) and all(r.finds_gpu and tensorflow.runs(r.version, lowest) for r in rows)
    if wheel.framework == "torch":
        number = wheel.requirement.removeprefix("torch==").removesuffix(".*")
        row = torch.release(number)
        targets = torch.targets_of(number, wheel.variant) or ""
        return row is not None and wheel.variant not in row.assumed.split() and bool(coverage(targets, lowest))
    if wheel.framework == "cupy":
        package = cupy.package_for(int(wheel.variant.removeprefix("cu")))
        return package is not None and not package.last and bool(coverage(package.targets, lowest))
    if wheel.framework == "jax":
        plugin = jax.plugin("cuda13" if wheel.variant == "cu13" else "cuda12")
        return version(lowest) >= version(plugin.lowest_capability) and bool(coverage(plugin.targets, lowest))
    major = wheel.variant.removeprefix("cu")
    rows_of = [r for r in onnxruntime.onnxruntime().row if r.cuda == major and _allowed(wheel, r.first)]
    return bool(rows_of) and all(r.extras and coverage(r.targets, lowest) for r in rows_of)


@pytest.mark.parametrize("kind", GPUS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_chosen_finds_the_gpu(name: str, kind: str) -> None:
    for branch, minor in itertools.product((470, 535, 570, 580, 595), ("3.10", "3.12", "3.13")):
        found = made(machine(kind, branch=branch, minor=minor), name, driver="no")
        assert all(_is_right(wheel, found.machine) for wheel in found.wheels), found.wheels


def test_tensorflow_2_21_is_known_not_to_find_its_cuda() -> None:
    row = tensorflow.release("2.21")
    assert row is not None
    assert not row.finds_gpu
    (wheel,) = made(machine("ada"), "tensorflow").wheels
    assert not _allowed(wheel, "2.21")
