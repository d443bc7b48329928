"""Two TensorFlow packages in one folder."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import FileOverlap
from gpudoctor.fixes.frameworks import newer_tensorflow
from gpudoctor.fixes.python import uninstall
from gpudoctor.targets import OnFramework, has_nvidia, tensorflows


def _overlap(on: OnFramework) -> FileOverlap | None:
    names = {on.framework.distribution, *(name for name, _ in on.framework.others)}
    return next((o for o in on.python.overlaps if len(names & set(o.packages)) > 1), None)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    overlap, fitting = _overlap(on), newer_tensorflow(on.facts, on.python)
    commands = (uninstall(on.python, *(overlap.packages if overlap else ())), *(fitting[0].tasks if fitting else ()))
    return (
        Fix("Remove all of them, then install one: they share the folder tensorflow.", commands, "reinstall-package"),
    )


@check(
    title="Several TensorFlow packages share one folder",
    severity=Severity.WARNING,
    cause="tensorflow, tensorflow-cpu and their variants all write the folder tensorflow; the last one wins, and "
    "removing one leaves the other broken.",
    fixes=_fixes,
    references=("https://www.tensorflow.org/install/pip",),
    targets=tensorflows,
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def several_packages(on: OnFramework) -> Problem | None:
    """Two distributions claim the same files."""
    overlap = _overlap(on)
    if overlap is None or not has_nvidia(on.facts):
        return None
    return Problem(f"{' and '.join(overlap.packages)} are both installed and overwrite each other's files.")
