"""Intel's discrete GPUs, and what is meant to use them, from facts alone."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import Facts, Framework, LogEvent, PciDevice, Python
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.kernel_log import events
from gpudoctor.targets import (
    OnCard,
    OnFramework,
    OnLive,
    OnPython,
    cards_of,
    gpus_of,
    has_dxg,
    has_nvidia,
    in_container,
    lives,
    pythons,
    torches,
)

if TYPE_CHECKING:
    from gpudoctor.knowledge.intel import IntelFamily
    from gpudoctor.knowledge.regressions import Regression

SYCL = "CMPLR_ROOT"  # set by env/vars.sh of oneAPI's compiler
VERIFY = "import torch; print(torch.__version__, torch.xpu.is_available(), torch.xpu.device_count())"


def _family(card: PciDevice) -> "IntelFamily | None":
    """What is known of a card; the tables are imported where there is one: each run asks whether."""
    from gpudoctor.knowledge.intel import family

    return family(card.device)


def discrete(facts: Facts) -> tuple[PciDevice, ...]:
    """The cards that Level Zero can compute on; no integrated GPU, and no guest's card."""
    cards = cards_of(facts, "intel")
    return tuple(card for card in cards if card.driver != "vfio-pci" and _family(card) is not None)


def integrated(facts: Facts) -> tuple[PciDevice, ...]:
    """The graphics of CPUs that xe is for (from Lunar Lake on), where no NVIDIA GPU could be meant.

    PyTorch's list of GPUs has no older ones but Meteor Lake's and Arrow Lake's.
    """
    cards = () if gpus_of(facts, "nvidia") or has_nvidia(facts) else cards_of(facts, "intel")
    return tuple(card for card in cards if card.driver == "xe")


def alone(facts: Facts) -> tuple[PciDevice, ...]:
    """The discrete cards where no other vendor's GPU could be meant."""
    others = has_nvidia(facts) or any(card.integrated is not True for card in cards_of(facts, "amd"))
    return () if others or gpus_of(facts, "nvidia") else discrete(facts)


def card_name(card: PciDevice) -> str:
    """For people: "The Intel GPU at 0000:03:00.0 (DG2 [Arc A770])"."""
    found = _family(card)
    name = card.name if isinstance(card.name, str) else found.name if found else ""
    return f"The Intel GPU at {card.address}" + (f" ({name})" if name else "")


def xpu_builds(facts: Facts) -> tuple[tuple[Python, Framework], ...]:
    """PyTorch built for Intel's GPUs, with its environment."""
    return tuple((p, f) for p in facts.pythons for f in p.frameworks if f.name == "torch" and f.variant == "xpu")


def wants_intel(facts: Facts) -> bool:
    """Whether Intel GPUs are meant for compute here: PyTorch for XPU, or Level Zero's driver, is installed."""
    return bool(xpu_builds(facts)) or isinstance(facts.intel.level_zero, str)


def concerned(facts: Facts) -> bool:
    """Whether there is an Intel GPU that could compute or was to be divided, or software for one."""
    other = extended(facts) or refused_functions(facts) or (cards_of(facts, "intel") and module_refused(facts))
    return bool(discrete(facts) or wants_intel(facts) or other or any(openvinos(facts)) or any(sycl_machines(facts)))


def intel_machine(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where an Intel GPU could compute, or software for one is there."""
    if concerned(facts):
        yield MACHINE, facts


def force_probe(facts: Facts, card: PciDevice) -> tuple[str, ...]:
    """The parameters force_probe of i915 and xe on the kernel command line that name this card.

    Each is a list of device ids or *, and an id with ! keeps the module from the card (Documentation of
    i915.force_probe and xe.force_probe in torvalds/linux, drivers/gpu/drm).
    """
    words = known_or(facts.host.kernel.command_line, "").split()
    forced = [word for word in words if word.startswith(("i915.force_probe=", "xe.force_probe="))]
    named = {card.device.lower(), f"!{card.device.lower()}", "*", "!*"}
    return tuple(word for word in forced if named & set(word.partition("=")[2].lower().split(",")))


def refused_functions(facts: Facts) -> tuple[LogEvent, ...]:
    """The kernel's messages that the loaded i915 or xe does not know max_vfs, the number of virtual functions."""
    return events(facts, "intel-no-functions")


def module_refused(facts: Facts) -> bool:
    """Whether the kernel refused i915 or xe, as its log shows."""
    from gpudoctor.queries import module_refusals  # only for Intel's GPUs; each run imports this module

    return bool(module_refusals.refusal(facts, "i915") or module_refusals.unprovided(facts, "i915"))


def extended(facts: Facts) -> bool:
    """Whether Intel's extension for PyTorch is installed anywhere."""
    return any(_has(python, "intel-extension-for-pytorch") for python in facts.pythons)


def _has(python: Python, name: str) -> bool:
    return isinstance(python.packages, tuple) and any(package.name == name for package in python.packages)


# -- targets -------------------------------------------------------------------------------------------------


def intel_cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """Each discrete card of a machine whose kernel can be changed from here: no container, no Windows host."""
    if in_container(facts) or has_dxg(facts) or facts.host.system != "Linux":
        return
    for card in discrete(facts):
        yield About(label=f"the GPU at {card.address}", gpu=card.address), OnCard(facts, card)


def cards_to_drive(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """Those, and graphics in a CPU without a driver where its module was refused, or nothing else could compute."""
    yield from intel_cards(facts)
    if in_container(facts) or has_dxg(facts) or facts.host.system != "Linux":
        return
    refused = module_refused(facts)
    others = discrete(facts) or has_nvidia(facts) or gpus_of(facts, "nvidia") or cards_of(facts, "amd")
    for card in cards_of(facts, "intel") if refused or (wants_intel(facts) and not others) else ():
        if card.driver is None and card not in discrete(facts):
            yield About(label=f"the GPU at {card.address}", gpu=card.address), OnCard(facts, card)


def computing_cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """Each card of its own, and graphics in a CPU where somebody computes on them."""
    if has_dxg(facts) or facts.host.system != "Linux":
        return
    found = discrete(facts)
    for card in cards_of(facts, "intel"):
        if card in found or (wants_intel(facts) and card.driver != "vfio-pci"):
            yield About(label=f"the GPU at {card.address}", gpu=card.address), OnCard(facts, card)


def intel_computers(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with an Intel GPU that is meant for compute.

    By Level Zero; or by OpenCL alone where there is a card of its own, or OpenVINO.
    """
    if facts.host.system != "Linux" or not cards_of(facts, "intel"):
        return
    if wants_intel(facts) or (facts.intel.opencl is True and (discrete(facts) or any(openvinos(facts)))):
        yield MACHINE, facts


def xpu_torches(facts: Facts) -> Iterator[tuple[About, OnLive]]:
    """Each PyTorch for XPU that was imported, where there is an Intel GPU, or a Windows host that may have one."""
    if cards_of(facts, "intel") or has_dxg(facts):
        found = partial(lives, name="torch")
        yield from ((about, on) for about, on in found(facts) if on.framework.variant == "xpu")


def plain_torches(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each PyTorch where Intel's discrete GPUs are the only ones."""
    if alone(facts):
        yield from torches(facts)


def openvinos(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    """Each Python with OpenVINO, where the kernel drives an Intel GPU."""
    if facts.host.system == "Linux" and not has_dxg(facts) and driven(facts):
        yield from ((about, on) for about, on in pythons(facts) if _has(on.python, "openvino"))


def driven(facts: Facts) -> tuple[PciDevice, ...]:
    """Intel's GPUs with a driver: the cards of their own, and without any the graphics in the processor."""
    return tuple(c for c in discrete(facts) or cards_of(facts, "intel") if c.driver in ("i915", "xe"))


def sycl_machines(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine whose only GPUs are Intel's, where oneAPI's compiler for SYCL is set up (setvars.sh)."""
    others = has_nvidia(facts) or any(card.integrated is not True for card in cards_of(facts, "amd"))
    if facts.host.system == "Linux" and facts.host.environment.get(SYCL) and driven(facts) and not others:
        yield MACHINE, facts


def extended_torches(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each PyTorch, where Intel's extension for it is installed anywhere."""
    if extended(facts):
        yield from torches(facts)


def lists_one_of_several(facts: Facts) -> "Regression | None":
    """The known bug of this compute runtime with which Level Zero does not list all cards of one generation.

    None where there is one card of it, or the runtime's build is not known.
    """
    families = [family.name for card in discrete(facts) if (family := _family(card))]
    build = known_or(facts.intel.runtime_build, None)
    several = {name for name in families if families.count(name) > 1}
    from gpudoctor.knowledge.regressions import regressions

    rows = (row for name in several if build for row in regressions("compute-runtime", str(build), name))
    return next(rows, None)


def guc(facts: Facts, card: PciDevice) -> str | None:
    """The version of the GuC firmware that the driver loaded into a card: "70.58.0"; None where the log has none."""
    found = [e.what["driver"] for e in events(facts, "intel-guc") if e.gpu == card.address and "driver" in e.what]
    return found[-1].rstrip(".") if found else None


def guc_file(facts: Facts, card: PciDevice) -> str | None:
    """The file of that firmware: "xe/bmg_guc_70.bin"."""
    found = [e.what["device"] for e in events(facts, "intel-guc") if e.gpu == card.address and "device" in e.what]
    return found[-1] if found else None


def guc_bug(facts: Facts, card: PciDevice) -> "Regression | None":
    """The known bug of that firmware on a card of this generation."""
    from gpudoctor.knowledge.regressions import bugs

    version, found = guc(facts, card), _family(card)
    return next(iter(bugs("guc", version, found.name)), None) if version and found else None


def runtime_kernel_bug(facts: Facts) -> "Regression | None":
    """The known bug that this build of the compute runtime has with the running kernel's driver."""
    from gpudoctor.knowledge.regressions import bugs
    from gpudoctor.queries.known_bugs import running_kernel

    build, kernel = known_or(facts.intel.runtime_build, None), running_kernel(facts)
    drivers = [card.driver for card in cards_of(facts, "intel") if isinstance(card.driver, str)]
    found = bugs("compute-runtime", str(build), *drivers, kernel=kernel) if build and kernel else ()
    return next((row for row in found if row.kernels and row.gpus), None)


def runtime_bug(facts: Facts, bug: "Regression") -> str:
    """A sentence about a known bug of the compute runtime here."""
    build = phrase(" (build {})", facts.intel.runtime_build)
    return f"Intel's compute runtime{build} has a known bug: {bug.what}."


def sees_none(on: OnLive) -> bool:
    """Whether it was imported and finds no GPU.

    Raises:
        UnknownFactError: it did not get far enough to report.
    """
    live = on.live
    return not (live.import_error or live.died or live.hung) and not known(live.available)
