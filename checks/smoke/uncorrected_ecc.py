"""Memory errors came up during the tests that ECC could not correct."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.queries.smoke import OnDevice, called, growth, many, smoke_gpus
from gpudoctor.queries.smoke_cause_groups import MEMORY
from gpudoctor.tasks import as_root, query


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    if on.gpu.vendor == "amd":
        look = Fix("See which errors the card has counted.", (query("amd-smi", "metric", "--ecc"),), impact="none")
    else:
        command = query("nvidia-smi", "-q", "-d", "ECC,ROW_REMAPPER", "-i", on.gpu.index)
        look = Fix("See which errors the card has counted.", (command,), impact="none")
    reset = as_root("nvidia-smi", "--gpu-reset", "-i", on.gpu.index)
    message = "Stop all programs on the GPU and reset it; if it comes back, have the card replaced (RMA)."
    commands = (reset,) if on.gpu.vendor == "nvidia" else ()
    return look, Fix(message, commands, "reset-gpu", root=True, verify=on_gpu(on.gpu, "stress", "bandwidth"))


@check(
    title="Memory errors that could not be corrected came up during the tests",
    severity=Severity.ERROR,
    cause="ECC found errors of more than one bit while the tests ran. Programs that read them are ended, or compute "
    "with wrong numbers.",
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
    return Problem(f"{on.name} met {many(number, 'uncorrectable memory error')} during the tests ({where}).")
