"""cuInit fails with an error that nothing else explains: no CUDA program works."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.knowledge.errors import cuda_error as meaning_of
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import FABRIC, HANGS, MASKS, NODES, NOT_LOADED, SURROUNDINGS, VERSIONS
from gpudoctor.queries.driver import CUDA_NO_DEVICE, CUDA_OPERATING_SYSTEM
from gpudoctor.queries.wanted import left_off, left_over
from gpudoctor.targets import in_container, nvidia_machine
from gpudoctor.tasks import cmd, filtered, query
from gpudoctor.tasks.placeholders import REST

_FIX = Fix(
    "Check the output of nvidia-smi and the kernel log; a bug report to NVIDIA needs this state.",
    (
        query("nvidia-smi"),
        filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|Xid|nvidia"), query("tail", "-n", "30")),
        query("nvidia-bug-report.sh", root=True),
    ),
)
_REFUSED = Fix(
    "On the host, update the container engine and libseccomp: an older seccomp profile refuses system calls of a newer "
    "image. To confirm that, start one container without the profile.",
    (cmd("docker", "run", "--security-opt", "seccomp=unconfined", "--gpus", "all", REST),),
    "restart-process",
    needs="a new container",
    place="outside",
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    filtered_calls = facts.nvidia.cuda.code == CUDA_OPERATING_SYSTEM and facts.host.seccomp is True
    return (_REFUSED, _FIX) if filtered_calls and in_container(facts) else (_FIX,)


@check(
    title="CUDA does not start: cuInit fails",
    severity=Severity.ERROR,
    cause="Every CUDA program calls cuInit first; if it fails, PyTorch, TensorFlow, JAX and all others fail too.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html",),
    targets=nvidia_machine,
    caused_by=(
        *NOT_LOADED,
        *VERSIONS,
        *NODES,
        *HANGS,
        *SURROUNDINGS,
        "driver.nvml-error",
        "wsl.no-gpu-listed",
        "host.address-space-limit",
        "driver.mps-unreachable",
        "driver.no-devices",
        "driver.gpus-missing",
        "driver.hmm-without-room",
        "driver.kernel-without-sva",
        "device.exclusive-mode",
        "device.prohibited-mode",
        "device.vgpu-unlicensed",
        "device.confidential-not-ready",
        "device.xid-hardware",
        "device.xid-driver",
        "device.nvlink-fault",
        "device.ecc-uncorrected",
        "device.row-remap-failed",
        "device.hidden-but-sick",
        "mig.no-instances",
        *FABRIC,
        *MASKS,
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
    essential=True,
)
def cuda_error(facts: Facts) -> Problem | None:
    """The result of cuInit under the user's own mask; a mask that hides all GPUs is not the driver's fault."""
    cuda = facts.nvidia.cuda
    code = known(cuda.code)
    if code is None or code == 0 or (code == CUDA_NO_DEVICE and cuda.unmasked_code == 0):
        return None
    if left_over(facts):
        return None  # device.none reports the packages
    found = meaning_of(code)
    usual = f"Usual causes of this error: {found.causes}." if found and found.causes else None
    name = known_or(cuda.name, None) or (found.name if found else "unknown")
    text = known_or(cuda.text, None) or (found.meaning if found else "")
    message = f"cuInit returns {code} ({name}: {text})."
    return Problem(message, _evidence(facts), usual, severity=Severity.WARNING if left_off(facts) else None)


def _evidence(facts: Facts) -> tuple[str, ...]:
    code, path = known_or(facts.nvidia.nvml.code, None), known_or(facts.nvidia.cuda.loaded, None)
    module = known_or(facts.nvidia.kernel.loaded, "unknown") or "not loaded"
    lines = (f"NVML: {code}" if code is not None else "", f"module: {module}", f"libcuda: {path}" if path else "")
    return tuple(line for line in lines if line)
