"""Which of several troubles is the root: what is merely slow or odd beside a failure does not explain it."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.facts import Facts, Remnant, Shadow
from gpudoctor.report.build import build
from tests.builders import change
from tests.checks.amd_machines import amd_host, kfd
from tests.checks.environments import SITE, blind, environment, machine, package, torch


def roots(facts: Facts) -> dict[str, str]:
    """The root causes of a machine, with their status."""
    report = build(facts, list(judge(facts, catalogue.load())))
    return {finding.check: finding.status for finding in report.findings}


@pytest.mark.parametrize("level", ["low", "auto"])
def test_a_card_that_is_held_slow_explains_no_failure(level: str) -> None:
    facts = change(amd_host(), "pythons.0.frameworks.0.live", blind(error="HIP error: unknown"))
    reported = tuple(msgspec.structs.replace(b, performance_level=level) for b in facts.amd.boards)  # type: ignore[union-attr]
    found = roots(change(facts, "amd.boards", reported))
    assert found["pytorch.no-gpu"] == "fail"
    assert ("rocm.held-slow" in found) == (level == "low")


def test_rocm_beside_an_nvidia_gpu_explains_no_failure_of_cuda() -> None:
    nvidia, amd = environment(torch(cuda="12.6"), facts=machine("11.4")), amd_host(kfd=(kfd(error="EACCES"),))
    cards = (*nvidia.pci, *(msgspec.structs.replace(c, address="0000:41:00.0") for c in amd.pci))  # type: ignore[misc, union-attr]
    found = roots(msgspec.structs.replace(nvidia, pci=cards, amd=amd.amd))
    assert found["rocm.kfd-no-permission"] == "fail"
    assert found["pytorch.driver-too-old"] == "fail"


def test_numpy_explains_no_build_of_a_framework() -> None:
    cpu = {"cuda": None, "variant": "cpu", "archs": (), "live": blind()}
    found = roots(environment(torch("2.2.2+cpu", **cpu), packages=(package("numpy", "2.1.0"),)))
    assert found == {"pytorch.cpu-build": "fail", "python.numpy-2": "warn"}
    broken = blind(import_error="ImportError: numpy.core.multiarray failed to import")
    found = roots(environment(torch("2.2.2", cuda="12.1", live=broken), packages=(package("numpy", "2.1.0"),)))
    assert list(found) == ["python.numpy-2"]


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (("tensorflow",), {"pytorch.cpu-build": "fail", "python.half-removed": "fail"}),
        (("torch",), {"python.half-removed": "fail"}),
        (("tensorflow", "torch"), {"python.half-removed": "fail"}),
        (("numpy",), {"python.half-removed": "fail"}),  # as PyTorch may fail of it
    ],
)
def test_the_remains_of_one_framework_explain_nothing_about_another(
    modules: tuple[str, ...], expected: dict[str, str]
) -> None:
    left = tuple(Remnant(module=m, path=f"{SITE}/{m}", reason="no __init__.py") for m in modules)
    cpu = torch("2.7.1+cpu", cuda=None, variant="cpu", archs=(), live=blind())
    assert roots(environment(cpu, remnants=left)) == expected


def test_a_shadow_of_one_framework_explains_nothing_about_another() -> None:
    old = machine("11.4")
    for module, many in (("tensorflow", 2), ("torch", 1)):
        shadow = Shadow(module=module, wins=f"/w/{module}.py", loses=(f"{SITE}/{module}",), origin="PYTHONPATH")
        assert len(roots(environment(torch(cuda="12.6"), shadows=(shadow,), facts=old))) == many
