"""How the GPU is connected and shared: PCIe link, NVLinks, MIG devices."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from gpudoctor.maybe import Unknown
from gpudoctor.monitor.snapshot import Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.sampling.lines import Slice
from gpudoctor.tui.gpus import words

Part = tuple[str, str]
GAP = ("   ", "")


class LinkPanel(Static):
    """The lines."""

    DEFAULT_CSS = """
    LinkPanel { height: auto; max-height: 9; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def show(self, gpu: Watched) -> None:
        """Show a GPU."""
        self.update(Content("\n").join(links(gpu)))


def links(gpu: Watched) -> list[Content]:
    """The lines: the links in one, then a line for each MIG device."""
    parts = [*_pcie(gpu), GAP, *_nvlinks(gpu), GAP, *_mig(gpu), *_errors(gpu)]
    slices = gpu.device.mig_devices
    return [Content.assemble(*parts), *(_slice(one) for one in (slices if isinstance(slices, tuple) else ()))]


def _pcie(gpu: Watched) -> list[Part]:
    last, device = gpu.last, gpu.device
    if last is None:
        return [("PCIe ", "$foreground-muted"), (words.UNKNOWN, "")]
    now = words.link(last.link_generation, last.link_width)
    if last.link_generation is None and last.link_width is None:
        return [(now, "")]
    most = words.link(device.link_generation_max, device.link_width_max)
    narrow = words.narrow(gpu)
    return [
        ("PCIe ", "$foreground-muted"),
        (now, "$text-warning bold" if narrow else ""),
        (f", max {most}", "$foreground-muted"),
        *([(" (too few lanes)", "$text-warning")] if narrow else []),
    ]


def _nvlinks(gpu: Watched) -> list[Part]:
    found = gpu.device.nvlinks
    down = isinstance(found, tuple) and not all(found)
    return [("NVLink ", "$foreground-muted"), (words.links_up(found), "$text-warning" if down else "")]


def _mig(gpu: Watched) -> list[Part]:
    mig, slices = gpu.device.mig, gpu.device.mig_devices
    count = len(slices) if isinstance(slices, tuple) else 0
    on = f"on, {count} device{'s' * (count != 1)}"
    text = "unknown" if isinstance(mig, Unknown) else "none" if mig is None else on if mig else "off"
    return [("MIG ", "$foreground-muted"), (text, "")]


def _errors(gpu: Watched) -> list[Part]:
    """What only grows, where it is not zero."""
    replays, errors = words.number(gpu.device.pcie_replays), words.number(gpu.device.ecc_uncorrected)
    reported: list[Part] = [GAP, ("Replays ", "$foreground-muted"), (str(replays), "")] if replays else []
    return reported + ([GAP, ("ECC errors ", "$foreground-muted"), (str(errors), "$text-error")] if errors else [])


def _slice(one: Slice) -> Content:
    reported = clean(one.name) if isinstance(one.name, str) else ""
    profile = reported.partition("MIG ")[2] or reported or "MIG device"
    uuid = clean(one.uuid) if isinstance(one.uuid, str) else words.UNKNOWN
    memory = f"{words.size(one.memory_used, '')} of {words.size(one.memory)}" if words.number(one.memory) else ""
    return Content.assemble((f"  {profile:12}", "bold"), f" {memory:18}", (f" {uuid}", "$foreground-muted"))
