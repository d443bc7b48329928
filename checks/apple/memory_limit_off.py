"""The limit on what MPS may allocate is switched off."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.queries.apple import mac_torches
from gpudoctor.targets import OnLive
from gpudoctor.tasks import filtered, query, unset

_NAME = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"


@check(
    title="PyTorch may fill all of the Mac's memory",
    severity=Severity.ADVICE,
    cause="The GPU shares the Mac's memory. By default PyTorch stops at what Metal recommends; 0.0 takes this limit "
    "away, and what is too large then takes the whole system down.",
    fixes=(
        Fix(
            "Take the variable away, and make batches smaller where memory runs out.",
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
