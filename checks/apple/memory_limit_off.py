"""The MPS allocation limit is disabled."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.queries.apple import mac_torches
from gpudoctor.targets import OnLive
from gpudoctor.tasks import filtered, query, unset

_NAME = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"


@check(
    title="PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 removes the MPS memory limit",
    severity=Severity.ADVICE,
    cause="The GPU shares the Mac's memory. By default PyTorch stops at the size that Metal recommends; 0.0 removes "
    "this limit, and an allocation that is too large can then bring down the whole system.",
    fixes=(
        Fix(
            "Unset the variable, and use smaller batches if memory runs out.",
            (unset(_NAME),),
            "change-environment",
            verify=filtered(query("env"), query("grep", _NAME)),
        ),
    ),
    references=("https://docs.pytorch.org/docs/stable/mps_environment_variables.html",),
    targets=mac_torches,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def memory_limit_off(on: OnLive) -> Problem | None:
    """The variable is zero."""
    value = on.facts.host.environment.get(_NAME, "")
    try:
        off = value != "" and float(value) == 0
    except ValueError:
        return None
    return Problem(f"{_NAME}={value} lets PyTorch allocate without a limit.") if off else None
