"""The allocator settings are in a variable that this PyTorch does not read."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.variables import assign
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, torches
from gpudoctor.tasks import filtered, query

OLDER, NEWER = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"
# The first release with the newer name; it ignores CUDA-specific options there.
_RENAMED = (2, 9)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    value = on.facts.host.environment[NEWER]
    return (
        assign(OLDER, value, f"Set {OLDER}, which every release reads.", filtered(query("env"), query("grep", OLDER))),
    )


@check(
    title="This PyTorch does not read PYTORCH_ALLOC_CONF",
    severity=Severity.ADVICE,
    cause="The variable has this name since PyTorch 2.9, and 2.9 ignores expandable_segments in it. In a variable "
    "that is not read, the settings silently have no effect.",
    fixes=_fixes,
    references=("https://github.com/pytorch/pytorch/issues/183387",),
    targets=torches,
    only_with=(f"host.environment={NEWER}",),
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def allocator_variable_unread(on: OnFramework) -> str | None:
    """Only the newer name is set, for a release that does not read it, or not all of it."""
    env = on.facts.host.environment
    if NEWER not in env or OLDER in env or known(on.framework.cuda) is None or not visible_gpus(on.facts):
        return None
    own = numbers(known(on.framework.version) or "")[:2]
    if not own or own > _RENAMED or (own == _RENAMED and "expandable_segments" not in env[NEWER]):
        return None
    part = "expandable_segments in PYTORCH_ALLOC_CONF" if own == _RENAMED else NEWER
    return f"{on.name} does not read {part}."
