"""A hot GPU whose fans are meant to stand still."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import mobile
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import cmd, query

# Cards let their fans stand still up to some 60 degrees C on purpose (zero RPM); at this heat all of them turn.
_HOT = 78


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    index = on.gpu.index
    back = Fix(
        "Give the fans back to the card: end the program that controls them (GreenWithEnvy, CoolerControl, a script), "
        "and switch nvidia-settings' own control off.",
        (cmd("nvidia-settings", "-a", f"[gpu:{index}]/GPUFanControlState=0"),),
        "change-environment",
        undo=(cmd("nvidia-settings", "-a", f"[gpu:{index}]/GPUFanControlState=1"),),
        verify=query("nvidia-smi", "-i", index, "--query-gpu=temperature.gpu,fan.speed", "--format=csv"),
    )
    message = (
        "If nobody controls them: shut down, look whether cables block the fans and their plug is in; else the card's "
        "fan control is broken."
    )
    return (back, Fix(message, (), "replace-hardware", impact="none"))


@check(
    title="A hot GPU's fans are off",
    severity=Severity.WARNING,
    cause="The card's fans are set to 0 per cent although the GPU is hot: a program took over their control and left "
    "it, or the control has failed. The GPU slows down, and switches off in the end.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fans_stopped(on: OnGpu) -> Problem | None:
    """All fans at 0 per cent and much heat; a laptop's embedded controller turns fans of which NVML knows nothing."""
    heat = known(on.gpu.temperature)
    if heat is None or heat < _HOT or mobile(on.facts, on.gpu):
        return None
    fans = known(on.gpu.fans)
    if not fans or any(fans):
        return None
    return Problem(f"{gpu_name(on.gpu)} is at {heat} degrees C, and its fans are set to 0 per cent.")
