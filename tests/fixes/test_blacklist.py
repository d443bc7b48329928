"""What lifts the blacklisting of a module, typed where a file has it."""

import subprocess
from pathlib import Path

import pytest

from gpudoctor.facts import ConfigLine, Facts
from gpudoctor.fixes.blacklist import lift
from gpudoctor.tasks import query
from tests.checks.nvidia_machines import having, unloaded

PROOF = query("nvidia-smi")


def lines(path: Path, *texts: str) -> tuple[ConfigLine, ...]:
    """These lines of a file."""
    return tuple(ConfigLine(path=str(path), text=text) for text in texts)


def test_the_lines_are_commented_out_and_no_others(tmp_path: Path) -> None:
    conf = tmp_path / "b.conf"
    conf.write_text("blacklist nouveau\n  blacklist \t nvidia\nblacklist nvidia_drm\ninstall nvidia /bin/false\n")
    (fix,) = lift(unloaded(), "nvidia", lines(conf, "blacklist \t nvidia", "install nvidia /bin/false"), PROOF)
    assert fix.commands[-1] == "sudo modprobe nvidia"
    for command in fix.commands[:2]:
        subprocess.run(["bash", "-c", command.removeprefix("sudo ")], check=True)
    assert conf.read_text() == (
        "blacklist nouveau\n#   blacklist \t nvidia\nblacklist nvidia_drm\n# install nvidia /bin/false\n"
    )


def booted(line: str) -> Facts:
    """Ubuntu, started with this on the kernel command line."""
    return having(unloaded(), host__kernel__command_line=line)


@pytest.mark.parametrize(
    ("line", "files", "message", "last"),
    [
        (
            "quiet modprobe.blacklist=nvidia,nvidia-drm",
            False,
            "Let nvidia be loaded. Remove modprobe.blacklist=nvidia,nvidia-drm from the kernel command line and "
            "reboot.",
            "sudo reboot",
        ),
        (
            "module_blacklist=nvidia",
            True,
            "Comment out what blacklists nvidia in /etc/b.conf. Remove module_blacklist=nvidia from the kernel command "
            "line and reboot.",
            "sudo reboot",
        ),
        (
            "modprobe.blacklist=nouveau,nvidia",
            False,
            "Take nvidia out of modprobe.blacklist=nouveau,nvidia on the kernel command line and reboot.",
            None,
        ),
        (
            "modprobe.blacklist=nouveau",
            True,
            "Comment out what blacklists nvidia in /etc/b.conf, then load the module.",
            "sudo modprobe nvidia",
        ),
    ],
)
def test_the_kernel_command_line(line: str, files: bool, message: str, last: str | None) -> None:
    there = lines(Path("/etc/b.conf"), "blacklist nvidia") if files else ()
    (fix,) = lift(booted(line), "nvidia", there, PROOF)
    assert fix.message == message
    assert (fix.commands[-1] if fix.commands else None) == last
    assert ("sudo sed -i 's/^\\s*blacklist\\s\\+nvidia\\s*$/# &/' /etc/b.conf" in fix.commands) is files
