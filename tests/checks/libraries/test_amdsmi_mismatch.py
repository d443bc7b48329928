"""A module amdsmi that opens another libamd_smi.so than PyTorch."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.libraries.amdsmi_mismatch import amdsmi_mismatch
from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, live, plain_host
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, one, package, torch

PYPI, SDK, VLLM = package("amdsmi", "7.0.2"), package("rocm-sdk-core", "7.14.0"), package("vllm", "0.11.0+rocm713")
OPENS = "amdsmi 7.0.2 opens a second libamd_smi.so next to the one of rocm-sdk-core 7.14.0, which PyTorch 2.12.0 loads."
ZERO = "It counts 0, although HIP reports a GPU."
WHY = Unknown("it crashed")
LACKS = "AttributeError: /opt/rocm/lib/libamd_smi.so: undefined symbol: amdsmi_get_cpu_affinity_with_scope"
OF_SDK = "_rocm_sdk_core/share/amd_smi"


def rocm(*packages: Any, variant: str = "rocm", host: Facts | None = None, **changes: Any) -> Facts:
    said = live(**changes) if changes else None
    found = torch("2.12.0", variant=variant, cuda=None, hip="7.14", live=said)
    return environment(found, packages=packages, facts=host or amd_host())


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (rocm(PYPI, SDK, count=1), ("pass", ""), None),  # it counts them
        (rocm(PYPI, SDK), ("problem", f"{OPENS} PyTorch was not imported, so whether it counts the GPUs is not known."),
         Severity.WARNING),
        (rocm(PYPI, SDK, available=True, count=0),
         ("problem", f"{OPENS} {ZERO}"), Severity.ERROR),
        (rocm(PYPI, SDK, available=False, count=0), ("problem", f"{OPENS} PyTorch counts 0 GPUs."), Severity.WARNING),
        (rocm(PYPI, available=True, count=0),
         ("problem", f"PyTorch 2.12.0 asks amdsmi 7.0.2 for the number of GPUs. {ZERO}"),
         Severity.ERROR),
        (rocm(PYPI, import_error=LACKS),
         ("problem", "import torch fails in amdsmi 7.0.2, which does not fit the libamd_smi.so that it finds."),
         Severity.ERROR),
        (rocm(PYPI, SDK, import_error="KeyError: 'libamd_smi.so'"),
         ("problem", "import torch fails in amdsmi 7.0.2, which does not fit the libamd_smi.so that it finds."),
         Severity.ERROR),
        (rocm(PYPI, import_error="ImportError: libamd_smi.so.26: cannot open shared object file"), ("pass", ""), None),
        (rocm(PYPI, SDK, count=WHY), ("pass", ""), None),
        (rocm(PYPI), ("pass", ""), None),
        (rocm(PYPI, available=False, count=0), ("pass", ""), None),  # pytorch.no-gpu
        (rocm(SDK, available=True, count=0), ("pass", ""), None),  # pytorch.unusable-gpu
        (rocm(package("amdsmi", "26.5.0"), SDK), ("pass", ""), None),  # of a ROCm's own source
        (rocm(package("amdsmi", "7.1.0"), SDK), ("pass", ""), None),
        (rocm(PYPI, SDK, host=plain_host()), ("pass", ""), None),
        (rocm(PYPI, SDK, host=plain_host(), available=False, count=0), ("pass", ""), None),
        (rocm(PYPI, SDK, variant="cuda", available=True, count=0), ("pass", ""), None),
        (change(rocm(PYPI), "pythons.0.packages", WHY), ("unknown", "it crashed"), None),
    ],
)  # fmt: skip
def test_amdsmi_mismatch(facts: Facts, verdict: tuple[str, str], severity: Severity | None) -> None:
    assert one(amdsmi_mismatch, facts) == verdict
    if severity:
        assert [found.severity for found in run(amdsmi_mismatch, facts)] == [severity]


def test_it_is_removed_or_that_of_the_rocm_in_use_is_installed() -> None:
    typed = commands(amdsmi_mismatch, rocm(PYPI, SDK, available=True, count=0))
    assert typed.index("pip uninstall -y amdsmi") < typed.index(OF_SDK)
    needed = commands(amdsmi_mismatch, rocm(PYPI, SDK, VLLM, available=True, count=0))
    assert needed.index(OF_SDK) < needed.index("pip uninstall -y amdsmi")
    older = change(rocm(PYPI, import_error=LACKS), "amd.rocm", "6.4.0")
    assert "amdsmi<=6.4.0" in commands(amdsmi_mismatch, older)
    unknown = change(rocm(PYPI, import_error=LACKS), "amd.rocm", WHY)
    assert "pip install" not in commands(amdsmi_mismatch, unknown)


def test_vllm_gets_the_one_of_rocms_wheels() -> None:
    assert OF_SDK in commands(undeclared_requirement, rocm(SDK, VLLM))
