"""Fixes of machines with which nothing is wrong, but that are not as demanded."""

import shlex
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gpudoctor.facts import Distribution, Facts
from gpudoctor.knowledge import drivers
from gpudoctor.report.fixes import entry
from gpudoctor.requirements.demands import DEMANDS
from gpudoctor.requirements.evaluate import validated
from gpudoctor.setup.requirement_fixes import fixes
from tests.builders import change, nvidia_host, plain_host, python
from tests.checks import healthy_nvidia as nv
from tests.machines import foreign
from tests.machines.registry import machines
from tests.setup.grounds import distribution, machine


def fixed(facts: Facts, name: str, wanted: str | float) -> tuple[str, ...]:
    """The commands; none: there is no fix."""
    value = validated({name: wanted})[name].given
    return next((entry(fix, facts).commands for fix in fixes(facts, name, value)), ())


@pytest.mark.parametrize(
    ("facts", "name", "wanted", "package"),
    [
        (machine("ada", branch=570), "driver", ">=580", "nvidia-driver-580-open"),
        (machine("ada", branch=570), "driver", ">=580.65.06,<590", "nvidia-driver-580-open"),
        (machine("ada", branch=570), "driver", ">580", "nvidia-driver-580-open"),
        (machine("ada", branch=570), "driver", ">=590", "nvidia-driver-595-open"),
        (machine("ada", branch=580), "driver", "<580", "nvidia-driver-570-open"),
        (machine("ada", branch=570), "cuda", ">=13", "nvidia-driver-580-open"),
        (machine("pascal", branch=535), "driver", ">=580", "nvidia-driver-580"),
        (distribution(machine("ada", branch=570), "fedora", "42"), "driver", ">=580", "akmod-nvidia"),
    ],
)
def test_the_driver_of_a_branch_that_is_as_wanted(facts: Facts, name: str, wanted: str, package: str) -> None:
    assert any(package in command.split() for command in fixed(facts, name, wanted)), fixed(facts, name, wanted)


@pytest.mark.parametrize(
    ("facts", "name", "wanted"),
    [
        (machine("ada"), "driver", ">=900"),  # no such branch
        (machine("ada"), "driver", "==580.65.01"),  # packages give the newest of a branch
        (machine("ada"), "cuda", ">=99"),
        (machine("pascal"), "driver", ">=590"),  # newer branches have no Pascal
        (machine("blackwell"), "driver", "<570"),  # older ones no Blackwell
        (change(machine("ada"), "gpus.0.virtualization", "vgpu"), "driver", ">=590"),  # it has to fit the host's
        (nv.jetson(), "driver", ">=600"),
        (plain_host(), "driver", ">=580"),
        (machine("ada"), "gpus", 4),
        (machine("ada"), "gpu", "H100"),
        (machine("ada"), "rocm", ">=6"),
        (machine("ada"), "matmul_fp32_tflops", 100),
    ],
)
def test_no_fix_where_none_is_known(facts: Facts, name: str, wanted: Any) -> None:
    assert fixed(facts, name, wanted) == ()


def test_on_wsl_the_driver_is_windows() -> None:
    (fix,) = fixes(nv.wsl(), "driver", SpecifierSet(">=595"))
    assert fix.message.startswith("Install driver version 595 or newer in Windows, never inside WSL")
    assert (fix.commands, fix.action) == ((), "ask-vendor")


def test_on_windows_commands_are_powershells() -> None:
    (command,) = fixed(foreign.windows_with_nvidia(), "torch", ">=2.5,!=2.5.0")
    assert "/" not in command.partition(" -m pip")[0], command


@pytest.mark.parametrize(
    ("name", "wanted", "package"),
    [
        ("torch", ">=2.5", "torch"),
        ("jax", ">=0.6,!=0.7.0", "jax"),
        ("tensorflow", "<2.20", "tensorflow"),
        ("cupy", "~=14.0", "cupy-cuda13x"),
        ("jax_sees", 1, "jax"),
    ],
)
def test_a_framework_comes_into_the_examined_environment(name: str, wanted: str | float, package: str) -> None:
    facts = change(machine("ada"), "pythons", (python(),))
    (command,) = fixed(facts, name, wanted)
    *first, last = shlex.split(command)
    assert first == ["/opt/env/bin/python", "-m", "pip", "install"]
    assert Requirement(last).name == package


def test_the_wheel_is_narrowed_to_what_is_wanted() -> None:
    facts = change(machine("ada"), "pythons", (python(),))
    free, narrow = (shlex.split(fixed(facts, "jax", wanted)[0])[-1] for wanted in (">=0.1", ">=0.8,!=0.8.1"))
    assert (Requirement(free).extras, ">=0.8" in free) == ({"cuda13"}, False)
    given = Requirement(narrow)
    assert given.extras == {"cuda13"}
    assert [given.specifier.contains(one) for one in ("0.7.9", "0.8", "0.8.1", "0.8.2")] == [False, True, False, True]


@pytest.mark.parametrize(("name", "wanted"), [("torch", ">=99"), ("torch", "<1"), ("onnxruntime", "==0.1")])
def test_a_release_that_no_wheel_has_is_no_fix(name: str, wanted: str) -> None:
    assert fixed(machine("ada"), name, wanted) == ()


def test_a_framework_that_is_there_and_sees_no_gpu_is_not_installed_again() -> None:
    assert fixed(nv.several(1), "torch_sees", 8) == ()


def test_a_build_for_the_cpu_sees_no_gpu() -> None:
    facts = plain_host(pythons=(python(),))
    assert fixed(facts, "torch", ">=2.5")
    assert fixed(facts, "torch_sees", 1) == ()


def test_every_machine_gets_a_fix_or_none() -> None:
    for one in machines():
        facts = one.make()
        for name, demand in DEMANDS.items():
            assert isinstance(fixes(facts, name, SpecifierSet(">=1") if demand.operator == "version" else 1), tuple)


def test_a_branch_whose_support_has_ended_is_not_advised() -> None:
    facts = change(machine("ada"), "created", "2026-11-22T00:00:00Z")
    ended = drivers.branch_of(550)
    assert ended is not None
    assert ended.end_of_life == "2025"
    assert fixed(facts, "driver", "<560") == ()
    assert fixed(facts, "driver", "<575")  # 570 ends with the year


def test_a_debian_gets_the_advised_branch_before_a_newer_one() -> None:
    debian = change(nvidia_host(), "host.distribution", Distribution(id="debian", version="12"))
    for wanted, branch in ((">=580", "580"), (">=590", "595")):
        (fix,) = fixes(debian, "driver", SpecifierSet(wanted))
        assert f"sudo apt-get install nvidia-driver-pinning-{branch}" in fix.commands
