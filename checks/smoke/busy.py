"""Other processes used the GPU, so speeds were not judged."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.smoke import OnDevice, smoke_gpus
from gpudoctor.queries.smoke.speed import busy as is_busy
from gpudoctor.tasks import cmd


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    look = cmd("amd-smi", "process") if on.gpu.vendor == "amd" else cmd("nvidia-smi", "-i", on.gpu.index)
    message = "Run the tests again when no other process uses the GPU."
    return (Fix(message, (look,), impact="none", verify=on_gpu(on.gpu)),)


@check(
    title="GPU was busy during the tests: speed not judged",
    severity=Severity.ADVICE,
    cause="A GPU that other processes use is slow through no fault of its own. The correctness of its numbers was "
    "checked anyway.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=smoke_gpus,
    caused_by=("health.stuck-process",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def busy(on: OnDevice) -> Problem | None:
    """Processes and utilization before the tests."""
    found = [run for run in on.runs if is_busy(run)]
    if not found:
        for run in on.runs:
            known(run.others)
            known(run.utilization)
        return None
    others = max(known_or(run.others, None) or 0 for run in found)
    used = max(known_or(run.utilization, None) or 0 for run in found)
    parts = [f"{others} other process{'es' * (others > 1)} ran on it" if others else ""]
    parts += [f"it was {used}% busy" if used else ""]
    return Problem(f"{on.name} was in use before the tests: {' and '.join(filter(None, parts))}.")
