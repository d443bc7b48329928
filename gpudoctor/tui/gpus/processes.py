"""Who uses the GPUs: a table of processes with user, memory, age and command line."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.monitor.snapshot import Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.sampling.lines import MonitorProcess
from gpudoctor.tui.gpus import words

HEADING = "GPU      PID  User      GPU mem  Host mem     Age  Type Command"


class Processes(VerticalScroll):
    """The table; its heading stays while it scrolls."""

    DEFAULT_CSS = """
    Processes {
        height: auto; max-height: 40%; min-height: 3; padding: 0 1; scrollbar-size-vertical: 1;
        #processes-heading { dock: top; height: 1; color: $text-muted; background: $background; }
        #processes-rows { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
        &:focus #processes-heading { color: $text; text-style: underline; }
    }
    """

    def compose(self) -> ComposeResult:
        """Its heading and its rows."""
        yield Static(HEADING, id="processes-heading", markup=False)
        yield Static("", id="processes-rows", markup=False)

    def show(self, gpus: Sequence[Watched]) -> None:
        """Show the processes of some GPUs."""
        self.query_one("#processes-rows", Static).update(Content("\n").join(rows(gpus)))


def rows(gpus: Sequence[Watched]) -> list[Content]:
    """A row a process, those with the most memory first; a sentence where there is none."""
    found = [(gpu, each) for gpu in gpus if isinstance(gpu.processes, tuple) for each in gpu.processes]
    found.sort(key=lambda pair: -(words.number(pair[1].memory) or 0))
    lines = [_row(gpu, process) for gpu, process in found]
    silent = [(gpu, gpu.processes) for gpu in gpus if isinstance(gpu.processes, Unknown)]
    lines += [Content.styled(f"{gpu.label}: {clean(why.unknown)}", "$foreground-muted") for gpu, why in silent]
    return lines or [
        Content.styled("No process uses the GPU." if len(gpus) == 1 else "No process.", "$foreground-muted")
    ]


def _row(gpu: Watched, process: MonitorProcess) -> Content:
    cells = (
        f"{gpu.index:>3}",
        f"{process.pid:>8}",
        f" {words.fit(_text(process.user, words.NONE), 8)}",
        f"{words.small_size(process.memory):>8}",
        f" {words.small_size(process.host_memory):>8}",
        f"{words.age(process.age):>7}",
        f" {_text(process.kind, words.NONE):4}",
        "",
    )
    return Content.assemble(" ".join(cells), _command(process))


def _command(process: MonitorProcess) -> tuple[str, str]:
    """The command line, less the directory of its program; else the name."""
    if isinstance(process.command, str):
        program, space, rest = process.command.partition(" ")
        return clean(program.rpartition("/")[2] + space + rest), "bold"
    name = process.name
    return _text(name, "not in this container"), "bold" if isinstance(name, str) else "$foreground-muted"


def _text(value: Maybe[int | str | None], none: str) -> str:
    return words.UNKNOWN if isinstance(value, Unknown) else none if value is None else clean(str(value))
