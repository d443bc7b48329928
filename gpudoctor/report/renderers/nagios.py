"""The report as a monitoring plugin prints it: one line of state, performance data, and long output.

The rules: https://nagios-plugins.org/doc/guidelines.html and
https://assets.nagios.com/downloads/nagioscore/docs/nagioscore/4/en/pluginapi.html.
"""

from gpudoctor.report.fixes import blocks, notes
from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.report.sanitize import clean

# Exit codes and words of the plugin API.
UNKNOWN = 3, "UNKNOWN"
STATES = {"pass": (0, "OK"), "warn": (1, "WARNING"), "fail": (2, "CRITICAL")}


def exit_code(report: Report) -> int:
    """The plugin's exit code: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN."""
    return _state(report)[0]


def _state(report: Report) -> tuple[int, str]:
    """Exit code and word; that there is no GPU is critical where something asks for one, else unknown."""
    return STATES["fail"] if report.failed else STATES.get(report.status, UNKNOWN)


def render(report: Report) -> str:
    """The state with performance data, then a line for each finding and what to do."""
    lines = [f"GPU {_state(report)[1]} - {first(report)} | {_performance(report)}"]
    lines += [line for entry in report.findings for line in _long(entry)]
    lines += [
        plain(f"UNKNOWN {one.check} ({one.subject}): {one.reason}")
        for one in report.unknown
        if one.essential or one.broken
    ]
    return "\n".join(lines) + "\n"


def first(report: Report) -> str:
    """The whole answer in one sentence."""
    worst = report.findings[0] if report.findings else None
    if worst is not None and (worst.status == "fail" or worst.status == report.status):
        more = sum(f.status in ("fail", "warn") for f in report.findings) - 1
        return plain(f"{worst.check}: {worst.message}" + (f" (and {more} more)" if more else ""))
    if report.status == "incomplete":
        open_ = next((one for one in report.unknown if one.essential or one.broken), None)
        return plain(f"{open_.check}: {open_.reason}" if open_ else "too much is unknown for a verdict")
    if report.status == "no-gpu":
        return "NO GPU: " + next((plain(f.message) for f in report.findings), "there is nothing to diagnose")
    files = "" if report.driver_asked else "; files only, driver not asked (--root)"
    return f"{len(report.gpus)} GPU{'s' if len(report.gpus) != 1 else ''}, {report.summary.passed} checks passed{files}"


def _long(entry: FindingEntry) -> list[str]:
    lines = [plain(f"{entry.status.upper()} {entry.check}: {entry.message}")]
    return lines + [f"  {plain(_fix(fix))}" for fix in entry.fixes[:1]]


def _fix(fix: FixEntry) -> str:
    """The sentence, the commands, and what they take or may destroy."""
    after = notes(fix)
    return " ".join([fix.message, *_typed(fix), *([f"({'; '.join(after)})"] if after else [])])


def _typed(fix: FixEntry) -> list[str]:
    """The commands of a fix on one line; lines of a file make no sense on one."""
    of_shell = all(block.language == "sh" for block in blocks(fix.commands, fix.tasks))
    if not of_shell:
        return ["`gpudoctor check` shows the lines."]
    return [f"Run: {' && '.join(fix.commands)}"] if fix.commands else []


def plain(text: str) -> str:
    """One line without the bar, which begins performance data."""
    return " ".join(clean(text).replace("|", "/").split())


def _performance(report: Report) -> str:
    s = report.summary
    usable = sum(gpu.listed and gpu.status in ("ok", None) for gpu in report.gpus)
    asked = not any(gpu.status == "unknown" for gpu in report.gpus)  # U: could not be determined, by the guidelines
    gpus = f"gpus={usable};;;0" if asked else "gpus=U"
    values = [f"fail={s.fail};;0", f"warn={s.warn};0", f"unknown={s.unknown}", gpus]
    return " ".join([*values, f"time={report.seconds:.2f}s"])
