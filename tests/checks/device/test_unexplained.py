"""Error lines of a driver that another finding explains."""

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, judge
from gpudoctor.root_causes import findings
from tests.checks.nvidia_machines import event, having, logged, xid


def test_an_error_line_is_no_finding_where_its_cause_is_one() -> None:
    """A machine with such a line is no plain pass; one whose cause is known has one finding."""
    line = event("driver-error", "NVRM: GPU0: failed to restore the channel", module="NVRM")
    both = catalogue.load(["device.unexplained-log-errors", "device.fallen-off-the-bus"])
    [alone], _ = findings(judge(logged(line), both))
    assert (alone.root.check.id, alone.severity) == ("device.unexplained-log-errors", Severity.WARNING)
    assert alone.root.problem is not None
    assert alone.root.problem.evidence == (line.text,)
    [caused], _ = findings(judge(logged(line, xid(79), facts=having(gpus__0__status="lost")), both))
    assert caused.root.check.id == "device.fallen-off-the-bus"
    assert [v.check.id for v in caused.consequences] == ["device.unexplained-log-errors"]
