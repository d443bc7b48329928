"""A hot GPU whose fans are off."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import mobile
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import cmd, query

# Cards stop their fans up to some 60 degrees C on purpose (zero RPM); at this temperature all of them spin.
_HOT = 78


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    index = on.gpu.index
    back = Fix(
        "Give fan control back to the card: stop the program that controls the fans (GreenWithEnvy, CoolerControl, "
        "a script), and disable fan control in nvidia-settings.",
        (cmd("nvidia-settings", "-a", f"[gpu:{index}]/GPUFanControlState=0"),),
        "change-environment",
        undo=(cmd("nvidia-settings", "-a", f"[gpu:{index}]/GPUFanControlState=1"),),
        verify=query("nvidia-smi", "-i", index, "--query-gpu=temperature.gpu,fan.speed", "--format=csv"),
    )
    message = (
        "If no program controls them: shut down, check whether cables block the fans and whether they are plugged "
        "in; otherwise the card's fan control is broken."
    )
    return (back, Fix(message, (), "replace-hardware", impact="none"))


@check(
    title="Hot GPU with its fans off",
    severity=Severity.WARNING,
    cause="The card's fans are set to 0% although the GPU is hot: a program took over their control and did not give "
    "it back, or the control has failed. The GPU throttles, and finally shuts down.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fans_stopped(on: OnGpu) -> Problem | None:
    """All fans at 0% and a hot GPU; a laptop's embedded controller runs fans that NVML does not see."""
    heat = known(on.gpu.temperature)
    if heat is None or heat < _HOT or mobile(on.facts, on.gpu):
        return None
    fans = known(on.gpu.fans)
    if not fans or any(fans):
        return None
    return Problem(f"{gpu_name(on.gpu)} is at {heat} degrees C, and its fans are set to 0%.")
