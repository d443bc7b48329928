"""GPUs of generations that Intel's compute runtime supports no more."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.intel.generation_dropped import generation_dropped
from gpudoctor.facts import Facts
from gpudoctor.knowledge import intel
from gpudoctor.maybe import Unknown
from tests.builders import ask, card, change, plain_host
from tests.checks.amd_machines import IGPU, amd_host
from tests.checks.intel_machines import ARC, STACK, UHD

UNREADABLE = Unknown("not to be read")
OLD = msgspec.structs.replace(UHD, device="3e92", name="CoffeeLake-S GT2 [UHD Graphics 630]")
MESSAGE = (
    "The GPU at 0000:00:02.0 (CoffeeLake-S GT2 [UHD Graphics 630]) is Gen9, and Intel's compute runtime (build 37435) "
    "is for Gen12 and newer: OpenCL and Level Zero find no device."
)


def desktop(*pci: Any, **changes: Any) -> Facts:
    return plain_host(pci=pci or (OLD,), intel=msgspec.structs.replace(STACK, **changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (desktop(), [("problem", MESSAGE)]),
        (desktop(legacy=True), [("pass", "")]),
        (desktop(legacy=UNREADABLE), [("unknown", "not to be read")]),
        (desktop(runtime_build=30872), [("pass", "")]),  # may be built with them
        (desktop(runtime_build=30508), [("pass", "")]),
        (desktop(runtime_build=None), [("pass", "")]),
        (desktop(runtime_build=UNREADABLE), [("unknown", "not to be read")]),
        # somebody computes on another GPU
        (desktop(UHD), [("skipped", "")]),
        (desktop(OLD, ARC), [("skipped", "")]),
        (desktop(OLD, card()), [("skipped", "")]),
        (change(amd_host((IGPU,)), "pci", (*desktop().pci, *amd_host().pci)), [("skipped", "")]),  # type: ignore[misc]
        (change(desktop(), "host.system", "Windows"), [("skipped", "")]),
    ],
)
def test_generation_dropped(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(generation_dropped, facts) == verdict


@pytest.mark.parametrize(("identity", "commands"), [("ubuntu", 1), ("fedora", 0)])
def test_only_apt_has_names_that_are_known(identity: str, commands: int) -> None:
    (fix,) = run(generation_dropped, change(desktop(), "host.distribution.id", identity))[0].fixes
    assert len(fix.commands) == commands


@pytest.mark.parametrize(
    ("device", "generation"),
    [
        ("1616", "Gen8"),
        ("1912", "Gen9"),
        ("5916", "Gen9"),
        ("3e92", "Gen9"),
        ("9bc8", "Gen9"),
        ("3185", "Gen9"),
        ("8a52", "Gen11"),
        ("4e61", "Gen11"),
        ("9a49", None),
        ("4680", None),
        ("4905", None),
        ("56a0", None),
        ("0412", None),  # Haswell, which the runtime never supported
    ],
)
def test_generations(device: str, generation: str | None) -> None:
    assert intel.legacy_generation(device) == generation
