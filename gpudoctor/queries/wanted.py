"""Whether NVIDIA's GPU is wanted here: packages that are left over, and a GPU that was switched off on purpose."""

from gpudoctor.check_engine import Problem, Severity
from gpudoctor.facts import Facts
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.queries.intel import discrete
from gpudoctor.queries.kernel_log import events
from gpudoctor.targets import asks_for_nvidia, cards_of


def left_over(facts: Facts) -> bool:
    """Whether a discrete GPU of another vendor is driven here, and neither bus, log nor a framework has NVIDIA's.

    An integrated GPU says nothing: next to it, the NVIDIA card may be what is missing.
    """
    amd = any(card.integrated is False and card.driver == "amdgpu" for card in cards_of(facts, "amd"))
    driven = amd or any(card.driver in ("i915", "xe") for card in discrete(facts))
    laptop = facts.host.platform == "laptop"  # whose NVIDIA GPU is switched off, or cut from power
    asked = has_cuda_wheel(facts) or bool(events(facts, "fallen-off-bus", "xid"))
    return driven and not laptop and not asked and not cards_of(facts, "nvidia")


def cuda_wanted(facts: Facts) -> bool:
    """Whether a framework, a program, or a container's tools for GPUs are here; what is unknown counts.

    A server is there to compute, whatever is installed yet.
    """
    if facts.host.platform not in ("laptop", "bare"):
        return True
    programs = facts.ollama.program, facts.llama_cpp.program, facts.containers.toolkit
    found = any(p.frameworks for p in facts.pythons) or any(program is not None for program in programs)
    return found or facts.toolkits.nvccs != () or asks_for_nvidia(facts)


def left_off(facts: Facts) -> bool:
    """Whether a laptop's switch keeps the driver away and nothing needs it: what follows is no worse."""
    kernel = facts.nvidia.kernel
    switched = kernel.prime == "intel" or isinstance(kernel.switch, str) or kernel.bbswitch == "OFF"
    return switched and kernel.loaded is None and not cuda_wanted(facts)


def chosen(facts: Facts, message: str, evidence: tuple[str, ...] = ()) -> Problem:
    """A problem that the machine's user may have chosen: no error where nothing needs the GPU."""
    if cuda_wanted(facts):
        return Problem(message, evidence)
    fine = "That is fine as long as nothing is to compute on it: no framework or other program for CUDA was found."
    return Problem(f"{message} {fine}", evidence, severity=Severity.WARNING)
