"""How long ago a message of the log was written."""

import pytest

from gpudoctor.facts import LogEvent
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.queries.kernel_log import age, ago
from tests.builders import change, nvidia_host

NONE = Unknown("no clock")


@pytest.mark.parametrize(
    ("then", "now", "seconds", "words"),
    [
        (10.0, 40.0, 30.0, ""),
        (10.0, 71.0, 61.0, " (1 minute ago)"),
        (10.0, 7210.0, 7200.0, " (2 hours ago)"),
        (10.0, 10 + 86400 * 3.5, 302400.0, " (3 days ago)"),
        (10.0, NONE, None, ""),
        (10.0, 5.0, None, ""),  # a clock that is not the log's
        (None, 40.0, None, ""),
    ],
)
def test_age(then: float | None, now: Maybe[float], seconds: float | None, words: str) -> None:
    facts, event = change(nvidia_host(), "log.now", now), LogEvent(kind="xid", text="", seconds=then)
    assert (age(facts, event), ago(facts, event)) == (seconds, words)
