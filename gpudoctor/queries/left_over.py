"""NVIDIA's packages on a machine whose GPU is another vendor's."""

from gpudoctor.facts import Facts
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.queries.intel import discrete
from gpudoctor.queries.kernel_log import events
from gpudoctor.targets import cards_of


def left_over(facts: Facts) -> bool:
    """Whether a discrete GPU of another vendor is driven here, and neither bus, log nor a framework has NVIDIA's.

    An integrated GPU says nothing: next to it, the NVIDIA card may be what is missing.
    """
    amd = any(card.integrated is False and card.driver == "amdgpu" for card in cards_of(facts, "amd"))
    driven = amd or any(card.driver in ("i915", "xe") for card in discrete(facts))
    laptop = facts.host.platform == "laptop"  # whose NVIDIA GPU is switched off, or cut from power
    asked = has_cuda_wheel(facts) or bool(events(facts, "fallen-off-bus", "xid"))
    return driven and not laptop and not asked and not cards_of(facts, "nvidia")
