"""How the machine hangs together, as rows of a picture: NUMA nodes, root ports, switches, and devices below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor.facts import Facts, Gpu, PciDevice
from gpudoctor.maybe import Unknown, known_or, phrase
from gpudoctor.report.grouping import alike
from gpudoctor.report.model import Report
from gpudoctor.report.renderers.header import SPELLED, unlisted
from gpudoctor.targets import VENDORS

ROLES = {"switch": "NVSwitch", "network": "Network adapter"}
NARROW = ("link.narrow-pcie", "smoke.link-trained-down")
VENDOR_NAMES = {code: SPELLED.get(name, name) for name, code in VENDORS.items()}


class DrawnLink(msgspec.Struct, frozen=True):
    """A PCIe link: lanes and generation, as they are and as they could be."""

    width: int
    most: int
    generation: int
    best: int

    @property
    def words(self) -> str:
        """As a person reads it; at rest a GPU lowers its generation, which is no fault."""
        lanes = f"x{self.width}" if self.width >= self.most else f"x{self.width} of x{self.most} lanes"
        rest = f" (now {self.generation}.0)" if self.generation < self.best else ""
        return f"PCIe {self.best}.0{rest}, {lanes}"


class DrawnBox(msgspec.Struct, frozen=True):
    """One box of the picture.

    Attributes:
        depth: how many boxes it hangs below.
        kind: node, port, gpu or other.
        lines: what is written in it.
        link: to the box above; None: not known, or none.
        mark: fail, warn or advice where a finding is about it.
        used: the share of the GPU's memory that is in use; None: not known.
        linked: whether NVLink joins it with others.
    """

    depth: int
    kind: str
    lines: tuple[str, ...]
    link: DrawnLink | None = None
    mark: str = ""
    used: float | None = None
    linked: bool = False


def rows(facts: Facts, report: Report) -> list[DrawnBox]:
    """The rows from the top down; empty where there is no device to show."""
    devices = [d for d in known_or(facts.pci, ()) if d.role != "gpu" or d.vendor in VENDOR_NAMES]
    gpus: dict[object, list[Gpu]] = {}
    for gpu in known_or(facts.gpus, ()):
        gpus.setdefault(gpu.address, []).append(gpu)  # partitions of one card share its address
    elsewhere = [g for g in known_or(facts.gpus, ()) if g.address not in {d.address for d in devices}]
    if not devices and not elsewhere:
        return []
    found: list[DrawnBox] = []
    for node in sorted({_node(d) for d in devices} or {-1}):
        here = [d for d in devices if _node(d) == node]
        found.append(_memory(facts, node, here))
        found += _below(here, 1, gpus, report)
    return found + [_gpu(1, [gpu], None, report) for gpu in elsewhere]


def _node(device: PciDevice) -> int:
    return -1 if isinstance(device.numa_node, Unknown) or device.numa_node is None else device.numa_node


def _memory(facts: Facts, node: int, devices: list[PciDevice]) -> DrawnBox:
    """The processors and the memory that devices hang on."""
    cpus = next((d.local_cpus for d in devices if isinstance(d.local_cpus, str)), None)
    if node >= 0:
        return DrawnBox(0, "node", (f"NUMA node {node}", *([f"CPUs {cpus}"] if cpus else [])))
    memory = facts.host.memory
    size = [f"{memory / 2**30:.0f} GiB of memory"] if isinstance(memory, int) else []
    return DrawnBox(0, "node", ("CPUs and memory", *size))


def _below(
    devices: list[PciDevice], depth: int, gpus: Mapping[object, list[Gpu]], report: Report
) -> Iterator[DrawnBox]:
    """Root ports and switches, each once, and what hangs below them."""
    open_: tuple[str, ...] = ()
    for device in sorted(devices, key=lambda d: (_bridges(d), d.address)):
        bridges = _bridges(device)
        same = 0
        while open_[same : same + 1] and open_[same : same + 1] == bridges[same : same + 1]:
            same += 1
        for number in range(same, len(bridges)):
            name = "PCIe switch" if number else "Root port"
            yield DrawnBox(depth + number, "port", (f"{name} {bridges[number]}",))
        open_ = bridges
        yield _device(depth + len(bridges), device, gpus.get(device.address, []), report)


def _bridges(device: PciDevice) -> tuple[str, ...]:
    """The root port, and the upper port of each switch: the lower one belongs to the link below it."""
    ports = known_or(device.ports, ())
    return (*ports[:1], *ports[1::2])


def _device(depth: int, device: PciDevice, gpus: list[Gpu], report: Report) -> DrawnBox:
    if device.role != "gpu":
        name = known_or(device.name, None)
        return DrawnBox(depth, "other", (f"{ROLES.get(device.role, device.role)} {name or device.address}",))
    if gpus:
        return _gpu(depth, gpus, device, report)
    entry = next((one for one in report.gpus if one.address == device.address), None)
    name = known_or(device.name, None) or f"{VENDOR_NAMES[device.vendor]} GPU"
    status, vendor = (entry.status, entry.vendor) if entry else (None, "")
    state = "integrated" if device.integrated is True else unlisted(status, report.machine, vendor)
    link = _link(device, None)
    mark, words = marked(report, link, f"the GPU at {device.address}", f"GPU {entry.index}" if entry else "")
    lines = (name, f"{device.address}, {state}", *([link.words] if link else []), *words)
    return DrawnBox(depth, "gpu", lines, link, mark)


def _gpu(depth: int, gpus: list[Gpu], device: PciDevice | None, report: Report) -> DrawnBox:
    """A card and what is known of it; it is several GPUs where it is partitioned."""
    gpu, memory = gpus[0], _sum(gpus, "memory")
    name = known_or(gpu.name, None) or f"{SPELLED.get(gpu.vendor, gpu.vendor)} GPU"
    title = f"GPU {gpu.index}  {name}" if len(gpus) == 1 else f"{len(gpus)} GPUs {_numbers(gpus)}  {name}"
    used = _sum(gpus, "memory_used")
    size = [f"{memory / 2**30:.0f} GiB" + (f", {used / 2**30:.0f} used" if used is not None else "")] if memory else []
    where = [gpu.address] if isinstance(gpu.address, str) else []
    link = _link(device, gpu) if device else None
    up = known_or(gpu.nvlinks, None) or ()
    mark, words = marked(report, link, *(f"GPU {one.index}" for one in gpus), phrase("the GPU at {}", gpu.address))
    lines = [title, ", ".join([*size, *where])]
    lines += [link.words] if link else []
    lines += [_nvlink(gpu, up)] if up else []
    share = used / memory if memory and used is not None else None
    return DrawnBox(depth, "gpu", (*filter(None, lines), *words), link, mark, share, any(up))


def _sum(gpus: list[Gpu], name: str) -> int | None:
    """Bytes of all of them; None where they are not known of one."""
    values = [getattr(gpu, name) for gpu in gpus]
    return sum(values) if all(isinstance(value, int) for value in values) else None


def _numbers(gpus: list[Gpu]) -> str:
    return ", ".join(str(gpu.index) for gpu in gpus)


def _nvlink(gpu: Gpu, up: tuple[bool, ...]) -> str:
    fabric = known_or(gpu.fabric_state, None)
    more = f", fabric {fabric}" if fabric not in (None, "not-supported") else ""
    return f"NVLink: {sum(up)} of {len(up)} links up{more}"


def _link(device: PciDevice, gpu: Gpu | None) -> DrawnLink | None:
    """As the driver tells it, which wakes the link before it looks; else as the kernel does."""
    if device.integrated is True or (gpu is not None and gpu.integrated is True):
        return None
    both = [device, *([gpu] if gpu is not None else [])]
    values = []
    for name in ("link_width", "link_width_max", "link_generation", "link_generation_max"):
        reported = [v for v in (getattr(one, name) for one in both) if isinstance(v, int) and v > 0]
        if not reported:
            return None
        values.append(min(reported) if name.endswith("max") else reported[-1])
    return DrawnLink(*values)


def marked(report: Report, link: DrawnLink | None, *subjects: str) -> tuple[str, tuple[str, ...]]:
    """The worst finding about a GPU, and the words that lead to it.

    Args:
        report: what was found; its findings stand worst first, and are numbered as on the page.
        link: of the GPU.
        subjects: what findings call the GPU.
    """
    for number, group in enumerate(alike(report.findings), 1):
        for one in group:
            if one.subject and one.subject in subjects:
                narrow = one.check in NARROW and link is not None and link.width < link.most
                return one.status, (f"{'NARROW LINK' if narrow else one.status.upper()}: see {number}, {one.check}",)
    return "", ()
