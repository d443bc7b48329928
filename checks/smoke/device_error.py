"""The GPU's context died under a test."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import hardware
from gpudoctor.queries.cause_groups import SYSTEM
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke_cause_groups import MEMORY


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    return hardware(on.facts, on.run, on.gpu)


@check(
    title="The GPU reported an error that ended all work of the process",
    severity=Severity.ERROR,
    cause="A kernel touched memory that is not its own, met memory errors, or the hardware failed: the driver ends "
    "the context, and every further call fails. The kernels of these tests are sound, so look at card and driver.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html",
        "https://docs.nvidia.com/deploy/xid-errors/index.html",
    ),
    targets=smoke_runs,
    caused_by=(
        *SYSTEM,
        *MEMORY,
        "health.overheated",
        "smoke.uncorrected-ecc",
        "pytorch.arch-missing",
        "cupy.arch-missing",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def device_error(on: OnRun) -> Problem | None:
    """Errors after which nothing works in this process."""
    tests = [t for t in ended(on.run, "failed") if t.error == "device-error"]
    if not tests and on.run.error != "device-error":
        return None
    said = tests[0].message if tests else on.run.message
    lines = said.strip().splitlines() or ["it said no more"]
    first = quoted(lines[0])
    names = ", ".join(dict.fromkeys(called(t) for t in tests)) or f"the stage {on.run.stage}"
    return Problem(sentence(f"{on.name} lost the GPU in {names}: {first}"), tuple(lines[1:4]))
