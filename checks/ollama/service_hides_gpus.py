"""A service whose CUDA_VISIBLE_DEVICES names GPUs that are not there."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.ollama import with_variable
from gpudoctor.maybe import present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.ollama import installed, setting
from gpudoctor.queries.visibility import CUDA, read_cuda


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    path = present(setting(facts, CUDA)).path
    message = f"Start Ollama without {CUDA}, or name the GPUs there as `nvidia-smi -L` does; it is set in {path}"
    return (with_variable(facts, CUDA, None, message),)


@check(
    title="Ollama's service does not see all its GPUs: CUDA_VISIBLE_DEVICES names one that is not there",
    severity=Severity.WARNING,
    cause="Ollama's server takes CUDA_VISIBLE_DEVICES from its systemd unit. CUDA reads it up to the first entry that "
    "no GPU has, and ignores the rest: after another card was put in, or the order changed, that may be the first. "
    "-1 is the documented way to leave the GPUs alone.",
    fixes=_fixes,
    references=("https://github.com/ollama/ollama/issues/13498", "https://docs.ollama.com/gpu"),
    targets=installed,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def service_hides_gpus(facts: Facts) -> Problem | None:
    """The variable in the service's files, against the GPUs that NVML lists; that of a shell is another check's."""
    named, gpus = setting(facts, CUDA), nvidia_gpus(facts)
    if named is None or not named.path or not gpus or "MIG-" in named.value or any(g.mig is True for g in gpus):
        return None
    mask = read_cuda(facts, named.value)
    if mask.bad is None or mask.why == "negative":
        return None
    left = f"{len(mask.visible)} of {len(gpus)} GPUs" if mask.visible else "no GPU"
    return Problem(
        f"{named.path} starts Ollama with {CUDA}={named.value}: {mask.bad} is no GPU of this machine, so Ollama sees "
        f"{left}."
    )
