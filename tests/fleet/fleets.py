"""Summaries of fleets, made by hand: a large one in which much is wrong, a healthy one, an empty one, a hostile one."""

from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import (
    AffectedTarget,
    Cause,
    CauseVariant,
    Change,
    Departure,
    Drift,
    Fleet,
    HardwareGroup,
    Missing,
    NodeTargets,
    Outlier,
    Spread,
)
from gpudoctor.report.model import FixEntry

H100 = "8 x NVIDIA H100 80GB HBM3"
A100 = "8 x NVIDIA A100-SXM4-80GB"
# What HTML, CSV, a spreadsheet, a terminal or a label of Prometheus could take for something else than a text.
NASTY = (
    "</script></style></title><script>alert(1)</script><img src=x onerror=alert(1)><!-- \"a\" 'b' , ; \\ \n\r\t"
    "\x1b[31mred\x1b]0;t\x07 \x00 \x9b \u202e \u2028 \ud800 ü =1+1"
)


def names(count: int) -> tuple[str, ...]:
    """So many names of nodes, in their order."""
    width = max(3, len(str(count)))
    return tuple(f"node{number:0{width}d}" for number in range(1, count + 1))


def large(count: int = 1000, width: int = 0) -> Fleet:
    """Much is wrong; of each thing with the first node that has it in the middle of the fleet.

    Args:
        count: nodes, 40 or more.
        width: digits of a name; 0: as many as the last one needs.
    """
    nodes = names(count) if not width else tuple(f"node{number:0{width}d}" for number in range(1, count + 1))
    fails, narrow, ecc = nodes[4:8] + nodes[count // 2 : count // 2 + 3], nodes[11:14], nodes[13:15]
    warns, slow, dead = nodes[24 : 25 + count // 30], nodes[16], nodes[-3:-1]
    refused, late, open_ = nodes[-4:-3], nodes[9:10], nodes[17:18]
    bad = {*fails, *narrow, *ecc}
    gone = {*dead, *refused, *late, *open_}
    half = count * 3 // 4
    states = {
        "fail": sorted(bad - gone),
        "incomplete": list(open_),
        "timed out": list(late),
        "unreachable": list(dead),
        "refused": list(refused),
        "warn": [node for node in warns if node not in bad | gone],
    }
    others = {node for some in states.values() for node in some}
    states["pass"] = [node for node in nodes if node not in others]
    states = {state: some for state, some in states.items() if some}
    said = [node for node in nodes if node not in {*dead, *refused, *late}]
    return Fleet(
        version="0.1.0",
        created="2026-11-21T03:21:07Z",
        total=count,
        states={state: fold(some) for state, some in states.items()},
        counts={state: len(some) for state, some in states.items()},
        causes=_causes(fails, narrow, ecc, warns),
        missing=_missing(dead, refused, late),
        groups=tuple(
            HardwareGroup(hardware=name, nodes=fold(some), count=len(some))
            for name, some in ((H100, said[:half]), (A100, said[half:]))
        ),
        drifts=_drifts(said[:half], said[half:], fails, slow),
        spreads=_spreads(slow, count),
        changes=_changes(fails, dead),
        since="2026-11-20T03:20:44Z",
        oldest="2026-11-21T03:05:12Z",
        newest="2026-11-21T03:20:59Z",
        next=(
            f"Fix the first cause on {fails[0]}, then run `gpudoctor fleet run` on {fold(fails)} again.",
            "`gpudoctor fleet report --nodes SET` shows only some of the nodes.",
        ),
    )


def _causes(*sets: tuple[str, ...]) -> tuple[Cause, ...]:
    fails, narrow, ecc, warns = sets
    return (
        Cause(
            check="driver.library-mismatch",
            status="fail",
            title="The driver's libraries are not those of the loaded kernel module",
            cause="The driver's packages were upgraded, and the old kernel module is still loaded.",
            message="The libraries are 580.95.05, the loaded module is 570.172.08.",
            example=fails[0],
            nodes=fold(fails),
            count=len(fails),
            times=len(fails),
            fixes=(FixEntry("Reboot.", ("sudo reboot",), "reboot", root=True, verify="nvidia-smi"),),
            run="gpudoctor fix driver.library-mismatch --with-root",
            references=("https://docs.nvidia.com/deploy/cuda-compatibility/",),
        ),
        Cause(
            check="link.narrow-pcie",
            status="fail",
            title="A GPU has fewer PCIe lanes than it could have",
            cause="The card or its riser is not seated well, or the slot has fewer lanes.",
            message="GPU 3 has 4 of 16 lanes.",
            example=narrow[0],
            nodes=fold(narrow),
            count=len(narrow),
            times=5,
            targets=tuple(_about(node, place) for place, node in enumerate(narrow)),
            fixes=(FixEntry("Seat the card again, with the machine switched off.", ()),),
        ),
        Cause(
            check="health.ecc-uncorrected",
            status="fail",
            title="A GPU's memory has errors that could not be corrected",
            cause="The memory is worn out.",
            message="GPU 5 had 3 uncorrectable errors.",
            example=ecc[0],
            nodes=fold(ecc),
            count=len(ecc),
            times=2,
            targets=(NodeTargets(nodes=fold(ecc), count=len(ecc), targets=(AffectedTarget(subject="GPU 5"),)),),
            fixes=(
                FixEntry("Drain the node, and have the GPU replaced.", ("nvidia-smi -q -d ECC",), "replace-hardware"),
            ),
        ),
        Cause(
            check="host.memlock-low",
            status="warn",
            title="Programs may lock too little memory",
            cause="The limit is the distribution's own, which is meant for desktops.",
            message="The limit is 8 MiB.",
            example=warns[0],
            nodes=fold(warns),
            count=len(warns),
            times=len(warns),
            fixes=(
                FixEntry(
                    "Raise the limit.",
                    ("echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-memlock.conf",),
                    root=True,
                    needs="relogin",
                    undo="remove the file",
                ),
            ),
        ),
    )


def _about(node: str, place: int) -> NodeTargets:
    """The lanes of a GPU, another one on each node; on the last of three GPUs."""
    gpus = range(3, 6) if place == 2 else (place + 3,)
    targets = tuple(
        AffectedTarget(
            subject=f"GPU {gpu}",
            address=f"0000:{gpu:x}b:00.0",
            message=f"GPU {gpu} has 4 of 16 lanes.",
            evidence=(f"LnkSta of 0000:{gpu:x}b:00.0: Width x4",),
        )
        for gpu in gpus
    )
    return NodeTargets(nodes=node, count=1, targets=targets)


def _missing(dead: tuple[str, ...], refused: tuple[str, ...], late: tuple[str, ...]) -> tuple[Missing, ...]:
    why = {
        "unreachable": ("ssh: connect to host: No route to host", dead),
        "timed out": ("It did not finish within 150 s; it was importing torch.", late),
        "refused": ("Permission denied (publickey).", refused),
    }
    return tuple(
        Missing(state=state, why=message, nodes=fold(nodes), count=len(nodes))
        for state, (message, nodes) in why.items()
    )


def _drifts(here: list[str], there: list[str], fails: tuple[str, ...], slow: str) -> tuple[Drift, ...]:
    # One more than the cause has: what a cause reports of all of these nodes is not listed as drift.
    old = (here[1], *(node for node in fails if node in here))
    return (
        Drift(
            hardware=H100,
            fact="nvidia.kernel.loaded",
            majority="580.95.05",
            count=len(here) - len(old),
            known=len(here),
            departures=(Departure(value="570.172.08", nodes=fold(old), count=len(old)),),
        ),
        Drift(
            hardware=H100,
            fact="gpus.*.vbios",
            majority="96.00.61.00.01",
            count=len(here) - 3,
            known=len(here),
            departures=(
                Departure(value="96.00.5E.00.02", nodes=fold(here[2:4]), count=2),
                Departure(value="96.00.61.00.01 and 96.00.5E.00.02", nodes=slow, count=1),
            ),
        ),
        Drift(
            hardware=A100,
            fact="packages.torch",
            majority="",
            count=0,
            known=len(there),
            departures=(
                Departure(value="2.9.0", nodes=fold(there[::2]), count=len(there[::2])),
                Departure(value="2.8.0", nodes=fold(there[1::2]), count=len(there[1::2])),
            ),
        ),
    )


def _spreads(slow: str, count: int) -> tuple[Spread, ...]:
    far = Outlier(node=slow, device="GPU 3", value=13.1, deviations=-104.5)
    near = Outlier(node=slow, device="GPU 4", value=51.2, deviations=-9.0)
    return (
        Spread(
            hardware=H100, figure="pytorch.transfer.h2d pinned", unit="GB/s", count=count * 6, least=13.1, low=54.1,
            median=54.9, high=55.4, most=55.8, deviation=0.4, outliers=(far, near), more=3,
        ),
        Spread(
            hardware=H100, figure="pytorch.matmul bf16.rate", unit="TFLOP/s", count=count * 6, least=611.0, low=640.0,
            median=655.0, high=668.0, most=677.0, deviation=9.1,
        ),
    )  # fmt: skip


def _changes(fails: tuple[str, ...], dead: tuple[str, ...]) -> tuple[Change, ...]:
    return (
        Change(kind="worse", message="pass before, fail now", nodes=fold(fails), count=len(fails)),
        Change(kind="worse", message="pass before, unreachable now", nodes=fold(dead), count=len(dead)),
        Change(
            kind="cause",
            message="New: The driver's libraries are not those of the loaded kernel module (driver.library-mismatch)",
            nodes=fold(fails),
            count=len(fails),
        ),
    )


def healthy(count: int = 12) -> Fleet:
    """Nothing is wrong, and everybody agrees."""
    nodes = fold(names(count))
    return Fleet(
        version="0.1.0",
        created="2026-11-21T03:21:07Z",
        total=count,
        states={"pass": nodes},
        counts={"pass": count},
        groups=(HardwareGroup(hardware=H100, nodes=nodes, count=count),),
        oldest="2026-11-21T03:05:12Z",
        newest="2026-11-21T03:20:59Z",
    )


EMPTY = Fleet(version="0.1.0", created="2026-11-21T03:21:07Z")


def hostile() -> Fleet:
    """Every string is wicked; the nodes' names are those of files that somebody else has laid."""
    fix = FixEntry(NASTY, (NASTY,), root=True, needs=NASTY, undo=NASTY, verify=NASTY)
    outlier = Outlier(node=NASTY, device=NASTY, value=1.0, deviations=float("-inf"))
    return Fleet(
        version=NASTY,
        created=NASTY,
        total=2,
        states={"fail": NASTY, NASTY: "node1"},
        counts={"fail": 1, NASTY: 1},
        causes=(
            Cause(
                check=NASTY, status=NASTY, title=NASTY, cause=NASTY, message=NASTY, example=NASTY, nodes=NASTY, count=1,
                times=1, fixes=(fix,), references=(NASTY, "javascript:alert(1)", "https://docs.nvidia.com/"),
                evidence=(NASTY,), targets=(
                    NodeTargets(nodes=NASTY, count=1, targets=(
                        AffectedTarget(subject=NASTY, address=NASTY, message=NASTY, evidence=(NASTY,)),
                    )),
                    NodeTargets(nodes="node1", count=1, targets=(AffectedTarget(subject=NASTY),)),
                ), variants=(
                    CauseVariant(nodes=NASTY, count=1, fixes=(fix, fix)), CauseVariant(nodes="", count=9, fixes=(fix,)),
                ),
            ),
            Cause(check=NASTY, status=NASTY, title="t", cause="c", message="s", example="n", nodes="node1", count=1),
        ),
        missing=(Missing(state=NASTY, why=NASTY, nodes=NASTY, count=1),),
        groups=(HardwareGroup(hardware=NASTY, nodes=NASTY, count=1),),
        drifts=(
            Drift(
                hardware=NASTY, fact=NASTY, majority=NASTY, count=1, known=2,
                departures=(Departure(value=NASTY, nodes=NASTY, count=1),),
            ),
        ),
        spreads=(
            Spread(
                hardware=NASTY, figure=NASTY, unit=NASTY, count=1, least=1.0, low=1.0, median=1.0, high=1.0, most=1.0,
                deviation=0.0, outliers=(outlier,), more=1,
            ),
        ),
        changes=(Change(kind=NASTY, message=NASTY, nodes=NASTY, count=1),),
        since=NASTY,
        oldest=NASTY,
        newest=NASTY,
        next=(NASTY,),
    )  # fmt: skip


FLEETS = {"large": large(), "small": large(40), "healthy": healthy(), "empty": EMPTY, "hostile": hostile()}
