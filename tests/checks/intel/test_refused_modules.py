"""An Intel GPU without a driver, because the kernel refused i915 or xe."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.intel.not_driven import not_driven
from gpudoctor.facts import Facts, LogEvent
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.environments import commands
from tests.checks.intel_machines import ARC, STACK, UHD, arc_host

WHO = "The Intel GPU at 0000:00:02.0 (UHD Graphics 770) has no kernel driver bound"
EXTRA = (
    f"{WHO}: the kernel refused i915, which needs symbols of modules that are in the package linux-modules-extra of "
    "this kernel; it is not installed."
)
UNLOADED = (
    f"{WHO}: the kernel refused i915, whose symbol drm_dp_dpcd_read is in the kernel's module drm_display_helper, "
    "which was not loaded."
)
BUILD = f"{WHO}: the kernel refused i915: it was compiled for another build of this kernel."


def line(kind: str = "unknown-symbol", module: str = "i915", code: int | None = -2) -> LogEvent:
    text = f"{module}: Unknown symbol drm_dp_dpcd_read (err {code})"
    return LogEvent(kind=kind, text=text, code=code, what={"module": module, "text": "drm_dp_dpcd_read"})


def guest(*events: LogEvent, extra: bool | None = False, driver: str | None = None, **changes: Any) -> Facts:
    """A virtual machine with a share of a processor's graphics."""
    facts = change(plain_host(pci=(UHD,)), "pci.0.driver", driver)
    facts = change(change(facts, "log.events", events), "host.kernel.extra_modules", extra)
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (guest(line()), [("problem", EXTRA)]),
        (guest(line(module="i915_compat")), [("problem", EXTRA)]),
        (guest(line(), extra=True), [("problem", UNLOADED)]),
        (guest(line("symbol-mismatch", code=None)), [("problem", BUILD)]),
        (guest(line("btf-refused", code=-22)), [("problem", BUILD)]),
        (guest(line(), driver="i915"), [("skipped", "")]),  # it was loaded later
        (guest(line(module="nvidia_drm")), [("skipped", "")]),
        (guest(), [("skipped", "")]),  # nobody wants to compute on it
        (guest(line(), host__container="docker"), [("skipped", "")]),
        # somebody does
        (guest(intel=STACK), [("problem", f"{WHO}.")]),
        (change(guest(intel=STACK), "gpus", nvidia_host().gpus), [("skipped", "")]),
        (change(arc_host(), "pci.0.driver", None), [("pass", "")]),
    ],
)
def test_a_refused_module(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(not_driven, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "typed"),
    [
        (guest(line()), "sudo apt-get install linux-modules-extra-6.8.0-60-generic\nsudo modprobe i915"),
        (guest(line(module="xe")), "sudo modprobe xe"),
        (guest(line(), extra=True), "sudo modprobe drm_display_helper"),
        (guest(line("symbol-mismatch", code=None)), "sudo apt-get install --reinstall linux-image-6.8.0-60-generic"),
        (guest(line("symbol-mismatch", code=None)), "sudo dkms autoinstall --force"),
        (guest(intel=STACK), "sudo modprobe i915"),
    ],
)
def test_what_lets_it_load(facts: Facts, typed: str) -> None:
    assert typed in commands(not_driven, facts)


@pytest.mark.parametrize(
    ("module", "beginnings"),
    [("i915", ("Reinstall", "Until", "If `dkms status`")), ("i915_compat", ("Build", "Reinstall", "Until"))],
)
def test_dkms_comes_first_only_where_the_module_is_its_own(module: str, beginnings: tuple[str, ...]) -> None:
    fixes = run(not_driven, guest(line("symbol-mismatch", module, code=None)))[0].fixes
    assert len(fixes) == len(beginnings)
    assert all(fix.message.startswith(begin) for fix, begin in zip(fixes, beginnings, strict=True))


def test_the_messages_of_the_kernel_are_the_evidence() -> None:
    (verdict,) = run(not_driven, guest(line()))
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("i915: Unknown symbol drm_dp_dpcd_read (err -2)",)


def test_a_card_of_its_own_is_named_once() -> None:
    facts = change(change(plain_host(pci=(ARC,)), "pci.0.driver", None), "log.events", (line(),))
    assert len(ask(not_driven, change(facts, "host.kernel.extra_modules", False))) == 1
