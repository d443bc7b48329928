"""ECC is off on a GPU whose memory has it at no cost."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.reset import reset
from gpudoctor.knowledge.generations import has_hbm
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import virtual
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    command = ("nvidia-smi", "-i", on.gpu.index, "-e")
    switch = Fix(
        "Enable ECC; it takes effect after a GPU reset or a reboot.",
        (as_root(*command, 1), *reset(on.facts, on.gpu.index)),
        "reset-gpu",
        root=True,
        needs="reboot",
        undo=(as_root(*command, 0),),
        verify=query("nvidia-smi", "-i", on.gpu.index, "--query-gpu=ecc.mode.current", "--format=csv"),
    )
    return (switch,)


@check(
    title="ECC is off on a data center GPU",
    severity=Severity.ADVICE,
    cause="Without ECC a flipped bit in the GPU's memory is neither corrected nor noticed, and broken rows are not "
    "replaced: results are silently wrong. On GPUs with HBM, ECC costs neither memory nor speed.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.needs-reset", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def ecc_off(on: OnGpu) -> str | None:
    """Off now and after the next reset; a virtual GPU's ECC is up to its host."""
    if known(on.gpu.ecc) is not False:
        return None
    if not has_hbm(known(on.gpu.capability)) or virtual(on.facts, on.gpu) or known(on.gpu.ecc_pending) is True:
        return None
    return f"ECC is off on {gpu_name(on.gpu)}: memory errors go unnoticed."
