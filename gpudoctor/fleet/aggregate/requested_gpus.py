"""Nodes without a GPU of which the engine that asked them, such as Slurm by its GRES, lists GPUs."""

import os
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator

import msgspec

from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.aggregate.report_sources import SourceError
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.runner import run_directory
from gpudoctor.fleet.runner.ledger import LedgerEntry
from gpudoctor.fleet.summary import Cause, Fleet
from gpudoctor.report.numbers import number

CHECK = "fleet.gpus-missing"
TITLE = "No GPU found on a node that should have GPUs"
# How each engine that counts GPUs says so.
_LISTS = {"slurm": "Slurm lists {} in GRES", "kubernetes": "Kubernetes lists {} as allocatable", "ray": "Ray lists {}"}
_entry = msgspec.json.Decoder(LedgerEntry).decode


def with_promised(fleet: Fleet, ledgers: Iterable[str], only: Container[str] | None = None) -> Fleet:
    """The summary with a failure for nodes that have no GPU, though their engine lists some for them.

    Args:
        fleet: the summary of the reports; nodes whose own report already fails for it are told there.
        ledgers: paths of the runs' ledgers.
        only: names of the nodes that count; None: all.

    Raises:
        SourceError: a ledger cannot be read.
    """
    empty = set(unfolded(fleet.states.get("no-gpu", ""), fleet.counts.get("no-gpu", 0)))
    for cause in fleet.causes:
        if cause.check == "device.no-gpu" and cause.status == "fail":
            empty.difference_update(unfolded(cause.nodes, cause.count))
    if not empty:
        return fleet
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for path in dict.fromkeys(os.path.realpath(one) for one in ledgers):
        engine = _engine(os.path.dirname(path))
        for node, gpus in _listed(path).items():
            if node in empty and (only is None or node in only):
                found[engine, gpus].add(node)
    if not found:
        return fleet
    order = {"fail": 0, "warn": 1}
    causes = sorted((*fleet.causes, *_causes(found)), key=lambda cause: order.get(cause.status, 2))
    return msgspec.structs.replace(fleet, causes=tuple(causes))


def _causes(found: dict[tuple[str, int], set[str]]) -> Iterator[Cause]:
    for (engine, gpus), nodes in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
        lists = _LISTS.get(engine, f"{engine} lists {{}}").format(f"{number(gpus)} GPU{'s' * (gpus != 1)}")
        which = "each of these nodes" if len(nodes) > 1 else "this node"
        yield Cause(
            check=CHECK,
            status="fail",
            title=TITLE,
            cause=f"{lists} for {which}, but gpudoctor found none. Drain the node, then run `gpudoctor check` on the "
            "node itself, as root and outside of a job: that shows whether the GPU is gone or was not given to the "
            "job.",
            message="",
            example=min(nodes),
            nodes=fold(nodes),
            count=len(nodes),
            times=len(nodes),
        )


def _engine(path: str) -> str:
    try:
        run = run_directory.read(path)
    except run_directory.FolderError:
        run = None
    return run.engine if run else "the engine"


def _listed(path: str) -> dict[str, int]:
    """How many GPUs each node has by its engine, as its last line says; lines that are none are passed over."""
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
    return {node: gpus for node, gpus in found.items() if gpus}
