"""Whether anything on this machine is there to compute on NVIDIA's GPUs; desktops and laptops may do without."""

from gpudoctor.check_engine import Problem, Severity
from gpudoctor.facts import Facts
from gpudoctor.targets import asks_for_nvidia


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
