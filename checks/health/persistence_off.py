"""A server's driver shuts its GPUs down whenever no program uses them."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.digits import in_runs
from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.gpus import is_data_center
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import as_root, query

_UNIT = "nvidia-persistenced"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    verify = query("nvidia-smi", "--query-gpu=index,persistence_mode", "--format=csv")
    if known_or(facts.nvidia.kernel.persistence_daemon, None) is not None:
        message = "Start NVIDIA's persistence daemon now and at every boot."
        command, undo = as_root("systemctl", "enable", "--now", _UNIT), as_root("systemctl", "disable", "--now", _UNIT)
    else:
        message = "Enable persistence mode until the next reboot; the daemon nvidia-persistenced makes it permanent."
        command, undo = as_root("nvidia-smi", "-pm", "1"), as_root("nvidia-smi", "-pm", "0")
    return (Fix(message, (command,), "change-environment", root=True, undo=(undo,), verify=verify),)


def _without(facts: Facts) -> list[Gpu]:
    """The data center GPUs whose state is lost."""
    found = [g for g in gpus_of(facts, "nvidia") if g.persistence is False and is_data_center(g)]
    # A virtual GPU is up to its host, and GB10 is a desktop GPU.
    return [g for g in found if g.integrated is not True and g.virtualization != "vgpu"]


@check(
    title="Persistence mode is off on a server",
    severity=Severity.ADVICE,
    cause="Without persistence mode the driver shuts a GPU down when the last program exits: the next one waits for "
    "seconds while it initializes again, and power and clock limits and error counters are lost.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/driver-persistence/index.html",),
    targets=own_kernel,
    caused_by=("driver.not-loaded", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def persistence_off(facts: Facts) -> str | None:
    """Only data center GPUs; where the daemon runs, it keeps them whatever NVML reports; so does a program."""
    off = _without(facts)
    if not off:
        return None
    if known(facts.nvidia.kernel.persistence_daemon) == "active" or any(_kept(g) for g in off):
        return None
    which = in_runs(g.index for g in off)
    return (
        f"Persistence mode is off on GPU {which}: the first program after idle waits until the driver has "
        "initialized the GPU."
    )


def _kept(gpu: Gpu) -> bool:
    return isinstance(gpu.processes, Unknown) or bool(gpu.processes)
