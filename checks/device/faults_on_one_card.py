"""Faults that programs usually cause happen on one of several cards only, with different programs."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import query, unset

# Illegal instructions, page faults, stopped channels: usually a program's fault (NVIDIA's Xid catalog).
_BY_PROGRAMS = (13, 31, 32, 39, 40, 41, 43, 69, 70)
# So many faults of so many processes are not one bad program.
_FAULTS, _PROCESSES = 4, 3
# Programs use the first GPU by default, so it alone sees the faults of one bad program; and with few
# identical GPUs (a display card next to the one that computes) all faults hit one card by chance.
_FIRST_FAULTS, _FIRST_PROCESSES = 12, 8
_SISTERS = 3


def _cards(facts: Facts) -> Iterator[tuple[About, OnAddress]]:
    """Each of several GPUs."""
    found = list(nvidia_addresses(facts))
    if len(found) > 1:
        yield from found


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    out = Fix(
        "Take this card out of use until it is tested: leave its index out of CUDA_VISIBLE_DEVICES.",
        (query("nvidia-smi", "-L", note=f"Then export CUDA_VISIBLE_DEVICES with all indices except {on.number}."),),
        "change-environment",
        undo=(unset("CUDA_VISIBLE_DEVICES"),),
    )
    test = Fix(
        "Stress-test it alone, and the others for comparison (NVIDIA's dcgmi diag, a memory test, gpu-burn). Swap "
        "it with another slot: if the faults follow the card, have it replaced (RMA).",
        (query("dcgmi", "diag", "-r", "3", root=True),),
        "replace-hardware",
        impact="none",
    )
    return (out, test)


@check(
    title="Programs fail on one GPU only: the card may be faulty",
    severity=Severity.WARNING,
    cause="Xid 13, 31 and 43 (illegal address, MMU fault, stopped channel) usually come from programs. Where "
    "unrelated programs hit them on one card only while identical cards never do, that card's hardware is suspect.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://github.com/pytorch/pytorch/issues/51382",
    ),
    targets=_cards,
    only_with=("queries.cards:nvidia_addresses",),
    caused_by=("device.fallen-off-the-bus", "device.xid-hardware", "device.ecc-uncorrected", "device.row-remap-failed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def faults_on_one_card(on: OnAddress) -> Problem | None:
    """Many faults of many processes here, and none on the other GPUs."""
    logged = on.xids(*_BY_PROGRAMS)
    others = [other for _, other in nvidia_addresses(on.facts) if other.address != on.address]
    if not _lasting(on, logged) or any(other.xids(*_BY_PROGRAMS) for other in others):
        return None
    codes = " and ".join(str(c) for c in sorted({e.code for e in logged if e.code is not None}))
    pids = len({e.what.get("pid") for e in logged if e.what.get("pid")})
    message = (
        f"{on.name} alone of {len(others) + 1} GPUs had {len(logged)} faults (Xid {codes}) from {pids} different "
        "processes: this card is probably faulty."
    )
    return Problem(message, texts(logged))


def _lasting(on: OnAddress, logged: tuple[LogEvent, ...]) -> bool:
    pids = {e.what.get("pid") for e in logged if e.what.get("pid")}
    first = on.address == min(other.address for _, other in nvidia_addresses(on.facts))
    many = first or _sisters(on) < _SISTERS
    faults, processes = (_FIRST_FAULTS, _FIRST_PROCESSES) if many else (_FAULTS, _PROCESSES)
    return len(logged) >= faults and len(pids) >= processes


def _sisters(on: OnAddress) -> int:
    """How many other GPUs of the same model there are; those that only the bus shows count by their device."""

    def model(one: OnAddress) -> str | None:
        if one.card is not None:
            return one.card.device
        return one.gpu.name if one.gpu is not None and isinstance(one.gpu.name, str) else None

    others = (other for _, other in nvidia_addresses(on.facts) if other.address != on.address)
    return sum(model(other) == model(on) for other in others)
