"""Level Zero's loader and Intel's driver for it, of different ages."""

from typing import Any

import pytest

from gpudoctor.check_engine import judge
from gpudoctor.checks.intel.level_zero_mismatch import level_zero_mismatch
from gpudoctor.checks.intel.no_gpu import no_gpu
from gpudoctor.checks.pytorch.import_crashes import import_crashes
from gpudoctor.facts import Distribution, Facts
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import ask, change, live
from tests.checks.environments import commands
from tests.checks.intel_machines import arc_host, xpu

WHY = Unknown("not to be read")
SAYS = (
    "PyTorch 2.9.1+xpu crashes when it asks the Intel GPU for its properties: Intel's driver for Level Zero (compute "
    "runtime, build {}) is {} than its loader ({})."
)


def host(loader: Any = "1.28.2", build: Any = 35563, **changes: Any) -> Facts:
    said: dict[str, Any] = {"stage": "init", "died": "SIGSEGV", "available": True, "devices": WHY} | changes
    return arc_host(xpu(live=live(**said)), intel__loader_version=loader, intel__runtime_build=build)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS.format(35563, "older", "1.28.2"))),
        (host("1.28.6", 39122), ("problem", SAYS.format(39122, "newer", "1.28.6"))),
        (host("1.28.6", 38646), ("pass", "")),  # they are for one another, and something else crashes
        (host("1.32.0", 39122), ("pass", "")),
        (host("1.24.2", 35563), ("pass", "")),  # older than the table
        (host(died=None, stage="done"), ("pass", "")),  # it works all the same
        (host(stage="import"), ("pass", "")),
        (host(died="SIGABRT"), ("pass", "")),
        (host(None), ("pass", "")),
        (host(WHY), ("unknown", "not to be read")),
        (host(build=WHY), ("unknown", "not to be read")),
    ],
)
def test_level_zero_mismatch(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(level_zero_mismatch, facts) == [verdict]


@pytest.mark.parametrize(
    ("name", "release", "changes", "typed"),
    [
        (
            "Debian GNU/Linux 12",
            "12",
            {},
            "apt-get install --only-upgrade '~i~n^libze1$' '~i~n^level-zero$' '~i~n^libze-intel-gpu'",
        ),
        ("Fedora Linux 43", "43", {}, "sudo dnf upgrade --refresh 'oneapi-level-zero*' 'intel-compute-runtime*'"),
        ("Fedora Linux 43", "43", {"nvidia.kernel.image_keys": ()}, "sudo rpm-ostree upgrade"),
        ("CentOS Linux 7", "7", {}, "sudo yum upgrade 'oneapi-level-zero*'"),
        ("Arch Linux", "", {}, "sudo pacman -Syu"),
    ],
)
def test_both_are_upgraded(name: str, release: str, changes: dict[str, object], typed: str) -> None:
    identity = name.split()[0].lower()
    facts = change(host(), "host.distribution", Distribution(id=identity, version=release, name=name))
    for path, value in changes.items():
        facts = change(facts, path, value)
    found = commands(level_zero_mismatch, facts)
    assert typed in found
    assert ("dnf" in found) is ("dnf" in typed)


def test_it_explains_the_crash() -> None:
    (found,), _ = findings(judge(host(), (level_zero_mismatch, import_crashes)))
    assert found.root.check is level_zero_mismatch
    assert [one.check.id for one in found.consequences] == ["pytorch.import-crashes"]


def test_it_is_tried_where_pytorch_finds_no_gpu() -> None:
    facts = arc_host(xpu(0), intel__loader_version="1.28.2", intel__runtime_build=33578)
    (verdict,) = judge(facts, (no_gpu,))
    assert verdict.message.endswith("Intel's driver for Level Zero (build 33578) is older than its loader (1.28.2).")
    assert verdict.fixes[0].message.startswith("Upgrade libze1 and libze-intel-gpu1 together")
