"""A Mac and a PC with Windows, from their recorded words to the report."""

import os
import re
import sys
from collections.abc import Callable

import msgspec
import psutil
import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Adapter, Facts
from gpudoctor.facts.facts_file import load
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions, check, gather
from gpudoctor.privacy.masks import masked
from gpudoctor.probes.windows import nvidia
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.report.model import Report
from gpudoctor.report.renderers.text import render
from tests.probes.foreign_machines import INTEL_SYSCTL, RTX, UHD, mac, reported, windows


def findings(report: Report) -> list[tuple[str, str]]:
    return [(entry.check, entry.status) for entry in report.findings]


MACHINES: dict[str, Callable[[], RecordedMachine]] = {
    "Apple silicon": mac,
    "a Mac with Intel's processor": lambda: mac(
        INTEL_SYSCTL, "x86_64", reported(available=False, count=0, mps_built=True)
    ),
    "Windows with NVIDIA": lambda: windows(
        torch=("2.9.1+cu126", "12.6"),
        live=reported(available=True, count=1, built_for="12.6", archs=["sm_86", "sm_90"]),
    ),
    "Windows without a GPU for computing": lambda: windows((UHD,)),
    "Windows without PowerShell": lambda: windows(
        (UHD,), commands={"powershell.exe": ChildResult(argv=(), timed_out=True)}
    ),
    "a Mac without sysctl": lambda: mac(commands={"sysctl": ChildResult(argv=(), missing="command not found")}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_report_is_true_and_quiet(name: str) -> None:
    report = check(MACHINES[name]())
    assert [entry for entry in report.unknown if entry.broken] == []
    assert [found for found in findings(report) if found[1] != "advice"] == []
    assert len(report.findings) <= 1
    assert render(report)


def test_the_linux_probes_are_not_even_there() -> None:
    for machine in (mac(), windows()):
        check(machine)
        assert [line for line in machine.ran if "/proc" in line or "lspci" in line or "dmesg" in line] == []


def test_what_a_mac_says() -> None:
    facts = gather(mac())
    assert (facts.apple.silicon, facts.apple.chip, facts.apple.macos) == (True, "Apple M2 Pro", "14.5")
    assert (facts.host.system, facts.host.memory, facts.host.platform) == ("Darwin", 32 << 30, "laptop")
    assert [(g.vendor, g.name) for g in facts.gpus] == [("apple", "Apple M2 Pro")]  # type: ignore[union-attr]
    (framework,) = facts.pythons[0].frameworks
    assert (framework.variant, framework.version) == ("mps", "2.9.1")
    assert (framework.live.mps_built, framework.live.available) == (True, True)  # type: ignore[union-attr]
    assert load(msgspec.json.encode(facts)) == facts


def test_what_windows_says() -> None:
    facts = gather(windows())
    assert facts.windows.adapters == (
        Adapter(name=RTX["Name"], vendor="10de", device="2786", driver="32.0.15.5222", problem=0),
        Adapter(name=UHD["Name"], vendor="8086", device="4680", driver="31.0.101.4502", problem=0),
    )
    assert (facts.windows.long_paths, facts.windows.vc_runtime) == (False, "14.38.33130")
    (card, other) = facts.pci  # type: ignore[misc]
    assert (card.address, card.chip, card.capability) == ("0000:01:00.0", "AD104", "8.9")
    assert (other.address, other.integrated) == ("adapter 1", True)
    (gpu,) = facts.gpus  # type: ignore[misc]
    assert (gpu.name, gpu.capability, gpu.memory) == ("NVIDIA GeForce RTX 4070", "8.9", 12282 << 20)
    assert (facts.nvidia.nvml.driver_version, facts.nvidia.nvml.cuda_version) == ("552.22", "12.4")
    (python,) = facts.pythons
    assert (python.path, python.kind) == ("C:/Users/kurt/env/Scripts/python.exe", "venv")
    assert python.frameworks[0].variant == "cpu"


def test_the_wheel_that_pip_installs_on_windows_is_named_as_the_cause() -> None:
    report = check(windows())
    (found,) = report.findings
    assert (found.check, found.status) == ("pytorch.cpu-build", "fail")
    assert "On Windows `pip install torch` always installs a CPU-only build" in found.cause
    assert "C:\\Users\\kurt\\env\\Scripts\\python.exe -m pip install --index-url" in found.fixes[0].commands[0]
    assert '-c "import torch;' in str(found.fixes[0].verify)


def test_masked_facts_name_nobody_of_windows() -> None:
    message = 'OSError: [WinError 126] Error loading "C:\\\\Users\\\\kurt\\\\env\\\\torch\\\\lib\\\\c10.dll"'
    env = {"USERNAME": "Kurt Godel", "TEMP": "C:\\Users\\Kurt Godel\\Temp", "TMPDIR": "D:/users/kurt/tmp"}
    facts = gather(windows(live=reported(import_error=message), env=env))
    text = msgspec.json.encode(masked(facts)).decode().lower()
    assert not re.search(r"\bkurt\b|godel", text)
    assert "c:/users/user" in text


def test_a_quick_look_imports_nothing() -> None:
    machine = windows()
    facts = gather(machine, CheckOptions(quick=True))
    assert facts.pythons[0].frameworks[0].live is None
    assert not [line for line in machine.ran if line.endswith(" torch")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ChildResult(argv=(), code=9, out="NVIDIA-SMI has failed"), "nvidia-smi: NVIDIA-SMI has failed"),
        (ChildResult(argv=(), timed_out=True), "nvidia-smi: no response"),
    ],
)
def test_a_driver_that_does_not_answer_is_unknown(answer: ChildResult, why: str) -> None:
    machine = RecordedMachine(
        {"/C:/Windows/System32/nvidia-smi.exe": ""}, commands={"nvidia-smi.exe": answer}, system="Windows"
    )
    assert nvidia.probe(machine)[1] == Unknown(why)


def test_an_old_driver_does_not_know_the_compute_capability() -> None:
    machine = windows()
    asked = next(line for line in machine._commands if "compute_cap" in line)
    machine._commands[asked] = ChildResult(argv=(), code=2, out='Field "compute_cap" is not a valid field to query.')
    (gpu,) = nvidia.probe(machine)[1]  # type: ignore[misc]
    assert isinstance(gpu.capability, Unknown)
    assert gpu.address == "0000:01:00.0"


def test_memory_and_processes_are_psutils_on_their_own_system(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = Unknown("psutil does not run on this machine")
    assert gather(mac()).host.memory_available == elsewhere
    monkeypatch.setattr(sys, "platform", "darwin")
    assert 0 < gather(mac()).host.memory_available < psutil.virtual_memory().total  # type: ignore[operator]
    assert gather(mac(), CheckOptions(quick=True)).host.memory_available == Unknown("a quick check does not ask for it")
    assert gather(windows()).host.memory_available == elsewhere


def test_who_computes_on_windows_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    (gpu,) = nvidia.probe(windows())[1]  # type: ignore[misc]
    assert [each.name for each in gpu.processes] == [Unknown("psutil does not run on this machine")]  # type: ignore[union-attr]
    monkeypatch.setattr(sys, "platform", "win32")
    (gpu,) = nvidia.probe(windows())[1]  # type: ignore[misc]
    (process,) = gpu.processes  # type: ignore[misc]
    assert (process.pid, process.name) == (os.getpid(), psutil.Process().name())
    assert process.memory == Unknown("nvidia-smi reports '[N/A]'")
    (gpu,) = nvidia.probe(windows(), quick=True)[1]  # type: ignore[misc]
    assert gpu.processes == Unknown("a quick check does not ask for it")


@pytest.mark.parametrize(("said", "found"), [("", ()), ("[Not Supported]\n", Unknown("nvidia-smi: [Not Supported]"))])
def test_nobody_computes_only_where_nvidia_smi_knows_it(said: str, found: object) -> None:
    machine = windows()
    asked = next(line for line in machine._commands if "compute-apps" in line)
    machine._commands[asked] = said
    (gpu,) = nvidia.probe(machine)[1]  # type: ignore[misc]
    assert gpu.processes == found


def test_facts_that_older_releases_wrote_are_read() -> None:
    old = msgspec.json.decode(msgspec.json.encode(Facts()))
    for name in ("intel", "apple", "windows"):
        del old[name]
    assert load(msgspec.json.encode(old)).apple == Facts().apple


@pytest.mark.parametrize(
    ("platform", "system"), [("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows"), ("freebsd14", "Linux")]
)
def test_the_system_is_pythons_own_word(monkeypatch: pytest.MonkeyPatch, platform: str, system: str) -> None:
    monkeypatch.setattr("gpudoctor.machine.sys.platform", platform)
    assert Machine().system == system
    assert Machine(root="/tmp").system == "Linux"
