"""A rule that is not met has a fix where one can be typed on this machine, and none where nobody knows one."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.expect.loader import loads
from gpudoctor.facts import Facts
from gpudoctor.pipeline import CheckOptions, check
from tests.builders import change, framework, live, nvidia_host, python, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks.environments import package
from tests.expect import one
from tests.machines.registry import machines

NODE = nv.hgx(nv.H100, 2)
TORCH = with_framework(framework(live=live(1)), nvidia_host())
WITH_NUMPY = change(TORCH, "pythons", (python(packages=(package("numpy", "1.26.4"),)),))
NO_ECC = change(NODE, "gpus.1.ecc", False)
NUMPY = "pythons.0.packages.numpy.version"


def commands(facts: Facts, text: str) -> list[str]:
    (expected,) = loads(text, "e.toml")
    (verdict,) = run(expected.check(facts), facts)
    assert verdict.problem
    return [command for fix in verdict.fixes for command in fix.commands]


@pytest.mark.parametrize(
    ("facts", "text", "typed"),
    [
        (NO_ECC, one("gpus.*.ecc", "is=true"), ["sudo nvidia-smi -i 1 -e 1"]),
        (NODE, one("gpus.0.power_limit", "at_most=300"), ["sudo nvidia-smi -i 0 -pl 300"]),
        (NODE, one("gpus.0.compute_mode", "is='exclusive-process'"), ["sudo nvidia-smi -i 0 -c 3"]),
        (WITH_NUMPY, one(NUMPY, "version='>=2'"), ["/opt/env/bin/python -m pip install 'numpy>=2'"]),
        (WITH_NUMPY, one(NUMPY, "is='2.2.0'"), ["/opt/env/bin/python -m pip install numpy==2.2.0"]),
        (NODE, one("host.environment.NCCL_DEBUG", "is='INFO'"), ["export NCCL_DEBUG=INFO"]),
        (
            change(NODE, "host.environment", {"NCCL_DEBUG": "INFO"}),
            one("host.environment.NCCL_DEBUG", "present=false"),
            ["unset NCCL_DEBUG"],
        ),
    ],
)
def test_what_is_typed(facts: Facts, text: str, typed: list[str]) -> None:
    assert commands(facts, text) == typed


def test_versions_of_driver_and_frameworks_come_from_the_setup_planner() -> None:
    assert any("nvidia-driver-" in typed for typed in commands(NODE, one("nvidia.kernel.loaded", "version='>=580'")))
    torch = one("pythons.0.frameworks.torch.version", "version='>=2.8'")
    assert any("torch==2." in typed for typed in commands(TORCH, torch))


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (NODE, one("gpus", "count=9")),
        (change(NODE, "gpus.1.ecc", None), one("gpus.1.ecc", "is=true")),  # a GPU without ECC memory
        (NODE, one("nvidia.kernel.loaded", "version='>=9999'")),
        (WITH_NUMPY, one(NUMPY, "matches='2.*'")),
        (change(WITH_NUMPY, "pythons.0.externally_managed", True), one(NUMPY, "version='>=2'")),
    ],
)
def test_where_no_command_is_known_there_is_none(facts: Facts, text: str) -> None:
    assert commands(facts, text) == []


def test_a_release_that_a_reboot_loads_follows_from_the_mismatch_and_no_other() -> None:
    facts = next(m for m in machines() if m.name == "upgraded-under-a-running-kernel").make()
    installed = facts.nvidia.cuda.libraries[0].version  # type: ignore[index]
    for wanted, alone in ((f"=={installed}", False), (">=9999", True)):
        options = CheckOptions(expect=loads(one("nvidia.kernel.loaded", f"version='{wanted}'"), "e.toml"))
        found = {entry.check for entry in check(None, options, facts).findings}
        assert "driver.library-mismatch" in found
        assert ("expect.nvidia-kernel-loaded" in found) is alone


def test_only_who_named_its_file_is_given_a_command_of_ours() -> None:
    report = check(None, CheckOptions(expect=loads(one("gpus.*.ecc", "is=true"), "e.toml")), NO_ECC)
    (entry,) = (entry for entry in report.findings if entry.check == "expect.gpus-ecc")
    assert entry.fixes
    assert entry.run == ""
