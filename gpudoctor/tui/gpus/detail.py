"""All charts of one GPU, its links and its processes."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, Vertical

from gpudoctor.monitor.snapshot import Snapshot, Watched
from gpudoctor.tui.gpus.chart import Glyphs
from gpudoctor.tui.gpus.device_header import DeviceHeader
from gpudoctor.tui.gpus.link_panel import LinkPanel
from gpudoctor.tui.gpus.metrics import METRICS
from gpudoctor.tui.gpus.plot import Plot
from gpudoctor.tui.gpus.processes import Processes


class GpuDetail(Vertical):
    """One GPU."""

    DEFAULT_CSS = """
    GpuDetail {
        #detail-charts { height: 1fr; padding: 0 1; layout: grid; grid-size: 3 2; grid-gutter: 0 2; }
    }
    """

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield DeviceHeader()
        with Container(id="detail-charts"):
            for metric in METRICS:
                yield Plot(metric)
        yield LinkPanel("", markup=False)
        yield Processes()

    def show(self, gpu: Watched, look: Snapshot, step: float, glyphs: Glyphs, span: str) -> None:
        """Show a GPU; `span` says what time the charts show."""
        self.query_one(DeviceHeader).show(gpu, span)
        for plot in self.query(Plot):
            plot.show(gpu, look, step, glyphs)
        self.query_one(LinkPanel).show(gpu)
        self.query_one(Processes).show([gpu])
