"""A libcuda that comes first steps aside, and nothing else is touched."""

import pytest

from gpudoctor.checks.driver.compat_mismatch import compat_mismatch
from gpudoctor.checks.driver.compat_unsupported import compat_unsupported
from gpudoctor.facts import Facts
from gpudoctor.fixes.compat import step_aside
from gpudoctor.report.fixes import entry
from tests.builders import change, library, nvidia_host

COMPAT = library(
    "libcuda.so.1", "580.65.06", path="/usr/local/cuda/compat/libcuda.so.1", found_by="cache", kind="compat"
)


def ahead(**env: str) -> Facts:
    facts = change(nvidia_host(), "nvidia.cuda.libraries", (COMPAT, library("libcuda.so.1")))
    facts = change(facts, "nvidia.cuda.loaded", COMPAT.real)
    return change(facts, "host.environment", env)


def test_only_the_folders_own_line_goes_and_copies_stay() -> None:
    fix = step_aside(ahead())
    assert "sed -i.bak" in fix.commands[0]
    assert fix.undo
    for check in (compat_mismatch, compat_unsupported):
        commands = [command for fix in check.fixes_for(ahead()) for command in fix.commands]
        assert not [command for command in commands if "rm " in command]


def test_in_a_container_nobody_needs_sudo() -> None:
    inside = change(change(ahead(), "host.container", "docker"), "host.user.uid", 0)
    fix = step_aside(inside)
    assert "sudo" not in " ".join(entry(fix, inside).commands)
    assert fix.needs == "restart of the container"


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("/usr/local/cuda/compat", "unset LD_LIBRARY_PATH"),
        ("/opt/lib:/usr/local/cuda/compat/", "export LD_LIBRARY_PATH=/opt/lib"),
    ],
)
def test_what_the_environment_says_is_mended_there(path: str, command: str) -> None:
    assert step_aside(ahead(LD_LIBRARY_PATH=path)).commands == (command,)
