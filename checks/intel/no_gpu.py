"""PyTorch for Intel GPUs finds none, although one is present and no other cause is known."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import intel
from gpudoctor.knowledge.intel import older_of
from gpudoctor.maybe import known_or
from gpudoctor.queries.cause_groups import ENVIRONMENT
from gpudoctor.queries.frameworks import last_words
from gpudoctor.queries.intel import (
    card_name,
    discrete,
    integrated,
    lists_one_of_several,
    runtime_bug,
    sees_none,
    xpu_torches,
)
from gpudoctor.targets import OnLive


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    message = "See what the SYCL runtime loads and finds, in a fresh process without the launcher's variables."
    command = msgspec.structs.replace(intel.verify(on.python), env=(("SYCL_UR_TRACE", "1"),))
    look = Fix(message, (command, intel.LISTS), impact="none", verify=intel.verify(on.python))
    bug = lists_one_of_several(on.facts)
    if bug is not None:
        return (intel.other_runtime(on.facts, bug, intel.verify(on.python)), look)
    return (intel.matching_level_zero(on.facts, intel.verify(on.python)), look) if _mismatch(on.facts) else (look,)


def _mismatch(facts: Facts) -> str:
    """What to say of Level Zero's loader and driver where one is too old for the other; "" where that is not known."""
    loader, build = known_or(facts.intel.loader_version, None), known_or(facts.intel.runtime_build, None)
    if loader is None or build is None:
        return ""
    older = older_of(loader, build)
    if older is None:
        return ""
    age = "older" if older == "driver" else "newer"
    return f" Intel's driver for Level Zero (build {build}) is {age} than its loader ({loader})."


@check(
    title="PyTorch (XPU) does not find the Intel GPU",
    severity=Severity.ERROR,
    cause="PyTorch is built for this GPU, but its SYCL runtime lists none: one of its libraries does not load, the "
    "user-space driver is older than the card, or the kernel denies access.",
    fixes=_fixes,
    references=(intel.START, "https://github.com/pytorch/pytorch/issues/148477"),
    targets=xpu_torches,
    caused_by=(
        "intel.not-driven",
        "intel.firmware-missing",
        "intel.small-bar",
        "intel.render-node-closed",
        "intel.no-devices-passed",
        "intel.level-zero-missing",
        "intel.selector-hides-all",
        "intel.runtime-regression",
        "intel.generation-dropped",
        *ENVIRONMENT,
    ),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def no_gpu(on: OnLive) -> Problem | None:
    """An XPU build on a machine with an Intel card reports that none is available."""
    cards = discrete(on.facts) or integrated(on.facts)
    if not cards or not sees_none(on):
        return None
    output = last_words(on.live)
    message = f"{on.name} does not use {card_name(cards[0])[0].lower()}{card_name(cards[0])[1:]}."
    bug = lists_one_of_several(on.facts)
    if bug is not None:
        message += f" {runtime_bug(on.facts, bug)}"
    else:
        message += _mismatch(on.facts)
    return Problem(message, evidence=(output,) if output else ())
