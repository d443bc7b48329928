"""Intel GPUs that hung, by what i915 and xe log."""

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.intel.hangs import hangs
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.intel_machines import ARC, UHD, arc_host, xpu

B60 = msgspec.structs.replace(ARC, device="e211", name="Battlemage G21 [Arc Pro B60]", driver="xe")
AT = ARC.address
WHY = Unknown("not to be read")


def event(kind: str, text: str, gpu: str = AT, seconds: float = 10.0, **what: str) -> LogEvent:
    return LogEvent(kind=kind, text=text, gpu=gpu, seconds=seconds, what=what)


def loaded(version: str) -> LogEvent:
    return event("intel-guc", "GuC firmware", device="xe/bmg_guc_70.bin", driver=version)


RESET = event("intel-reset", "Engine reset: engine_class=ccs", device="ccs")
JOB = event("intel-job-timeout", "Timedout job: seqno=1", process="llama-server", pid="7")
VIDEO = event("intel-reset", "Engine reset: engine_class=vcs", device="vcs")
WEDGED = event("intel-wedged", "Xe has declared device as wedged")
NAME = "The Intel GPU at 0000:03:00.0 (Battlemage G21 [Arc Pro B60])"


def machine(*events: LogEvent, distribution: str = "ubuntu", release: str = "26.04") -> Facts:
    facts = change(arc_host(pci=(B60,)), "log.events", events)
    return change(facts, "host.distribution", Distribution(id=distribution, version=release))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (machine(), ("pass", "")),
        (machine(loaded("70.58.0")), ("pass", "")),  # the firmware alone is no finding
        (machine(VIDEO), ("pass", "")),
        (
            machine(RESET, JOB),
            ("problem", f"{NAME} hung: the driver reset an engine (ccs) once, while llama-server was running."),
        ),
        (machine(JOB), ("problem", f"{NAME} hung: the driver ended a job once, while llama-server was running.")),
        (
            machine(loaded("70.58.0"), RESET, RESET),
            (
                "problem",
                f"{NAME} hung: the driver reset an engine (ccs) 2 times. Its GuC firmware is 70.58.0; 70.72.1 does not "
                "have the bug.",
            ),
        ),
        (machine(loaded("70.72.1"), RESET), ("problem", f"{NAME} hung: the driver reset an engine (ccs) once.")),
        (machine(event("intel-reset", "Engine reset", gpu="0000:09:00.0")), ("pass", "")),  # of another GPU
        (change(machine(), "log.events", WHY), ("unknown", "not to be read")),
        (change(machine(RESET), "host.system", "Windows"), ("skipped", "")),
    ],
)
def test_hangs(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(hangs, facts) == [verdict]


def test_graphics_of_a_cpu_count_where_somebody_computes_on_them() -> None:
    log = (event("intel-reset", "GPU HANG: ecode 12:1:85def5fb", gpu=UHD.address),)
    computing = change(arc_host(xpu(), pci=(UHD,)), "log.events", log)
    assert [outcome for outcome, _ in ask(hangs, computing)] == ["problem"]
    display = change(change(arc_host(pci=(UHD,)), "intel.level_zero", None), "log.events", log)
    assert ask(hangs, display) == [("skipped", "")]


def test_a_wedged_gpu_is_an_error() -> None:
    (verdict,) = run(hangs, machine(RESET, WEDGED))
    assert verdict.severity.value == "fail"
    assert verdict.message.endswith("It then declared the GPU wedged: no program can use it until a reboot.")


@pytest.mark.parametrize(
    ("distribution", "release", "first"),
    [
        ("ubuntu", "26.04", "apt-get install linux-firmware-intel-graphics"),
        ("ubuntu", "24.04", "apt-get install linux-firmware"),
        ("debian", "13", "apt-get install firmware-intel-graphics"),
        ("fedora", "43", "dnf upgrade --refresh linux-firmware intel-gpu-firmware"),
        ("arch", "", "pacman -Syu"),
    ],
)
def test_firmware_by_package_then_by_file(distribution: str, release: str, first: str) -> None:
    facts = machine(loaded("70.58.0"), RESET, distribution=distribution, release=release)
    package, file = run(hangs, facts)[0].fixes
    assert any(first in command for command in package.commands)
    assert "sudo install -D -m 644 bmg_guc_70.bin /lib/firmware/updates/xe/bmg_guc_70.bin" in file.commands
    assert package.commands[-1] == file.commands[-1] == "sudo reboot"


def test_firmware_of_an_image() -> None:
    facts = change(machine(loaded("70.58.0"), RESET, distribution="fedora"), "nvidia.kernel.image_keys", ())
    (package,) = run(hangs, facts)[0].fixes
    assert package.commands == ("sudo rpm-ostree upgrade", "sudo reboot")
    assert "initramfs" not in package.message


def test_without_a_known_bug_the_kernel_before_is_offered() -> None:
    facts = change(machine(RESET), "host.kernel.others", ("6.5.0-14-generic",))
    newer = change(facts, "host.kernel.others", ("6.17.0-14-generic",))
    assert len(run(hangs, newer)[0].fixes) == 1  # who has booted the older one already
    look, boot = run(hangs, facts)[0].fixes
    assert look.impact == "none"
    assert boot.commands == (
        "sudo grub-reboot 'Advanced options for Ubuntu>Ubuntu, with Linux 6.5.0-14-generic'",
        "sudo reboot",
    )
    assert "i915" in run(hangs, change(machine(RESET), "pci.0.driver", "i915"))[0].fixes[0].message


def test_the_hang_check_is_written_as_root() -> None:
    facts = change(machine(RESET), "pci.0.driver", "i915")
    fix = run(hangs, facts)[0].fixes[0]
    assert fix.commands == ("echo N | sudo tee /sys/module/i915/parameters/enable_hangcheck",)
