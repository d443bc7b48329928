"""Level Zero's driver where PyTorch does not answer."""

from tests.builders import change
from tests.checks.intel.test_intel import UNREADABLE, verdicts
from tests.checks.intel_machines import arc_host, xpu


def test_level_zero_where_the_framework_does_not_say() -> None:
    silent = change(arc_host(xpu(0)), "pythons.0.frameworks.0.live.available", UNREADABLE)
    ((outcome, message),) = verdicts("intel.level-zero-missing", change(silent, "intel.level_zero", None))
    assert outcome == "problem"
    assert message.endswith(" needs libze_intel_gpu.so.1 for Intel's GPUs, not found.")
    assert verdicts("intel.level-zero-missing", silent) == [("pass", "")]
