"""ECC corrected memory errors during the tests."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.queries.smoke import OnDevice, called, growth, many, smoke_gpus
from gpudoctor.queries.smoke.cause_groups import MEMORY
from gpudoctor.tasks import query


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    command = (
        query("amd-smi", "metric", "--ecc")
        if on.gpu.vendor == "amd"
        else query("nvidia-smi", "-q", "-d", "ECC", "-i", on.gpu.index)
    )
    message = (
        "Watch the counters for a few days; if they keep growing, contact the vendor before errors appear that ECC "
        "cannot correct."
    )
    return (Fix(message, (command,), "ask-vendor", impact="none", verify=on_gpu(on.gpu, "stress", "bandwidth")),)


@check(
    title="ECC corrected memory errors during the tests",
    severity=Severity.WARNING,
    cause="ECC corrected single-bit errors while the tests ran, so the numbers are right. A few in months are normal; "
    "several in seconds indicate failing memory.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",),
    targets=smoke_gpus,
    caused_by=(*MEMORY, "smoke.uncorrected-ecc"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def corrected_ecc(on: OnDevice) -> Problem | None:
    """How much the counter grew."""
    number, tests = growth(on.tests, "ecc_corrected")
    if not number:
        return None
    where = ", ".join(dict.fromkeys(called(test) for test in tests))
    return Problem(f"ECC corrected {many(number, 'memory error')} of {on.name} during the tests ({where}).")
