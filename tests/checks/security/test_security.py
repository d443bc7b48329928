"""Known vulnerabilities: upstream's releases against the bulletins, another's never, and nothing unasked."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.security.container_toolkit import container_toolkit
from gpudoctor.checks.security.driver import driver
from gpudoctor.checks.security.python_packages import python_packages
from gpudoctor.checks.security.runc import runc
from gpudoctor.facts import Cluster, Facts
from gpudoctor.maybe import known
from gpudoctor.pipeline import CheckOptions, check
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.container.test_hosts import host
from tests.checks.environments import environment, machine, package, torch

FOREIGN = "is not upstream's number of a release: its distributor knows what is fixed"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.16.1", "has CVE-2024-0132 (critical) and 3 more; 1.19.1 fixes all of them."),
        ("1.17.3", "has CVE-2026-24260 (high) and 1 more; 1.19.1 fixes both."),
        ("1.17.5", "has CVE-2025-23266 (critical) and 1 more; 1.19.1 fixes both."),
        ("1.17.7", "has CVE-2025-23266 (critical) and 1 more; 1.19.1 fixes both."),
        ("1.17.8", "has CVE-2026-24260 (high); 1.19.1 fixes it."),
    ],
)
def test_the_toolkit(version: str, words: str) -> None:
    facts = host(toolkit=version)
    assert ask(container_toolkit, facts) == [("problem", f"NVIDIA Container Toolkit {version} {words}")]
    (verdict,) = run(container_toolkit, facts)
    assert verdict.severity is (Severity.WARNING if "(critical)" in words else Severity.ADVICE)
    assert verdict.problem
    assert "https://github.com/NVIDIA/product-security/blob/main/20" in verdict.problem.evidence[0]
    (fix,) = verdict.fixes
    assert "sudo apt-get install nvidia-container-toolkit" in fix.commands
    assert fix.commands[-1] == "sudo systemctl restart docker"


def test_the_toolkit_where_nothing_is_to_be_said() -> None:
    assert ask(container_toolkit, host(toolkit="1.19.1")) == [("pass", "")]
    assert ask(container_toolkit, host(toolkit="1.20.0")) == [("pass", "")]
    assert ask(container_toolkit, host(toolkit=None)) == [("skipped", "")]
    assert ask(container_toolkit, host(toolkit="installed")) == [("unknown", f"installed {FOREIGN}")]
    assert ask(container_toolkit, host(toolkit="1.17.4-rc.1")) == [("unknown", f"1.17.4-rc.1 {FOREIGN}")]


def test_on_a_node_of_kubernetes_the_operator_comes_first() -> None:
    facts = change(host(toolkit="1.17.7"), "cluster", Cluster(kubelet=True))
    (verdict,) = run(container_toolkit, facts)
    assert "upgrade it to 26.3.2 or newer" in verdict.fixes[0].message


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        ("v1.1.11-0-g4bccb38", "runc 1.1.11 has CVE-2025-31133 (high) and 1 more; 1.2.8 fixes both."),
        ("v1.2.5-0-g59923ef", "runc 1.2.5 has CVE-2025-31133 (high); 1.2.8 fixes it."),
        ("v1.3.0-0-g4ca628d1", "runc 1.3.0 has CVE-2025-31133 (high); 1.3.3 fixes it."),
    ],
)
def test_runc(version: str, outcome: str) -> None:
    facts = host(runc_version=version)
    assert ask(runc, facts) == [("problem", outcome)]
    (verdict,) = run(runc, facts)
    assert "sudo apt-get install containerd.io" in verdict.fixes[0].commands


@pytest.mark.parametrize("version", ["v1.2.8-0-geeb7e602", "v1.3.3-0-gd842d771", "1.4.0"])
def test_runc_that_is_fixed(version: str) -> None:
    assert ask(runc, host(runc_version=version)) == [("pass", "")]


@pytest.mark.parametrize(
    "version", ["1.1.5+ds1-1+deb12u1", "1.1.12-0ubuntu2~22.04.1", "1.1.7-0ubuntu1~22.04.2", "v1.2.5-3-g59923ef"]
)
def test_a_distributions_runc_is_no_alarm(version: str) -> None:
    assert ask(runc, host(runc_version=version)) == [("unknown", f"{version} {FOREIGN}")]


def of_driver(version: str, **changes: object) -> Facts:
    facts = change(nvidia_host(), "nvidia.kernel.loaded", version)
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


def test_the_driver() -> None:
    words = "NVIDIA driver 550.127.05 has CVE-2025-23244 (high) and 1 more; 550.163.01 fixes both."
    assert ask(driver, of_driver("550.127.05")) == [("problem", words)]
    many = "NVIDIA driver 535.183.01 has CVE-2026-24187 (high) and 5 more; 535.309.01 fixes all of them."
    assert ask(driver, of_driver("535.183.01")) == [("problem", many)]
    (verdict,) = run(driver, of_driver("535.183.01"))
    assert verdict.problem
    assert verdict.problem.evidence[-1] == "and CVE-2025-23244, CVE-2024-0150, CVE-2024-0126"


@pytest.mark.parametrize("version", ["550.163.01", "535.309.01", "580.178.04", "540.4.0", "390.157", "620.10"])
def test_a_driver_of_which_no_bulletin_speaks(version: str) -> None:
    assert ask(driver, of_driver(version)) == [("pass", "")]


def test_a_driver_keeps_its_branch_and_its_flavor() -> None:
    packages = (("nvidia-driver-550-open", "550.127.05-0ubuntu1", "installed"),)
    changes = {"nvidia__kernel__packages": packages, "nvidia__kernel__flavor": "open"}
    (verdict,) = run(driver, of_driver("550.127.05", **changes))
    assert any("nvidia-driver-550-open" in line for line in verdict.fixes[0].commands), verdict.fixes
    (verdict,) = run(driver, of_driver("550.127.05", nvidia__kernel__packages=()))
    assert verdict.fixes[0].commands == ()  # by NVIDIA's installer, which packages must not meet
    assert "the way the present one was installed" in verdict.fixes[0].message


def test_on_windows_and_wsl_the_numbers_are_windows() -> None:
    wsl = change(change(nvidia_host(), "host.wsl", 2), "nvidia.nvml.driver_version", "591.44")
    wsl = change(change(wsl, "nvidia.kernel.loaded", None), "nvidia.nvml.code", 0)
    words = "NVIDIA driver 591.44 has CVE-2025-33218 (high); 591.59 fixes it."
    assert ask(driver, wsl) == [("problem", words)]
    (verdict,) = run(driver, wsl)
    assert "never inside WSL" in verdict.fixes[0].message
    for version, card, found in (
        ("581.80", "NVIDIA GeForce RTX 4090", "pass"),
        ("581.80", "NVIDIA RTX 6000 Ada Generation", "problem"),
        ("560.94", "NVIDIA RTX A2000", "pass"),
    ):
        facts = change(wsl, "nvidia.nvml.driver_version", version)
        facts = change(facts, "gpus", tuple(msgspec.structs.replace(gpu, name=card) for gpu in known(facts.gpus)))
        assert [outcome for outcome, _ in ask(driver, facts)] == [found], (version, card)


def test_python_packages() -> None:
    vllm = package("vllm", "0.8.4", requires=("torch==2.6.0",))
    facts = environment(torch("2.6.0"), facts=machine(), packages=(package("torch", "2.6.0"), vllm))
    found = dict.fromkeys(message for _, message in ask(python_packages, facts))
    assert [one.partition(" has ")[2] for one in found] == [
        "CVE-2026-24747 (high); 2.10.0 fixes it.",
        "CVE-2026-22778 (critical) and 1 more; 0.14.1 fixes both.",
    ]
    first, second = (verdict.fixes[0] for verdict in run(python_packages, facts))
    assert "Upgrade vllm first" in first.message  # which has pinned its PyTorch
    assert first.commands == ()
    assert any("vllm>=0.14.1" in line for line in second.commands)


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        ("2.10.0+cu128", "pass"),
        ("2.5.1+cu124", "problem"),
        ("2.6.0a0+df5bbc09d1.nv24.12", "unknown"),
        ("2.15.0", "pass"),
    ],
)
def test_builds_of_pytorch(version: str, outcome: str) -> None:
    facts = environment(torch(version), facts=machine(), packages=(package("torch", version),))
    assert [one for one, _ in ask(python_packages, facts)] == [outcome]


def test_nothing_of_it_runs_unasked() -> None:
    facts = host(toolkit="1.17.7", runc_version="v1.1.11-0-g4bccb38")
    report = check(options=CheckOptions(), facts=facts)
    assert not [f for f in report.findings if f.check.startswith("security.")]
    asked = check(options=CheckOptions(only=("security",)), facts=facts)
    assert {f.check for f in asked.findings} == {"security.container-toolkit", "security.runc", "security.driver"}
    assert {f.check: f.status for f in asked.findings} == {
        "security.container-toolkit": "warn",  # one is critical
        "security.runc": "advice",
        "security.driver": "advice",
    }
    assert asked.status == "warn"
    assert (asked.fails_on("fail"), asked.fails_on("warn"), asked.fails_on("advice")) == (False, True, True)
    assert not [one for one in catalogue.load() if one.area == "security"]


def test_a_critical_one_of_the_toolkit_has_one_line_at_the_end_of_a_good_report() -> None:
    line = (
        "NVIDIA Container Toolkit 1.17.7 has CVE-2025-23266 (critical): `gpudoctor check --only security` has the fix."
    )
    assert line in check(facts=host(toolkit="1.17.7")).next
    assert line not in check(facts=change(host(toolkit="1.17.7"), "nvidia.kernel.loaded", None)).next  # it fails
    assert not [one for one in check(facts=host(toolkit="1.17.8")).next if "CVE" in one]
    assert not [one for one in check(facts=plain_host()).next if "CVE" in one]


def test_fix_asks_the_named_check_although_a_whole_report_leaves_it_out(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (site,) = (tmp_path / "env").glob("lib/python3*/site-packages")
    (site / "ray-2.51.0.dist-info").mkdir()
    (site / "ray-2.51.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: ray\nVersion: 2.51.0\n")
    words = "-m", "gpudoctor", "fix", "security.python-packages", "--python", str(tmp_path / "env/bin/python")
    argv = [sys.executable, *words]
    ended = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert "ray>=2.52.0" in ended.stdout
    assert ended.returncode == 5  # nobody was there to confirm
