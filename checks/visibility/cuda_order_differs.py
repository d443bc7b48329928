"""CUDA orders the GPUs differently from nvidia-smi, so a mask selects another GPU than was meant."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.variables import assign
from gpudoctor.maybe import known
from gpudoctor.queries.driver import several_gpus
from gpudoctor.queries.visibility import CUDA
from gpudoctor.targets import gpu_name, gpus_of
from gpudoctor.tasks import filtered, query

ORDER = "CUDA_DEVICE_ORDER"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    meant = ",".join(str(g.uuid) for g in _meant(facts) if isinstance(g.uuid, str))
    same = assign(
        ORDER,
        "PCI_BUS_ID",
        "Let CUDA number the GPUs as nvidia-smi does.",
        filtered(query("env"), query("grep", ORDER)),
    )
    return same, assign(CUDA, meant, "Name the GPUs by their UUIDs (nvidia-smi -L), which never change.")


def _meant(facts: Facts) -> list[Gpu]:
    """The GPUs that nvidia-smi shows under the mask's numbers; none where the mask is not made of numbers."""
    entries = [number_of(entry.strip()) for entry in facts.host.environment.get(CUDA, "").split(",")]
    by_index = {g.index: g for g in gpus_of(facts, "nvidia")}
    meant = [by_index[entry] for entry in entries if entry in by_index]
    return meant if len(meant) == len(entries) else []


@check(
    title="CUDA and nvidia-smi number the GPUs differently",
    severity=Severity.ADVICE,
    cause="CUDA numbers the GPUs from the fastest on, nvidia-smi by PCI bus. On a machine with different GPUs the "
    "same number then means different ones.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html",),
    targets=several_gpus,
    caused_by=("visibility.cuda-duplicates",),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
    vendor="nvidia",
)
def cuda_order_differs(facts: Facts) -> Problem | None:
    """The UUIDs of what CUDA shows under the mask, against those that NVML has under the mask's numbers."""
    meant = _meant(facts)
    if not meant or facts.host.environment.get(ORDER) == "PCI_BUS_ID":
        return None
    if len({g.name for g in gpus_of(facts, "nvidia")}) < 2 or any(g.mig is True for g in meant):
        return None
    devices = known(facts.nvidia.cuda.devices)
    by_uuid = {g.uuid: g for g in gpus_of(facts, "nvidia") if isinstance(g.uuid, str)}
    for gpu, device in zip(meant, devices, strict=False):
        taken = by_uuid.get(device.uuid) if isinstance(device.uuid, str) else None
        if taken is not None and known(gpu.uuid) != taken.uuid:
            message = f"{CUDA}={facts.host.environment[CUDA]} selects {gpu_name(taken)}, not {gpu_name(gpu)}."
            return Problem(message, (f"{CUDA}={facts.host.environment[CUDA]}", f"{ORDER} is not PCI_BUS_ID"))
    return None
