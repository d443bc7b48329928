"""The step that lets programs reach an Intel GPU: Level Zero's loader and driver."""

from gpudoctor.facts import Facts
from gpudoctor.fixes import intel
from gpudoctor.setup.plan import SetupStep
from gpudoctor.targets import in_container


def step(facts: Facts) -> SetupStep | None:
    """The step; None where both are there, or nobody could say."""
    if facts.intel.level_zero is not None and facts.intel.loader is not None:
        return None
    fix = intel.level_zero(facts)[0]
    return SetupStep(
        id="level-zero",
        group="driver",
        title=fix.message,
        why="PyTorch uses Intel GPUs through Level Zero, which is not part of the kernel driver.",
        commands=fix.tasks if not in_container(facts) else (),
        root=True,
    )
