"""Demands that hold, that do not, and of which nobody can say."""

from typing import Any

import pytest

from gpudoctor import RequirementError, require
from gpudoctor.facts import Distribution, Facts
from gpudoctor.facts.smoke import Figure, Smoke, SmokeRun, SmokeTest
from gpudoctor.maybe import Unknown
from gpudoctor.requirements.demands import DEMANDS
from tests.builders import change, framework, gpu, live, nvidia_host, plain_host, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks.amd_machines import amd_host
from tests.checks.nvidia_machines import having, versions
from tests.machines import amd, driver, foreign, frameworks, hardware

WHY = Unknown("NVML: Insufficient Permissions")
NODE = nv.hgx(nv.H100, 4)


def measured(*rates: float | None) -> Facts:
    """A machine on each of whose GPUs the copies were measured; None: that test failed."""
    runs = tuple(
        SmokeRun(
            backend="pytorch",
            kind="cuda",
            tests=(
                SmokeTest(
                    name="transfer",
                    outcome="done" if rate else "failed",
                    message="" if rate else "CUDA error: unspecified launch failure",
                    figures=(Figure(name="h2d pinned", value=rate, unit="GB/s"),) if rate else (),
                ),
            ),
        )
        for rate in rates
    )
    return change(nv.several(len(rates)), "smoke", Smoke(runs=runs))


@pytest.mark.parametrize(
    ("facts", "demands"),
    [
        (NODE, {"driver": ">=570", "gpus": 8, "gpu": "H100", "torch_sees": 8, "memory_gib": 79}),
        (NODE, {"driver": ">=570,<600", "cuda": "~=12.8", "compute_capability": ">=9.0", "torch": ">=2.9"}),
        (NODE, {}),
        (NODE, {"gpus": 0, "gpu": "nvidia h100"}),
        (amd_host(), {"rocm": ">=6.3", "gpus": 1, "gpu": "7900"}),
        (measured(55.0, 54.0), {"pinned_h2d_gbps": 50}),
        (plain_host(), {"gpus": 0}),
    ],
)
def test_what_holds(facts: Facts, demands: dict[str, Any]) -> None:
    assert require(facts=facts, **demands).summary.broken == 0


@pytest.mark.parametrize(
    ("facts", "demands", "message"),
    [
        (NODE, {"driver": ">=580"}, "driver: expected >=580, found NVIDIA's driver: 570.169."),
        (NODE, {"gpus": 9}, "gpus: expected at least 9, found usable GPUs: 8."),
        (
            nv.several(2),
            {"gpu": "H100"},
            'gpu: expected something with "H100", found name of every GPU: NVIDIA GeForce RTX 4090.',
        ),
        (
            nv.several(1),
            {"memory_gib": 40},
            "memory_gib: expected at least 40, found smallest GPU memory in GiB: 24.",
        ),
        (plain_host(), {"gpu": "H100"}, 'gpu: expected something with "H100", found none (name of every GPU).'),
        (plain_host(), {"driver": ">=580"}, "driver: expected >=580, found none (NVIDIA's driver)."),
        (plain_host(), {"torch_sees": 1}, "torch_sees: expected at least 1, found none (GPUs that PyTorch can use)."),
        (NODE, {"jax": ">=0.4"}, "jax: expected >=0.4, found none (JAX)."),
        (measured(55.0, 12.0), {"pinned_h2d_gbps": 20}, "copies from pinned memory to the GPU in GB/s: 12."),
        (
            with_framework(framework(live=live(0, import_error="ImportError: x")), nvidia_host()),
            {"torch_sees": 1},
            "torch_sees: expected at least 1, found GPUs that PyTorch can use: 0.",
        ),
    ],
)
def test_what_does_not_hold(facts: Facts, demands: dict[str, Any], message: str) -> None:
    with pytest.raises(RequirementError) as raised:
        require(facts=facts, **demands)
    (one,) = raised.value.unmet
    assert message in one.message
    assert not one.unknown
    assert str(raised.value).startswith(one.message)


@pytest.mark.parametrize(
    ("facts", "demands", "why"),
    [
        (having(NODE, gpus=WHY), {"gpus": 8}, WHY.unknown),
        (having(NODE, gpus=WHY), {"gpu": "H100"}, WHY.unknown),
        (having(NODE, nvidia__cuda__code=WHY), {"gpus": 8}, WHY.unknown),
        (having(NODE, gpus__3=gpu(3, **(nv.H100 | {"memory": WHY}))), {"memory_gib": 10}, WHY.unknown),
        (having(NODE, gpus__3=gpu(3, **(nv.H100 | {"capability": WHY}))), {"compute_capability": ">=8"}, WHY.unknown),
        (with_framework(framework(live=None), NODE), {"torch_sees": 8}, "PyTorch was not imported (quick)"),
        (NODE, {"pinned_h2d_gbps": 20}, "the smoke test transfer has not measured it"),
        (measured(55.0, None), {"pinned_h2d_gbps": 20}, "CUDA error: unspecified launch failure"),
    ],
)
def test_what_nobody_knows_does_not_hold(facts: Facts, demands: dict[str, Any], why: str) -> None:
    with pytest.raises(RequirementError) as raised:
        require(facts=facts, **demands)
    (one,) = raised.value.unmet
    assert one.unknown
    assert f"): {why}" in one.message


def test_a_version_that_cannot_be_compared_is_unknown() -> None:
    with pytest.raises(RequirementError) as raised:
        require(facts=with_framework(framework(version="nightly"), NODE), torch=">=2")
    (one,) = raised.value.unmet
    assert one.unknown
    assert one.message == ('torch: expected >=2, but unknown (PyTorch): "nightly" is not a comparable version.')


def test_a_lost_gpu_does_not_count() -> None:
    facts = having(NODE, gpus__3=gpu(3, **(nv.H100 | {"status": "lost"})))
    with pytest.raises(RequirementError, match="gpus: expected at least 8, found usable GPUs: 7"):
        require(facts=facts, gpus=8)


def blamed(facts: Facts, **demands: Any) -> dict[str, str | None]:
    """What explains each demand that does not hold."""
    with pytest.raises(RequirementError) as raised:
        require(facts=facts, **demands)
    return {one.name: one.finding.check if one.finding else None for one in raised.value.unmet}


LOST = having(nv.several(2), gpus__1__status="lost", nvidia__kernel__loaded="530.41.03")
HOT = having(nv.several(2), gpus__1__ecc_uncorrected=3)
SPLIT = having(nv.hgx(nv.H100, 4), gpus__0__mig=True)


@pytest.mark.parametrize(
    ("facts", "demands", "blames"),
    [
        # A lost GPU makes no driver old, and is the one that is missing.
        (LOST, {"driver": ">=580", "cuda": ">=13"}, {"driver": None, "cuda": None}),
        (LOST, {"gpus": 2}, {"gpus": "device.fallen-off-the-bus"}),
        # A GPU that answers is none that is missing, whatever else is wrong with it.
        (HOT, {"gpus": 3, "memory_gib": 40, "gpu": "H100"}, {"gpus": None, "memory_gib": None, "gpu": None}),
        # NVML lists the GPUs of a board without its fabric manager; CUDA does not start on them.
        (hardware.fabric_manager_not_running(), {"gpus": 8}, {"gpus": "fabric.manager-down"}),
        (hardware.fabric_manager_of_another_version(), {"gpus": 1}, {"gpus": "fabric.manager-mismatch"}),
        (driver.stub_on_the_loaders_path(), {"gpus": 1}, {"gpus": "driver.stub-library"}),
        # What is installed and not loaded is loaded by the fix.
        (driver.upgraded_under_a_running_kernel(), {"driver": ">=570.169"}, {"driver": "driver.library-mismatch"}),
        (driver.upgraded_under_a_running_kernel(), {"driver": ">=580"}, {"driver": None}),
        (
            driver.module_not_loaded(),
            {"gpus": 1, "torch_sees": 1},
            dict.fromkeys(("gpus", "torch_sees"), "driver.not-loaded"),
        ),
        # AMD's driver is none of NVIDIA's.
        (
            amd.amdgpu_not_loaded(),
            {"driver": ">=580", "torch_sees": 1},
            {"driver": None, "torch_sees": "rocm.not-loaded"},
        ),
        (foreign.macbook_with_pythons_for_intel(), {"torch_sees": 1}, {"torch_sees": "apple.rosetta-python"}),
        (foreign.windows_with_code_43(), {"gpus": 1}, {"gpus": "windows.adapter-stopped"}),
        # A framework that is not installed is not seen to miss a GPU, nor is its release too old because of one.
        (plain_host(), {"torch_sees": 1, "torch": ">=2"}, {"torch_sees": None, "torch": None}),
        (frameworks.cpu_wheel(), {"torch_sees": 1, "torch": ">=9"}, {"torch_sees": "pytorch.cpu-build", "torch": None}),
    ],
)
def test_what_explains_a_demand_is_what_would_make_it_hold(
    facts: Facts, demands: dict[str, Any], blames: dict[str, str | None]
) -> None:
    assert blamed(facts, **demands) == blames


def test_a_machine_that_is_healthy_but_not_as_wanted_has_a_fix() -> None:
    with pytest.raises(RequirementError) as raised:
        require(facts=NODE, driver=">=580", gpus=9)
    old, few = raised.value.unmet
    assert (old.finding, few.finding, few.fixes) == (None, None, ())  # no command brings a GPU
    (fix,) = old.fixes
    assert (fix.action, fix.root, fix.needs, fix.verify) == ("reinstall-package", True, "reboot", "nvidia-smi")
    assert "sudo apt-get install nvidia-driver-580-server-open" in fix.commands
    assert "\n  fix: Install NVIDIA's driver of branch 580" in str(raised.value)
    assert "\n    sudo apt-get update\n" in str(raised.value)


def drivers_for(wanted: str, id_: str, version: str) -> tuple[str, ...]:
    """The first fix's commands for eight GPUs on NVSwitches, on another distribution."""
    facts = having(
        NODE,
        nvidia__kernel__packages=(),
        host__distribution=Distribution(id=id_, version=version, name=id_),
    )
    with pytest.raises(RequirementError) as raised:
        require(facts=facts, driver=wanted)
    return next((fix.commands for fix in raised.value.unmet[0].fixes), ())


@pytest.mark.parametrize(
    ("id_", "version", "packages"),
    [
        ("ubuntu", "24.04", ("nvidia-driver-595-server-open", "nvidia-fabricmanager-595")),
        ("centos", "7", ("nvidia-open-595*", "nvidia-fabricmanager-595*")),
        ("rhel", "9.5", ("nvidia-driver:595-open", "nvidia-fabricmanager-595*")),
        ("sles", "15.6", ("nvidia-open-driver-G07-signed-kmp-meta", "nvidia-fabricmanager<596")),
    ],
)
def test_a_fix_of_the_driver_keeps_to_one_branch(id_: str, version: str, packages: tuple[str, ...]) -> None:
    commands = "\n".join(drivers_for(">=590", id_, version))
    assert all(one in commands for one in packages)


def test_a_branch_that_the_distribution_no_longer_has_is_no_fix() -> None:
    assert "akmod-nvidia" in "\n".join(drivers_for(">=590", "fedora", "42"))
    assert drivers_for(">=575,<580", "fedora", "42") == ()  # its one package brings the newest branch


def test_what_is_unknown_has_no_fix() -> None:
    with pytest.raises(RequirementError) as raised:
        require(facts=having(NODE, gpus=WHY), gpu="H100")
    (one,) = raised.value.unmet
    assert (one.unknown, one.fixes) == (True, ())


def test_the_cause_and_the_fix_are_told() -> None:
    facts = driver.blind(versions("570.133.07", "570.169", "570.169"))
    with pytest.raises(RequirementError) as raised:
        require(facts=facts, torch_sees=1)
    (one,) = raised.value.unmet
    assert one.finding is not None
    assert one.finding.check == "driver.library-mismatch"
    assert next(fix.commands for fix in one.fixes) == ("sudo reboot",)
    text = str(raised.value)
    assert "  driver.library-mismatch: The loaded kernel module is 570.133.07" in text
    assert "\n  fix: Reboot" in text
    assert "\n    sudo reboot\n" in text
    assert raised.value.report.findings[0] is one.finding


@pytest.mark.parametrize(
    ("demands", "error", "message"),
    [
        ({"drivr": ">=580"}, TypeError, "Unknown requirement drivr. Did you mean driver?"),
        ({"zzz": 1}, TypeError, "Unknown requirement zzz. Possible: driver, cuda"),
        ({"gpus": "8"}, TypeError, "gpus takes a number, not '8'."),
        ({"gpus": True}, TypeError, "gpus takes a number, not True."),
        ({"driver": 580}, TypeError, 'driver takes a version specifier such as ">=580", not 580.'),
        ({"driver": "580"}, ValueError, "driver takes a version specifier such as \">=580\", not '580'."),
    ],
)
def test_wrong_demands_are_told_before_anything_is_examined(
    demands: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        require(facts=NODE, **demands)
    assert message in str(raised.value)


def test_every_demand_reads_every_machine() -> None:
    for facts in (NODE, plain_host(), amd_host(), nv.wsl(), nv.jetson(), Facts()):
        for demand in DEMANDS.values():
            demand.read(facts)


def test_a_cause_of_several_demands_is_told_once() -> None:
    with pytest.raises(RequirementError) as caught:
        require(facts=plain_host(), driver=">=580", gpus=8, gpu="H100")
    lines = str(caught.value).splitlines()
    assert [line for line in lines if line.endswith("as above.")] == ["  device.no-gpu: as above."] * 2
    assert [one.finding.check for one in caught.value.unmet if one.finding] == ["device.no-gpu"] * 3
