"""Groups of like hardware, and where a node belongs that lost a part of it."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from gpudoctor.fleet.aggregate.inventory_facts import Hardware
from gpudoctor.fleet.aggregate.inventory_sections import InventorySection

# A group that is at most this share of another one's size, and lacks GPUs that the other has, is that one's with GPUs
# lost: told as nodes that depart, and not as machines of another kind.
_SHARE, _LEAST = 0.25, 3
# Who lacks half of them or more, and is another product, a cloud's instance or a container, was made with fewer.
_HALF = 2


class Kind(NamedTuple):
    """What a node is as hardware, as its report tells it."""

    hardware: Hardware
    architecture: str
    product: str
    platform: str


class Body(NamedTuple):
    """Nodes of one label and architecture, before lost GPUs are thought of."""

    label: str
    architecture: str


def kind(machine: InventorySection, gpus: InventorySection, classes: tuple[int, int]) -> Kind:
    """What nodes of a class of machines and a class of GPUs are."""
    hardware = gpus.value(classes[1], "hardware")
    texts = (machine.value(classes[0], f"host.{name}") for name in ("architecture", "product", "platform"))
    found = [text if isinstance(text, str) else "" for text in texts]
    return Kind(hardware if isinstance(hardware, Hardware) else Hardware(0, (), "various GPUs"), *found)


def body(kind: Kind) -> Body:
    """The label and the architecture by which figures are kept."""
    return Body(kind.hardware.label, kind.architecture)


def groups(kinds: Mapping[Kind, int]) -> dict[Body, str]:
    """The group of each body: its own label, or that of the group that it is a part of.

    Args:
        kinds: how many nodes are of each.
    """
    sizes: Counter[Body] = Counter()
    most: dict[Body, Counter[Kind]] = defaultdict(Counter)
    for one, count in kinds.items():
        sizes[body(one)] += count
        most[body(one)][one] += count
    usual = {each: min(counts, key=lambda one: (-counts[one], one)) for each, counts in most.items()}
    found = {}
    many = [large for large, size in sizes.items() if size >= _LEAST]
    for small in sizes:
        larger = [large for large in many if _belongs(usual[small], sizes[small], usual[large], sizes[large])]
        best = min(larger, key=lambda large: (-sizes[large], large)) if larger else small
        found[small] = label(best)
    return found


def label(body: Body) -> str:
    """What a body is called where it is a group of its own."""
    return body.label if body.architecture in ("", "x86_64") else f"{body.label}, {body.architecture}"


def _belongs(small: Kind, few: int, large: Kind, many: int) -> bool:
    """Whether the small group is the large one with GPUs lost."""
    if few > many * _SHARE or small.architecture != large.architecture:
        return False
    if small.hardware.number >= large.hardware.number:
        return False
    if small.hardware.names:
        return small.hardware.names == large.hardware.names and not _smaller(small, large)
    same = bool(small.product) and small.product == large.product
    # Clouds give all of their machines one product, with GPUs and without: there it says nothing.
    return same and (small.hardware.silent or small.platform == "bare")


def _smaller(small: Kind, large: Kind) -> bool:
    """Whether a machine with fewer of the same GPUs was made so: a smaller model, instance or container."""
    if _HALF * small.hardware.number > large.hardware.number:
        return False
    other = bool(small.product and large.product) and small.product != large.product
    return other or small.platform != large.platform or small.platform not in ("", "bare")
