"""Questions about llama.cpp: whose GPUs it could use here, and which of its backends are for them."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import Facts
from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.maybe import known, present
from gpudoctor.queries.gpus import nvidia_gpus, programs_open
from gpudoctor.queries.intel import driven
from gpudoctor.targets import gpus_of, in_container


def installed(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where llama.cpp is installed, and a GPU that programs can use."""
    if isinstance(facts.llama_cpp.program, str) and vendors(facts):
        yield MACHINE, facts


def vendors(facts: Facts) -> tuple[str, ...]:
    """Whose GPUs programs can use here.

    Raises:
        UnknownFactError: whether programs can open the GPUs is unknown.
    """
    found = {
        "nvidia": bool(nvidia_gpus(facts)) and known(programs_open(facts, "nvidia")),
        "amd": bool(gpus_of(facts, "amd")) and known(programs_open(facts, "amd")),
        # A container sees the host's bus, but none of the nodes that were not passed to it.
        "intel": bool(driven(facts)) and (not in_container(facts) or bool(known(facts.intel.render))),
    }
    return tuple(vendor for vendor, usable in found.items() if usable)


def with_vulkan(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where llama.cpp is installed, and a GPU that programs can use with Vulkan."""
    if isinstance(facts.llama_cpp.program, str) and vulkan_vendors(facts):
        yield MACHINE, facts


def vulkan_vendors(facts: Facts) -> tuple[str, ...]:
    """Whose GPUs programs can use here with Vulkan: AMD's driver for it opens the render node, not /dev/kfd.

    Raises:
        UnknownFactError: whether programs can open the GPUs is unknown.
    """
    opens = bool(gpus_of(facts, "amd")) and any(node.error is None for node in known(facts.amd.render))
    others = tuple(vendor for vendor in vendors(facts) if vendor != "amd")
    return (*others, "amd") if opens else others


def for_these_gpus(facts: Facts) -> tuple[GgmlBackend, ...]:
    """The backends of llama.cpp that are for a GPU of this machine.

    Raises:
        UnknownFactError: the backends, or whether programs can open the GPUs, are unknown.
    """
    from gpudoctor.knowledge.llama_cpp import table  # most machines have no llama.cpp

    rows, here = table().backend, vendors(facts)
    return tuple(
        one for one in known(facts.llama_cpp.backends) if one.kind in rows and rows[one.kind].vendor in ("", *here)
    )


def lacking(facts: Facts) -> GgmlBackend | None:
    """The backend without which llama.cpp does not start, or leaves every GPU idle; None: it lacks nothing."""
    ours = for_these_gpus(facts)
    broken = sorted((one for one in ours if one.missing), key=lambda one: not one.linked)
    if not broken or (not broken[0].linked and len(broken) < len(ours)):
        return None
    return broken[0]


def name_of(facts: Facts) -> str:
    """For people: "llama.cpp (/usr/bin/llama-server)"."""
    program = present(facts.llama_cpp.program)
    return f"{program.rpartition('/')[2].partition('-')[0]}.cpp ({program})"
