"""PyTorch for Intel GPUs lists fewer cards than there are."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.maybe import known
from gpudoctor.queries.intel import discrete, lists_one_of_several, runtime_bug, xpu_torches
from gpudoctor.targets import OnLive, in_container

# What chooses devices (https://oneapi-src.github.io/level-zero-spec/, ONEAPI_DEVICE_SELECTOR of intel/llvm).
_SELECTORS = ("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK")


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    verify = intel.verify(on.python)
    bug = lists_one_of_several(on.facts)
    look = Fix("See which cards Level Zero and OpenCL list.", (intel.LISTS,), impact="none", verify=verify)
    return (intel.other_runtime(on.facts, bug, verify), look) if bug else (look,)


@check(
    title="PyTorch (XPU) sees fewer Intel GPUs than there are",
    severity=Severity.WARNING,
    cause="Level Zero lists fewer cards than the kernel: a render node that this user may not open, a card whose "
    "firmware failed, or a bug of Intel's compute runtime.",
    fixes=_fixes,
    references=(intel.START, "https://github.com/intel/compute-runtime/issues/921"),
    targets=xpu_torches,
    caused_by=("intel.render-node-closed",),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def fewer_gpus(on: OnLive) -> Problem | None:
    """It sees some of the cards that i915 or xe drives, and nothing selects among them."""
    cards = [card for card in discrete(on.facts) if card.driver in ("i915", "xe")]
    if len(cards) < 2 or on.live.import_error or known(on.live.available) is not True:
        return None
    if any(name in on.facts.host.environment for name in _SELECTORS):
        return None
    # A container sees all of its host's cards in sysfs, and may have been given some.
    if in_container(on.facts) and len(known(on.facts.intel.render)) < len(cards):
        return None
    counted = known(on.live.count)
    if counted >= len(cards):
        return None
    message = f"{on.name} sees {counted} of the {len(cards)} Intel GPUs that the kernel drives."
    bug = lists_one_of_several(on.facts)
    if bug is None:
        return Problem(message)
    cause = f"Regression of Intel's compute runtime (NEO) after {bug.good}: {bug.what}. {bug.source}"
    return Problem(f"{message} {runtime_bug(on.facts, bug)}", cause=cause)
