"""Where the samples of a session come from: the running machine's drivers, a recording, or the facts alone."""

from __future__ import annotations

from gpudoctor.monitor.live import Live
from gpudoctor.monitor.look import Source
from gpudoctor.monitor.replay import Replay
from gpudoctor.monitor.still import Still
from gpudoctor.monitor.synthetic import lines
from gpudoctor.tui.session import Session


def source_of(session: Session) -> Source:
    """The source of a session's samples."""
    what = session.source
    if what.samples:
        return Replay(what.samples)
    if what.facts is None:
        return Live(what.make)
    if what.demo:
        return Replay(lines(what.facts))
    return Still(what.facts)
