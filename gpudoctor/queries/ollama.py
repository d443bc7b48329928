"""Questions about Ollama."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import Facts
from gpudoctor.facts.ollama import OllamaSetting
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import nvidia_gpus, programs_open
from gpudoctor.queries.intel import discrete, driven
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import cards_of, gpus_of


def installed(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where Ollama is installed, and a GPU that programs can use and that Ollama knows."""
    if isinstance(facts.ollama.program, str) and wanted_backend(facts):
        yield MACHINE, facts


def on_amd(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where Ollama has its library for ROCm and GPUs of AMD's alone, which programs can open."""
    if not isinstance(facts.ollama.program, str) or not gpus_of(facts, "amd") or cards_of(facts, "nvidia"):
        return
    if "hip" in known(facts.ollama.backends) and known(programs_open(facts, "amd")):
        yield MACHINE, facts


def on_intel(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with Ollama where an Intel card of its own is driven, and no other vendor's is there."""
    others = cards_of(facts, "nvidia") or any(card.integrated is not True for card in cards_of(facts, "amd"))
    if isinstance(facts.ollama.program, str) and not others and set(discrete(facts)) & set(driven(facts)):
        yield MACHINE, facts


def wanted_backend(facts: Facts) -> str | None:
    """The library that Ollama needs here, as ggml names it; NVIDIA's GPUs go first. None: no GPU works.

    AMD's count where KFD lists them and Ollama's build is for their gfx target.

    Raises:
        UnknownFactError: whether programs can open the GPUs is unknown.
    """
    if bool(nvidia_gpus(facts)) and known(programs_open(facts, "nvidia")):
        return "cuda"
    supported = any(gpu.gfx in ollama().gfx for gpu in gpus_of(facts, "amd"))
    return "hip" if supported and known(programs_open(facts, "amd")) else None


def setting(facts: Facts, name: str) -> OllamaSetting | None:
    """A variable that Ollama's server starts with; None: it is not set.

    Raises:
        UnknownFactError: the service's files could not be read.
    """
    return next((one for one in known(facts.ollama.settings) if one.name == name), None)


def is_since(facts: Facts, first: str) -> bool:
    """Whether the installed Ollama is this release or a newer one.

    Raises:
        UnknownFactError: its release is not known.
    """
    release = known(facts.ollama.release)
    return release is not None and numbers(release) >= numbers(first)
