"""Nodes with fewer GPUs than the engine that asked them lists for them, such as Slurm by its GRES."""

import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.fleet.aggregate.causes import ranked
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.aggregate.report_sources import SourceError
from gpudoctor.fleet.nodesets import fold, natural
from gpudoctor.fleet.runner import run_directory
from gpudoctor.fleet.runner.ledger import LedgerEntry
from gpudoctor.fleet.summary import Cause, Fleet
from gpudoctor.report.model import FixEntry
from gpudoctor.report.numbers import number

CHECK = "fleet.gpus-missing"
NONE, FEWER = "No GPU found on a node that should have GPUs", "Fewer GPUs found than the scheduler lists"
# What a node's own report says of GPUs that are missing; there it is listed already.
OWN = frozenset({
    "device.no-gpu", "device.fallen-off-the-bus", "driver.gpus-missing", "driver.not-loaded", "cloud.fewer-gpus",
})  # fmt: skip
# How each engine that counts GPUs says so.
_LISTS = {"slurm": "Slurm lists gpu:{}", "kubernetes": "Kubernetes lists nvidia.com/gpu: {}", "ray": "Ray lists {} GPU"}
# Options of srun by which a job is not given all GPUs of its node, srun(1).
_PART = ("--gres", "--gpus", "-G", "--tres", "--jobid", "--overlap")
_KERNEL = "sudo dmesg -T | grep -e Xid -e 'fallen off the bus' -e amdgpu"
_NAMED = 20  # nodes in a command that takes them one by one
_entry = msgspec.json.Decoder(LedgerEntry).decode


class _Shortage(NamedTuple):
    """What a cause is about."""

    engine: str
    listed: int
    found: int


def with_promised(
    fleet: Fleet,
    ledgers: Iterable[str],
    found: Callable[[], Iterable[tuple[str, int]]] = tuple,
    only: Container[str] | None = None,
) -> Fleet:
    """The summary with a failure for nodes that have no GPU, or fewer than their engine lists for them.

    Args:
        fleet: the summary of the reports; nodes without a GPU whose own report already fails for it are listed there.
        ledgers: paths of the runs' ledgers.
        found: gives the nodes of which it is known how many GPUs the driver lists, and how many.
        only: names of the nodes that count; None: all.

    Raises:
        SourceError: a ledger cannot be read.
    """
    reported = missing_by(fleet, OWN)
    empty = set(unfolded(fleet.states.get("no-gpu", ""), fleet.counts.get("no-gpu", 0))) - reported
    short: dict[_Shortage, set[str]] = defaultdict(set)
    for path in dict.fromkeys(os.path.realpath(one) for one in ledgers):
        listed = {node: gpus for node, gpus in listed_gpus(path).items() if gpus and (only is None or node in only)}
        if not listed:
            continue
        engine, whole = engine_of(os.path.dirname(path))
        for node in empty & listed.keys():
            short[_Shortage(engine, listed[node], 0)].add(node)
        for node, count in found() if whole else ():
            if node in listed and node not in reported and _fewer(engine, count, listed[node]):
                short[_Shortage(engine, listed[node], count)].add(node)
    return msgspec.structs.replace(fleet, causes=ranked((*fleet.causes, *_causes(short)))) if short else fleet


def missing_by(fleet: Fleet, checks: Container[str]) -> set[str]:
    """The nodes of which a failure with one of these IDs is listed already."""
    causes = (one for one in fleet.causes if one.check in checks and one.status == "fail")
    return {node for one in causes for node in unfolded(one.nodes, one.count)}


def _fewer(engine: str, found: int, listed: int) -> bool:
    """Whether GPUs are missing.

    Kubernetes' device plugin lists each GPU several times where they are shared (time-slicing, MPS), and Ray whatever
    number it was started with: there a multiple of what is found is no shortage.
    """
    return found < listed and (engine == "slurm" or listed % found > 0)


def _causes(short: dict[_Shortage, set[str]]) -> Iterator[Cause]:
    for one, nodes in sorted(short.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        engine, listed, found = one
        lists = _LISTS.get(engine, f"{engine} lists {{}} GPU").format(number(listed))
        lists += "s" * (listed != 1 and lists.endswith("GPU"))
        which = "each of these nodes" if len(nodes) > 1 else "this node"
        gone = "is gone" if listed - found == 1 else "are gone"
        what = "The GPU" if listed - found == 1 else f"{number(listed - found)} GPUs"
        yield Cause(
            check=CHECK,
            status="fail",
            title=FEWER if found else NONE,
            cause=f"{lists} for {which}, the driver finds {number(found) if found else 'none'}. {what} {gone} (not "
            "seated, no power, or fell off the bus: Xid 79 in the kernel log), or the job was not given all.",
            message="",
            example=min(nodes),
            nodes=fold(nodes),
            count=len(nodes),
            times=len(nodes),
            fixes=fixes(engine, nodes, f"{found} of {listed} GPUs found"),
        )


def fixes(
    engine: str, nodes: Iterable[str], why: str, slots: Mapping[tuple[str, ...], Sequence[str]] | None = None
) -> tuple[FixEntry, ...]:
    """How nodes get their GPUs back: drain, look, reseat.

    Args:
        engine: that lists the nodes; empty: nobody knows.
        nodes: that lack GPUs.
        why: what the scheduler notes as the reason.
        slots: the nodes by the PCI addresses at which they lack a GPU; None: nobody knows.
    """
    some = sorted(nodes, key=natural)
    looks = []
    for empty, names in (slots or {(): some}).items():
        where = fold(names) if len(names) == 1 else f"each of {fold(names)}"
        bus = [f"lspci -s {one}" for one in empty] or ["lspci | grep -i -e nvidia -e amd/ati"]
        looks.append("\n".join((f"# on {where}:", _KERNEL, *bus, "sudo gpudoctor check")))
    return (
        FixEntry(
            f"Drain the node{'s' * (len(some) > 1)}; then look for the GPU on the PCI bus and for Xid 79 in the kernel "
            "log. Switch the machine off, unplug it for a minute, and start it again. If the GPU is still missing, "
            "reseat it and its power cables; if that does not help, return it (RMA).",
            (*_drain(engine, some, why), *looks),
            action="replace-hardware",
            root=True,
        ),
    )


def _drain(engine: str, nodes: Sequence[str], why: str) -> tuple[str, ...]:
    if engine == "slurm":
        names = shlex.quote(fold(nodes))
        return (f"sudo scontrol update nodename={names} state=drain reason={shlex.quote(why)}",)
    if engine == "kubernetes" and len(nodes) <= _NAMED:
        return (f"kubectl cordon {shlex.join(nodes)}",)
    return ()


def engine_of(path: str) -> tuple[str, bool]:
    """The engine of a run, and whether its nodes were given all of their GPUs."""
    try:
        run = run_directory.read(path)
    except run_directory.FolderError:
        run = None
    if run is None:
        return "the engine", False
    return run.engine, not any(one.startswith(_PART) for one in run.options.get("--srun-option", ()))


def listed_gpus(path: str) -> dict[str, int]:
    """How many GPUs each node has by its engine, as its last line says (0: unknown); what is no line is passed over."""
    found: dict[str, int] = {}
    try:
        with open(path, "rb") as file:
            for line in file:
                try:
                    entry = _entry(line)
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    continue  # cut short when the run was ended
                found[entry.node] = entry.gpus or 0
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from None
    return found
