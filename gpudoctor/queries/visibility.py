"""Which GPUs the environment's masks leave visible, from the facts."""

import msgspec

from gpudoctor.check_engine import Problem, Severity
from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import Unknown, known, phrase, phrases
from gpudoctor.parsers.visible_devices import Mask, cuda, hip, listed, rocr
from gpudoctor.targets import gpus_of

CUDA, HIP, ROCR = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
WRONG = {
    "index": "GPU {bad} does not exist",
    "uuid": "no GPU has a UUID that starts with {bad}",
    "ambiguous": "several GPUs have a UUID that starts with {bad}",
    "malformed": "{bad} is neither an index nor a UUID",
    "negative": "{bad} ends the list",
    "twice": "{bad} is listed twice, which hides all GPUs",
}


# -- NVIDIA --------------------------------------------------------------------------------------------------


def cuda_problem(facts: Facts, *whys: str) -> Problem | None:
    """Judge CUDA_VISIBLE_DEVICES: ERROR where it hides every GPU, WARNING where it hides some by mistake.

    Args:
        facts: the machine's.
        whys: the mistakes that the asking check is about, as in `Mask.why`.

    Raises:
        UnknownFactError: libcuda's result with or without the mask is not known.
    """
    value = facts.host.environment.get(CUDA)
    if value is None:
        return None
    if known(facts.nvidia.cuda.code) is None or known(facts.nvidia.cuda.unmasked_code) != 0:
        return None  # without the mask CUDA fails as well: another cause
    hidden = facts.nvidia.cuda.code == NO_DEVICE or known(facts.nvidia.cuda.devices) == ()
    mask = read_cuda(facts, value)
    why = mask.why or ("uuid" if "MIG-" in value else "malformed")
    if why not in whys or not (hidden or _loses(facts, mask)):
        return None
    return _hidden(facts, value, mask) if hidden else _partly(facts, value, mask)


def read_cuda(facts: Facts, value: str) -> Mask:
    """Read the mask against the GPUs that NVML lists."""
    return cuda(value, [g.uuid if isinstance(g.uuid, str) else None for g in gpus_of(facts, "nvidia")])


def _loses(facts: Facts, mask: Mask) -> bool:
    """Whether entries match no GPU; with MIG the numbers of CUDA are not those of NVML, so nothing is reported."""
    return mask.bad is not None and bool(mask.visible) and not any(g.mig is True for g in gpus_of(facts, "nvidia"))


def _hidden(facts: Facts, value: str, mask: Mask) -> Problem:
    count = _count(len(gpus_of(facts, "nvidia")))
    empty = value.strip() == ""
    what = "is an empty string" if empty else f"is {value!r}"
    reason = "" if empty or mask.why is None else f": {WRONG[mask.why].format(bad=mask.bad or 'an entry')}"
    job = facts.host.environment.get("SLURM_JOB_ID")
    slurm = phrases(phrase("SLURM_JOB_ID={}, and the job has no GPU", job)) if job_without_gpu(facts) else ()
    lines = (f"{CUDA}={value}", "cuInit: CUDA_ERROR_NO_DEVICE (100) with it, success without it")
    return Problem(
        f"{CUDA} {what}{reason}. It hides every GPU from CUDA programs; without it the driver shows {count}.",
        evidence=(*lines, *slurm),
    )


def _partly(facts: Facts, value: str, mask: Mask) -> Problem:
    wrong = WRONG[mask.why or "malformed"].format(bad=mask.bad or "an entry")
    behind = f" CUDA ignores the entries after it ({','.join(mask.lost)})." if mask.lost else ""
    count = len(gpus_of(facts, "nvidia"))
    left = f"CUDA programs see GPU {listed(mask.visible)} of the {count} here"
    return Problem(
        f"{CUDA} is {value!r}: {wrong}.{behind} {left}.", evidence=(f"{CUDA}={value}",), severity=Severity.WARNING
    )


def _count(number: int) -> str:
    return {0: "its GPUs", 1: "one GPU"}.get(number, f"{number} GPUs")


def job_without_gpu(facts: Facts) -> bool:
    """Whether this is a Slurm job to which Slurm gave no GPU."""
    env = facts.host.environment
    gpus = any(name in env for name in ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"))
    return "SLURM_JOB_ID" in env and not gpus and env.get(CUDA, "").strip() in ("", "NoDevFiles", "-1")


# -- AMD -----------------------------------------------------------------------------------------------------


class AmdMasks(msgspec.Struct, frozen=True):
    """What ROCr and then HIP leave of AMD's GPUs.

    Attributes:
        gpus: all, in KFD's order.
        rocr, hip: the values; None: not set.
        variable: the variable that HIP reads.
        first: what ROCr leaves.
        then: what HIP leaves of that.
        alone: what HIP's mask would leave of all GPUs.
    """

    gpus: tuple[Gpu, ...]
    rocr: str | None
    hip: str | None
    variable: str
    first: Mask
    then: Mask
    alone: Mask

    @property
    def visible(self) -> tuple[Gpu, ...]:
        """The GPUs that a HIP program sees."""
        left = [self.gpus[n] for n in self.first.visible]
        return tuple(left[n] for n in self.then.visible)

    @property
    def evidence(self) -> tuple[str, ...]:
        """The variables as they are set."""
        logged = ((ROCR, self.rocr), (self.variable, self.hip))
        return tuple(f"{name}={value}" for name, value in logged if value is not None)


def amd_masks(facts: Facts) -> AmdMasks | None:
    """Read the masks of ROCr and HIP; None where neither is set or KFD lists no GPU.

    HIP reads CUDA_VISIBLE_DEVICES where HIP_VISIBLE_DEVICES is not set or empty, and counts within what
    ROCR_VISIBLE_DEVICES leaves (https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html).
    """
    env, gpus = facts.host.environment, gpus_of(facts, "amd")
    variable = HIP if env.get(HIP) or CUDA not in env or gpus_of(facts, "nvidia") else CUDA
    first_value, then_value = env.get(ROCR), env.get(variable)
    if not gpus or (first_value is None and then_value is None):
        return None
    uuids = tuple(None if isinstance(g.uuid, Unknown) else g.uuid for g in gpus)
    everything = Mask(tuple(range(len(gpus))))
    first = everything if first_value is None else rocr(first_value, uuids)
    rest = tuple(uuids[n] for n in first.visible)
    then = Mask(tuple(range(len(rest)))) if then_value is None else hip(then_value, rest)
    alone = everything if then_value is None else hip(then_value, uuids)
    return AmdMasks(gpus, first_value, then_value, variable, first, then, alone)


def visible_amd(facts: Facts) -> tuple[Gpu, ...]:
    """AMD's GPUs that HIP programs see with the masks as they are."""
    masks = amd_masks(facts)
    return gpus_of(facts, "amd") if masks is None else masks.visible


def hip_numbers(facts: Facts, gpus: tuple[Gpu, ...]) -> str:
    """The numbers by which HIP's mask chooses these GPUs: it counts within what ROCr's leaves."""
    masks = amd_masks(facts)
    order = gpus_of(facts, "amd") if masks is None else tuple(masks.gpus[n] for n in masks.first.visible)
    return ",".join(str(number) for number, gpu in enumerate(order) if gpu in gpus)


def is_multiplied(masks: AmdMasks) -> bool:
    """Whether the two masks together leave fewer GPUs than HIP's alone: it counts within ROCr's."""
    return masks.rocr is not None and bool(masks.hip) and len(masks.then.visible) < len(masks.alone.visible)


def amd_wrong(mask: Mask) -> str:
    """What is wrong with a mask's entry, as text."""
    return WRONG[mask.why].format(bad=mask.bad or "an entry") if mask.why else "it matches no GPU"
