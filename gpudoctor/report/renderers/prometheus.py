"""The report as Prometheus reads it, for node_exporter's textfile collector.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

from collections.abc import Iterable, Iterator

from gpudoctor.facts.text_types import moment
from gpudoctor.report.model import STATUSES, Report
from gpudoctor.report.sanitize import clean

Sample = tuple[dict[str, str], float]


def render(report: Report) -> str:
    """All metrics, each with its help and its type."""
    return "".join(f"{line}\n" for name, help_, samples in _metrics(report) for line in metric(name, help_, samples))


def _metrics(report: Report) -> Iterator[tuple[str, str, list[Sample]]]:
    m, s = report.machine, report.summary
    info = {"version": report.version, "driver": m.driver or "", "cuda": m.driver_cuda or "", "rocm": m.rocm or ""}
    yield "gpudoctor_info", "Versions of gpudoctor and of the detected drivers.", [(info, 1.0)]
    yield (
        "gpudoctor_status",
        "Verdict: 1 for the current one, else 0.",
        [({"status": x}, float(x == report.status)) for x in STATUSES],
    )
    yield (
        "gpudoctor_findings",
        "Root causes by status.",
        [({"status": n}, float(getattr(s, n))) for n in ("fail", "warn", "advice")],
    )
    outcomes = {"pass": s.passed, "skipped": s.skipped, "unknown": s.unknown, "broken": s.broken}
    yield (
        "gpudoctor_checks",
        "Checks by outcome, without findings.",
        [({"outcome": n}, float(v)) for n, v in outcomes.items()],
    )
    asked: list[Sample] = [({}, float(report.driver_asked))]
    yield "gpudoctor_driver_asked", "1; 0 with --root, which reads files and leaves the driver unknown.", asked
    yield "gpudoctor_finding", "One root cause; action is the kind of its fix.", _findings(report)
    yield "gpudoctor_gpu", "A GPU and its status.", _gpus(report)
    yield "gpudoctor_framework_gpus", "GPUs that a framework can use.", _frameworks(report)
    yield from _smoke(report)
    yield "gpudoctor_run_seconds", "Duration of the run in seconds.", [({}, report.seconds)]
    if report.created:
        when = moment(report.created).timestamp()
        yield "gpudoctor_run_timestamp_seconds", "Unix time of the run.", [({}, when)]


def _findings(report: Report) -> list[Sample]:
    found = {}
    for one in report.findings:
        action = next((fix.action for fix in one.fixes if fix.action), None) or ""
        labels = {"check": one.check, "status": one.status, "subject": one.subject, "action": action}
        found[tuple(labels.values())] = (labels, 1.0)  # no series may stand twice
    return list(found.values())


def _gpus(report: Report) -> list[Sample]:
    gpus = {(gpu.vendor, gpu.index): gpu for gpu in report.gpus}.values()
    return [
        ({"vendor": g.vendor, "gpu": str(g.index), "name": g.name or "", "status": g.status or ""}, 1.0) for g in gpus
    ]


def _frameworks(report: Report) -> list[Sample]:
    found = {}
    for one in report.frameworks:
        if one.sees is not None:
            labels = {"framework": one.name, "version": one.version or "", "python": one.python}
            found[tuple(labels.values())] = (labels, float(one.sees))
    return list(found.values())


def _smoke(report: Report) -> Iterator[tuple[str, str, list[Sample]]]:
    values: dict[tuple[str, ...], Sample] = {}
    limits: dict[tuple[str, ...], Sample] = {}
    for run in report.smoke:
        for test in run.tests:
            for figure in test.figures:
                labels = {
                    "backend": run.backend,
                    "device": run.device,
                    "test": test.test,
                    "variant": test.variant,
                    "figure": figure.name,
                    "unit": figure.unit,
                }
                values[tuple(labels.values())] = (labels, figure.value)
                if figure.limit is not None:
                    limits[tuple(labels.values())] = (labels, figure.limit)
    yield "gpudoctor_smoke_figure", "Measured by a smoke test, in the unit of its label.", list(values.values())
    yield "gpudoctor_smoke_limit", "Limit of this device, in the same unit.", list(limits.values())


def metric(name: str, help_: str, samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of one metric; nothing where there is no sample."""
    lines = [f"{name}{_labels(labels)} {value!r}" for labels, value in samples]
    if lines:
        yield f"# HELP {name} {help_}"
        yield f"# TYPE {name} gauge"
        yield from lines


def _labels(labels: dict[str, str]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
