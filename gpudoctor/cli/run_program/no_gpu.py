"""Why a program held no GPU: from what a quick check finds in the program's own environment."""

import os
from collections.abc import Mapping, Sequence

from gpudoctor.cli.run_program.figures import ProcessFigures, RunFigures
from gpudoctor.cli.run_program.interpreter import CommandTarget, command_of
from gpudoctor.facts import Facts
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.gpu_requests import requests, without_gpu
from gpudoctor.registry import KnownFramework
from gpudoctor.report.model import Report
from gpudoctor.symptoms.explaining import GPU_CHECKS, NO_GPU, explaining
from gpudoctor.targets import gpus_of

# Of each framework's area, what keeps it from a GPU even where the import works.
BUILDS = ("cpu-build", "cpu-only", "cpu-package", "wrong-vendor", "driver-too-old", "libraries-missing", "no-gpu")


def target(
    figures: RunFigures, framework: KnownFramework, argv: Sequence[str], env: Mapping[str, str]
) -> CommandTarget:
    """The interpreter and the environment in which the program imported a framework."""
    process = next(one for one in figures.processes if framework.module in one.frameworks)
    named = command_of(argv, env)
    return CommandTarget(_python(process, framework) or named.python, named.env | process.env)


def _python(process: ProcessFigures, framework: KnownFramework) -> str | None:
    """The interpreter of the environment that a library is in; None: it is in none (~/.local)."""
    prefix, found, _ = process.frameworks[framework.module].partition("/lib/python")
    path = f"{prefix}/bin/{'python' if os.path.exists(f'{prefix}/bin/python') else 'python3'}"
    return path if found and os.access(path, os.X_OK) else None


def reason(report: Report, facts: Facts, framework: KnownFramework) -> str | None:
    """Why it held none, to follow "held no GPU"; None: that is as it should be, or nobody knows.

    Args:
        report: of a quick check in the program's environment.
        facts: that the report is about.
        framework: that the program imported.
    """
    try:
        if without_gpu(facts) and not requests(facts):
            return None
    except UnknownFactError:
        return None
    checks = (*(f"{framework.area}.{name}" for name in BUILDS), *GPU_CHECKS)
    usable = [one for one in report.findings if one.status != "advice" or one.check in NO_GPU]
    found = explaining(checks, {framework.area}, usable)
    if found:
        return f": {found[0].title} (gpudoctor check shows the fix)"
    own = one_of(facts.pythons[0], framework.module) if facts.pythons else None
    if gpus_of(facts) and uses_gpu(own):
        return f", although {framework.title} can use one here: the program did not ask for it"
    return None
