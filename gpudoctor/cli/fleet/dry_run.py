"""`gpudoctor fleet run --dry-run`: what would be started on how many nodes, and where the results would go."""

import argparse
import os
from collections import defaultdict
from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.fleet.results import default_directory

if TYPE_CHECKING:
    from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob, ShownEngine

WIDE = 10


def shown(
    engine: "ShownEngine", targets: "Sequence[FleetTarget]", job: "NodeJob", arguments: argparse.Namespace
) -> str:
    """The text. The engine was asked for its nodes; nothing is started on them, and nothing is written.

    Raises:
        UsageError: the engine cannot be used.
    """
    from gpudoctor.fleet.nodesets import fold
    from gpudoctor.fleet.renderers.phrases import count_of
    from gpudoctor.fleet.runner.engine import EngineError, passed_over
    from gpudoctor.fleet.runner.report_store import landed
    from gpudoctor.fleet.runner.run_directory import REPORTS
    from gpudoctor.report.numbers import number

    path = arguments.output or default_directory()
    reports = os.path.join(path, REPORTS)
    every = list({one.node: one for one in targets}.values())
    done = [] if arguments.rerun else [one.node for one in every if landed(reports, one.node)]
    plain = passed_over(every, job.gpus)
    left = [one for one in every if one.node not in {*done, *plain}]
    asked = [one for one in left if not one.why_not]
    lines = ["Dry run: nothing is started and nothing is written.", "", _line("engine", engine.name)]
    nodes = f"{count_of(len(asked))}" + (f": {fold(one.node for one in asked)}" if asked else "")
    lines.append(_line("nodes", nodes))
    if done:
        lines.append(_line("skipped", f"{number(len(done))} already reported: {fold(done)}"))
    if plain:
        lines.append(
            _line("skipped", f"{number(len(plain))} without GPUs ({fold(plain)}): name them to check them too")
        )
    why_not: dict[str, list[str]] = defaultdict(list)
    for one in left:
        if one.why_not:
            why_not[one.why_not].append(one.node)
    lines += [_line("skipped", f"{number(len(some))} ({fold(some)}): {why}") for why, some in why_not.items()]
    lines.append(_line("limits", f"{number(min(job.fan, len(asked)))} at once, {job.seconds:g} s per node"))
    if arguments.pairs:
        lines.append(_line("then", "an all-reduce between neighboring nodes (--pairs)"))
    lines.append(_line("results", f"{path} ({'exists' if os.path.exists(path) else 'new directory'})"))
    if asked:
        alike = all((one.gpus or 0) == (asked[0].gpus or 0) for one in asked)
        likewise = ", the others likewise" if alike else ", the others with the number of their GPUs"
        each = asked[0].node + likewise * (len(asked) > 1)
        try:
            lines += ["", f"{each}:", indent(engine.shown(asked[0], job), "  ")]
        except EngineError as error:
            raise UsageError(str(error)) from None
    return "\n".join(lines) + "\n"


def _line(label: str, text: str) -> str:
    return f"{label:<{WIDE}}{text}"
