"""Confidential computing is on, and the GPUs are not set ready."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.fabric import is_confidential_guest, joined
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.driver import CUDA_NOT_READY, own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.tasks import as_root, query

_FIXES = (
    Fix(
        "Attest the GPUs (NVIDIA's attestation tool sets them ready itself), or set them ready where no attestation "
        "is required.",
        (query("nvidia-smi", "conf-compute", "-grs"), as_root("nvidia-smi", "conf-compute", "-srs", "1")),
        "change-environment",
        root=True,
        undo=(as_root("nvidia-smi", "conf-compute", "-srs", "0"),),
        verify=query("nvidia-smi", "conf-compute", "-grs"),
    ),
)


@check(
    title="GPUs not in ready state (confidential computing)",
    severity=Severity.ERROR,
    cause="In confidential computing mode, and with protected PCIe (PPCIE), GPUs accept no work until they have been "
    "attested and set ready; until then cuInit fails, although nvidia-smi looks healthy.",
    fixes=_FIXES,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/api/group__nvmlConfidentialComputingDefs.html",
        "https://docs.nvidia.com/deploy/nvml-api/api/structnvmlSystemConfComputeSettings__v1__t.html",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
        "https://github.com/NVIDIA/nvtrust/issues/128",
        "https://github.com/NVIDIA/nvrc/issues/159",
    ),
    targets=own_kernel,
    caused_by=("device.fallen-off-the-bus", "driver.library-mismatch"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def confidential_not_ready(facts: Facts) -> Problem | str | None:
    """Where CUDA fails: the mode is on, and the GPUs accept no work."""
    code = known(facts.nvidia.cuda.code)
    if code in (0, None):
        return None
    if isinstance(facts.nvidia.nvml.confidential, Unknown) and code == CUDA_NOT_READY:
        return _by_the_guest(facts) or known(facts.nvidia.nvml.confidential)
    if not known(facts.nvidia.nvml.confidential) or known(facts.nvidia.nvml.accepts_work) is not False:
        return None
    return f"Confidential computing is on and the GPUs are not set ready, so CUDA cannot start (cuInit {code})."


def _by_the_guest(facts: Facts) -> Problem | None:
    """An NVML that does not know the mode: nothing else makes a lone GPU of a confidential guest wait."""
    known(facts.log.events)
    if not is_confidential_guest(facts) or events(facts, "uvm-hmm"):
        return None
    where = "in a confidential virtual machine without NVSwitch: the GPU is"
    if joined(facts):
        where = "in a confidential virtual machine, and every GPU has joined the NVLink fabric: the GPUs are"
    return Problem(f"cuInit returns 802 {where} not set ready.", texts(events(facts, "confidential-guest")))
