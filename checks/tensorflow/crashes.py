"""TensorFlow whose process dies of a signal."""

from functools import partial

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.remedies.python import install
from gpudoctor.subjects import OnLive, lives
from gpudoctor.views.frameworks import crash
from gpudoctor.views.packages import release
from gpudoctor.views.reasons import SYSTEM


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    name, version = on.framework.distribution or "tensorflow", on.framework.version
    spec = f"{name}=={release(version)}" if isinstance(version, str) and version else name
    return (Fix("Install it again with what it needs.", (install(on.python, spec, force=True),), "reinstall-package"),)


@check(
    title="TensorFlow crashes",
    severity=Severity.ERROR,
    cause="A library of another version, or a damaged one, is loaded into the process, or the driver fails under it.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/faulthandler.html",),
    each=partial(lives, name="tensorflow"),
    because=(
        *SYSTEM,
        "python.*",
        "python.numpy-2",
        "libraries.*",
        "packages.*",
        "host.*",
        "tensorflow.cpu-build",
        "tensorflow.libraries-missing",
        "tensorflow.libraries-not-found",
        "tensorflow.wrong-cuda-major",
        "tensorflow.cudnn-too-old",
        "tensorflow.arch-missing",
        "tensorflow.placeholder",
        "tensorflow.several-packages",
    ),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def crashes(on: OnLive) -> Problem | None:
    """The child died of a signal."""
    says = crash(on.name, on.live)
    tail = tuple(line for line in on.live.stderr.splitlines() if line.strip())[-6:]
    return Problem(says, evidence=tail) if says else None
