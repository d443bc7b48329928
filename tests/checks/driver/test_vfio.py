"""A GPU that is reserved for a virtual machine, and that no virtual machine can use."""

import shlex
import subprocess
from pathlib import Path

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, Severity, run
from gpudoctor.facts import ConfigLine, LogEvent
from tests.checks.nvidia_machines import having, logged, unloaded

A, OTHER = "0000:01:00.0", "0000:02:00.0"
HELD = LogEvent(kind="vfio-window-held", text="BAR 1: can't reserve [mem 0xe0000000-0xefffffff 64bit pref]", gpu=A)
STUCK = LogEvent(kind="vfio-not-ready", text="not ready 65535ms after FLR; giving up", gpu=A)
LENT = unloaded(pci__0__driver="vfio-pci")
(CHECK,) = catalogue.load(["driver.vfio-in-the-way"])


@pytest.mark.parametrize(
    ("event", "words", "commands"),
    [
        (HELD, "the host's boot framebuffer holds its memory", ("/sys/bus/platform/drivers", "sysfb_init")),
        (STUCK, "it did not come back from its last reset", ("poweroff", "echo bus | sudo tee")),
    ],
)
def test_no_guest_can_use_it(event: LogEvent, words: str, commands: tuple[str, ...]) -> None:
    (verdict,) = run(CHECK, logged(event, facts=LENT))
    assert verdict.problem is not None
    assert words in verdict.problem.message
    assert A in verdict.problem.message
    assert verdict.severity is Severity.WARNING
    typed = " ".join(line for fix in verdict.fixes for line in (*fix.commands, fix.message))
    assert all(command in typed for command in commands)
    assert "modprobe nvidia" not in typed


@pytest.mark.parametrize("event", [HELD, STUCK])
def test_the_card_of_another_line_is_only_reserved(event: LogEvent) -> None:
    other = LogEvent(kind=event.kind, text=event.text, gpu=OTHER)
    (verdict,) = run(CHECK, logged(other, facts=LENT))
    assert verdict.problem is not None
    assert "so NVIDIA's driver cannot claim it on this host" in verdict.problem.message


@pytest.mark.parametrize("event", [HELD, STUCK])
def test_a_card_that_the_host_has_again_is_well(event: LogEvent) -> None:
    assert [v.outcome for v in run(CHECK, having(logged(event)))] == [Outcome.PASS]


CONF = "/etc/modprobe.d/vfio.conf"
LINE = ConfigLine(path=CONF, text="options vfio-pci ids=10DE:2684,10de:22ba disable_vga=1")
OPTION = {"vfio_pci.ids": "10DE:2684,10de:22ba"}


@pytest.mark.parametrize(
    ("lines", "options", "first"),
    [
        ((LINE,), OPTION, rf"sudo sed -i 's/10de:2684,\?//I' {CONF}"),
        ((LINE,), {"vfio_pci.ids": "10de:2684"}, "echo 0000:01:00.0 | sudo tee"),  # the kernel command line's counts
        ((), {}, "echo 0000:01:00.0 | sudo tee"),
        ((ConfigLine(path=CONF, text="options vfio-pci ids=10de:1eb8"),), {}, "echo 0000:01:00.0 | sudo tee"),
    ],
)
def test_the_file_that_reserves_it_is_named(lines: tuple[ConfigLine, ...], options: dict[str, str], first: str) -> None:
    (verdict,) = run(CHECK, having(LENT, nvidia__kernel__vfio_lines=lines, nvidia__kernel__options=options))
    assert verdict.fixes[0].commands[0].startswith(first)
    assert verdict.fixes[0].message.startswith("If the GPU is meant for a virtual machine, leave it as it is")
    assert len(verdict.fixes) == 2


def test_sed_takes_the_id_alone(tmp_path: Path) -> None:
    file = tmp_path / "vfio.conf"
    file.write_text(f"{LINE.text}\noptions vfio-pci ids=10de:22ba,10de:2684\n")
    lent = having(LENT, nvidia__kernel__vfio_lines=(LINE,), nvidia__kernel__options=OPTION)
    (verdict,) = run(CHECK, lent)
    typed = verdict.fixes[0].commands[0].removeprefix("sudo ").replace(CONF, str(file))
    subprocess.run(shlex.split(typed), check=True)
    assert file.read_text().splitlines() == [
        "options vfio-pci ids=10de:22ba disable_vga=1",
        "options vfio-pci ids=10de:22ba,",
    ]
