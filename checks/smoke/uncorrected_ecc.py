"""ECC could not correct memory errors during the tests."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.reset import reset
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.queries.smoke import OnDevice, called, growth, many, smoke_gpus
from gpudoctor.queries.smoke.cause_groups import MEMORY
from gpudoctor.tasks import query


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    if on.gpu.vendor == "amd":
        look = Fix("See the card's error counters.", (query("amd-smi", "metric", "--ecc"),), impact="none")
    else:
        command = query("nvidia-smi", "-q", "-d", "ECC,ROW_REMAPPER", "-i", on.gpu.index)
        look = Fix("See the card's error counters.", (command,), impact="none")
    message = "Stop all programs on the GPU and reset it; if it happens again, have the card replaced (RMA)."
    commands = reset(on.facts, on.gpu.index) if on.gpu.vendor == "nvidia" else ()
    return look, Fix(message, commands, "reset-gpu", root=True, verify=on_gpu(on.gpu, "stress", "bandwidth"))


@check(
    title="Uncorrectable ECC errors during the tests",
    severity=Severity.ERROR,
    cause="ECC detected multi-bit errors while the tests ran. Programs that read them are killed, or compute with "
    "wrong numbers.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",),
    targets=smoke_gpus,
    caused_by=MEMORY,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def uncorrected_ecc(on: OnDevice) -> Problem | None:
    """How much the counter grew."""
    number, tests = growth(on.tests, "ecc_uncorrected")
    if not number:
        return None
    where = ", ".join(dict.fromkeys(called(test) for test in tests))
    return Problem(f"{on.name} had {many(number, 'uncorrectable memory error')} during the tests ({where}).")
