"""Where the samples of a session come from: the running machine's drivers, a recording, or the facts alone."""

from __future__ import annotations

from gpudoctor.monitor.facts_source import Still
from gpudoctor.monitor.live import LiveSource
from gpudoctor.monitor.replay import Replay
from gpudoctor.monitor.snapshot import SampleSource
from gpudoctor.monitor.synthetic import lines
from gpudoctor.tui.session import Session


def source_of(session: Session) -> SampleSource:
    """The source of a session's samples."""
    what = session.source
    if what.samples:
        return Replay(what.samples)
    if what.facts is None:
        return LiveSource(what.make)
    if what.demo:
        return Replay(lines(what.facts))
    return Still(what.facts)
