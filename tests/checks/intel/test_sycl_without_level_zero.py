"""oneAPI's compiler without a Level Zero driver for the Intel GPU."""

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.intel.sycl_without_level_zero import sycl_without_level_zero
from gpudoctor.facts import Facts
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from tests.builders import ask, card, change, framework, with_framework
from tests.checks.intel_machines import ARC, UHD, arc_host

WHY = Unknown("not to be seen")
COMPILER = {"CMPLR_ROOT": "/opt/intel/oneapi/compiler/2025.1"}
MESSAGE = (
    "The Intel GPU at {} has no Level Zero driver (libze_intel_gpu.so.1), and oneAPI's compiler is set up here "
    "(CMPLR_ROOT=/opt/intel/oneapi/compiler/2025.1): SYCL lists no level_zero:gpu."
)
CARD, GRAPHICS = MESSAGE.format("0000:03:00.0 (DG2 [Arc A770])"), MESSAGE.format("0000:00:02.0 (UHD Graphics 770)")
PASS, SKIPPED = ("pass", ""), ("skipped", "")


def sycl(level_zero: object = None, **changes: object) -> Facts:
    facts = change(change(arc_host(framework()), "host.environment", COMPILER), "intel.level_zero", level_zero)
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (sycl(), ("problem", CARD), Severity.WARNING),
        (sycl(pci=(UHD,)), ("problem", GRAPHICS), Severity.WARNING),  # OpenCL's driver for it is installed
        (sycl(pci=(UHD,), intel__opencl=False), ("problem", GRAPHICS), Severity.ADVICE),
        (sycl("/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1"), PASS, None),
        (sycl(WHY), ("unknown", "not to be seen"), None),
        (sycl(host__environment={"ONEAPI_ROOT": "/opt/intel/oneapi"}), SKIPPED, None),  # MKL alone
        (sycl(pci=(ARC, card(1, vendor="1002"))), SKIPPED, None),
        (sycl(pci=(msgspec.structs.replace(ARC, driver=None),)), SKIPPED, None),  # intel.not-driven
        (sycl(host__distribution=Distribution(id="nixos")), PASS, None),
        (change(with_framework(framework()), "host.environment", COMPILER), SKIPPED, None),
    ],
)
def test_sycl_without_level_zero(facts: Facts, verdict: tuple[str, str], severity: Severity | None) -> None:
    assert ask(sycl_without_level_zero, facts) == [verdict]
    if severity:
        assert [v.severity for v in run(sycl_without_level_zero, facts)] == [severity]


def test_the_package() -> None:
    ubuntu = sycl(host__distribution=Distribution(id="ubuntu", version="24.04"))
    (fix,) = run(sycl_without_level_zero, ubuntu)[0].fixes
    assert any("libze-intel-gpu1" in command for command in fix.commands)
