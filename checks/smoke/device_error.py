"""The GPU's context died under a test."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import hardware
from gpudoctor.queries.cause_groups import SYSTEM
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke.cause_groups import MEMORY


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    return hardware(on.facts, on.run, on.gpu)


@check(
    title="GPU error killed the CUDA or HIP context",
    severity=Severity.ERROR,
    cause="A kernel accessed invalid memory, hit a memory error, or the hardware failed: the driver then destroys the "
    "context, and every further call fails. The kernels of these tests are correct, so suspect the card or the driver.",
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
    validated_on=("facts 2026-11",),
)
def device_error(on: OnRun) -> Problem | None:
    """Errors after which nothing works in the process."""
    tests = [t for t in ended(on.run, "failed") if t.error == "device-error"]
    if not tests and on.run.error != "device-error":
        return None
    text = tests[0].message if tests else on.run.message
    lines = text.strip().splitlines() or ["no error message"]
    first = quoted(lines[0])
    names = ", ".join(dict.fromkeys(called(t) for t in tests)) or f"stage {on.run.stage}"
    return Problem(sentence(f"{on.name} lost the GPU in {names}: {first}"), tuple(lines[1:4]))
