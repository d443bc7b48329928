"""MIG is on for some GPUs and off for others."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.driver import several_gpus
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import as_root, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    on = ",".join(str(g.index) for g in gpus_of(facts, "nvidia") if g.mig is True)
    return (
        Fix(
            "If this is not on purpose, disable MIG on these GPUs; no program may use them meanwhile.",
            (as_root("nvidia-smi", "-i", on, "-mig", "0"),),
            "reset-gpu",
            root=True,
            undo=(as_root("nvidia-smi", "-i", on, "-mig", "1"),),
            verify=query("nvidia-smi", "--query-gpu=index,mig.mode.current", "--format=csv"),
        ),
    )


@check(
    title="MIG is enabled on some GPUs only",
    severity=Severity.ADVICE,
    cause="A program sees either whole GPUs or one MIG instance, and NCCL does not connect instances; mixed modes are "
    "often left over from a repair.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",),
    targets=several_gpus,
    caused_by=("mig.no-instances", "device.fallen-off-the-bus", "device.needs-reset"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def mixed_modes(facts: Facts) -> str | None:
    """Compare the modes of GPUs that have MIG at all."""
    modes = {g.index: known(g.mig) for g in gpus_of(facts, "nvidia") if g.mig is not None}
    on, off = [i for i, m in modes.items() if m], [i for i, m in modes.items() if not m]
    if not on or not off:
        return None
    return f"MIG is enabled on GPU {', '.join(map(str, on))} and disabled on GPU {', '.join(map(str, off))}."
