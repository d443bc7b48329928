"""What the IDs mean that outputs print and that are no checks: of a fleet, a run, a message, an operator's rule."""

from gpudoctor.registry import is_rule
from gpudoctor.report.sanitize import wrapped

_RUN = "`gpudoctor run` watched a program that succeeded, and {}."
# Each with its title and what it means.
_OTHERS = {
    "fleet.gpus-missing": (
        "Nodes with fewer GPUs than they should have",
        "`gpudoctor fleet report` found nodes on which the driver finds no GPU, or fewer than the scheduler lists or "
        "than nodes of the same hardware have: a GPU is not seated, has no power or fell off the bus (Xid 79 in the "
        "kernel log), or the job was not given all. No single machine can know it, so no check finds it. `gpudoctor "
        "fleet report RUN --cause fleet.gpus-missing` shows the nodes and what to do; `gpudoctor check` on a node "
        "looks for the reason.",
    ),
    "pairs.slow": (
        "Slow all-reduce between neighbor nodes",
        "`gpudoctor fleet run --pairs` measured an all-reduce between pairs of nodes, and some pairs are much slower "
        "than pairs of like hardware. Where both pairs of a node are slow it is the node, else the link: a cable, a "
        "port that negotiated a lower rate, or NCCL on the wrong interface (`NCCL_DEBUG=INFO`, NCCL_SOCKET_IFNAME, "
        "NCCL_IB_HCA).",
    ),
    "pairs.no-sum": (
        "All-reduce between neighbor nodes fails or is wrong",
        "`gpudoctor fleet run --pairs` ran an all-reduce between pairs of nodes, and for some it failed, did not "
        "end, or gave a wrong sum. Where both pairs of a node fail it is the node. `gpudoctor check` and `gpudoctor "
        "smoke` on the nodes that are named look for the reason; `NCCL_DEBUG=INFO` shows what NCCL tried.",
    ),
    "smoke.not-tested": (
        "No smoke test ran",
        "No GPU that can run the smoke tests was found, or a framework could run none of them. That proves nothing, "
        "so the run is incomplete. `gpudoctor check` shows why there is no GPU; `gpudoctor smoke --device cpu` tests "
        "the CPU.",
    ),
    "probe": (
        "A probe failed",
        "A part of gpudoctor that reads facts raised an error. What it would have read is unknown, so the checks "
        "that need it were skipped and the report is incomplete. That is a fault of gpudoctor, not of this machine: "
        "please report it with `gpudoctor bundle`.",
    ),
    "no-gpu-held": ("The program held no GPU", _RUN.format("it computed on the CPU alone")),
    "workers": ("The data loader's workers are the limit", _RUN.format("the GPUs waited for its busy workers")),
    "cpu": ("The CPU is the limit", _RUN.format("it used all CPU cores while the GPUs waited")),
    "main": ("The main process is the limit", _RUN.format("one busy thread of Python kept the GPUs waiting")),
    "gpu-idle": ("The GPU was hardly used", _RUN.format("its GPUs were busy less than 10% of the time")),
    "gpus-unused": ("Not all GPUs were used", _RUN.format("it left GPUs unused that it could have used")),
}  # fmt: skip
_RULE = (
    "This is a rule of yours or of your site's, not a check of gpudoctor: a table of an expectations file. "
    "The finding names the file and the line; change the rule there if the machine is right. "
    "`gpudoctor check --only {}` compares it again, with the `--expect FILE` that was given."
)


def other_page(id_: str, width: int) -> str | None:
    """The page of an ID that is no check's; None: there is no such ID.

    Args:
        id_: as it was printed.
        width: of a line.
    """
    if is_rule(id_):
        return _page("An expectation", _RULE.format(id_), width)
    return _page(*_OTHERS[id_], width) if id_ in _OTHERS else None


def message_page(id_: str, width: int) -> str | None:
    """The page of a message that gpudoctor knows, by the ID that reports have for it; None: there is no such ID."""
    from gpudoctor.knowledge.symptoms import symptoms

    row = next((one for one in symptoms() if one.id == id_), None)
    if row is None:
        return None
    parts = [f"A message of {row.program}: {row.meaning}"]
    parts += [f"Checks that look for its cause: {', '.join(row.checks)}."] if row.checks else []
    parts += [row.advice] if row.advice else []
    return _page(id_, "\n".join(parts), width)


def _page(title: str, text: str, width: int) -> str:
    head = [title, "=" * min(len(title), width), ""]
    return "\n".join([*head, *(one for line in text.split("\n") for one in wrapped(line, width))]) + "\n"
