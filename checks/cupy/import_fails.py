"""CuPy that does not import."""

from functools import partial

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import import_errors
from gpudoctor.remedies.proofs import framework_proof
from gpudoctor.remedies.python import install, manager_of
from gpudoctor.subjects import OnLive, lives
from gpudoctor.views.frameworks import import_failure
from gpudoctor.views.packages import release


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    hint, proof = import_errors.hint(on.live.import_error or ""), framework_proof(on.python, on.framework.name)
    first = (Fix(hint.fix, action="reinstall-package", verify=proof),) if hint and hint.fix else ()
    name, version = on.framework.distribution or "cupy", on.framework.version
    spec = f"{name}=={release(version)}" if isinstance(version, str) and version else name
    says = f"Install it again with what it needs, by {manager_of(on.python)}."
    return (*first, Fix(says, (install(on.python, spec, force=True),), "reinstall-package", verify=proof))


@check(
    title="CuPy does not import",
    severity=Severity.ERROR,
    cause="One of its libraries, or of the packages that it needs, is missing, damaged or of another version.",
    fixes=_fixes,
    references=("https://docs.cupy.dev/en/stable/install.html",),
    each=partial(lives, name="cupy"),
    because=(
        "python.*",
        "libraries.*",
        "packages.*",
        "host.*",
        "cupy.several-packages",
        "cupy.wrong-cuda-major",
        "cupy.headers-missing",
        "cupy.nvrtc-missing",
        "cupy.driver-too-old",
        "cupy.arch-missing",
    ),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """The import raises."""
    says = import_failure(on.name, on.live)
    if says is None:
        return None
    hint = import_errors.hint(on.live.import_error or "")
    return Problem(says, evidence=(str(on.live.import_error)[:1500],), cause=hint.cause if hint else None)
