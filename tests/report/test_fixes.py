"""Fixes as the user of a machine types them, and the line by which gpudoctor does."""

import pytest

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.report.fixes import entries, entry, notes, run_line
from gpudoctor.tasks import Edit, Task, as_root, cmd, export, query, sentence
from gpudoctor.tasks.placeholders import NAME
from tests.builders import change, nvidia_host

LOAD = Fix("Load it.", (as_root("modprobe", "nvidia"),), undo=(as_root("rmmod", "nvidia"),), verify=query("nvidia-smi"))
INSTALL = Fix("Install it.", (cmd("pip", "install", "a"),))


def machine(uid: int = 1000, sudo: bool = True, system: str = "Linux") -> Facts:
    facts = change(change(nvidia_host(), "host.user.uid", uid), "host.user.sudo", sudo)
    return change(facts, "host.system", system)


def test_sudo_is_written_for_who_needs_it_and_has_it() -> None:
    user, root, nobody = (entry(LOAD, facts) for facts in (machine(), machine(uid=0), machine(sudo=False)))
    assert (user.commands, user.undo, notes(user)) == (("sudo modprobe nvidia",), "sudo rmmod nvidia", ["needs root"])
    assert (root.commands, root.undo, notes(root)) == (("modprobe nvidia",), "rmmod nvidia", [])
    assert (nobody.commands, notes(nobody)) == (("modprobe nvidia",), ["needs root"])
    assert root.root  # the fact stays in the document
    assert user.tasks == root.tasks == LOAD.tasks


def test_outside_of_a_container_its_root_is_nobody() -> None:
    outside = Fix("On the host: load it.", LOAD.tasks, place="outside")
    found = entry(outside, machine(uid=0, sudo=False))
    assert (found.commands, notes(found)) == (("sudo modprobe nvidia",), ["needs root"])


@pytest.mark.parametrize(
    ("fixes", "facts", "line"),
    [
        ((INSTALL,), machine(), "gpudoctor fix a.b"),
        ((LOAD,), machine(), "gpudoctor fix a.b --with-root"),
        ((LOAD,), machine(uid=0), "gpudoctor fix a.b"),
        ((LOAD,), machine(sudo=False), ""),
        ((LOAD, INSTALL), machine(sudo=False), "gpudoctor fix a.b --choice 2"),
        ((Fix("Ask."), Fix("Set it.", (export("A", "b"),)), LOAD), machine(), ""),  # the better way is typed
        (
            (Fix("Ask."), LOAD),
            machine(),
            "gpudoctor fix a.b --choice 2 --with-root",
        ),
        ((Fix("Look.", (query("nvidia-smi"),)),), machine(), ""),
        ((Fix("Name it.", (cmd("docker", "restart", NAME),)),), machine(), ""),
        ((Fix("Edit it.", (cmd("nano", "f", person=True),)),), machine(), ""),
        ((Fix("Turn it.", sentence("Turn it.")),), machine(), ""),
        ((Fix("There.", INSTALL.tasks, place="outside"),), machine(), ""),
        ((INSTALL,), machine(system="Windows"), ""),
        ((), machine(), ""),
    ],
)
def test_the_line_is_told_where_it_runs_something(fixes: tuple[Fix, ...], facts: Facts, line: str) -> None:
    assert run_line("a.b", entries(fixes, facts), facts) == line


def test_a_fix_is_told_once() -> None:
    assert len(entries((LOAD, INSTALL, LOAD), machine())) == 2


def test_a_fix_of_strings_is_refused() -> None:
    with pytest.raises(TypeError, match="a fix consists of tasks"):
        Fix("Load it.", ("sudo modprobe nvidia",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "place"),
    [
        (as_root("reboot"), "outside"),
        (as_root("nvidia-smi", "--gpu-reset", "-i", 0), "outside"),
        (as_root("modprobe", "nvidia_uvm"), "outside"),
        (as_root("systemctl", "restart", "nvidia-fabricmanager"), "outside"),
        (Edit("/etc/modprobe.d/nvidia.conf", text="options nvidia x=1\n", root=True), "outside"),
        (as_root("systemctl", "restart", "ollama"), "here"),
        (query("nvidia-smi", "-q"), "here"),
        (cmd("docker", "restart", NAME), "here"),
    ],
)
def test_what_changes_the_kernel_or_a_gpu_is_the_hosts(task: Task, place: str) -> None:
    fix, plain = Fix("Do it.", (task,)), machine()
    inside = change(plain, "host.container", "docker")
    assert entry(fix, plain).place == "here"
    found = entry(fix, inside)
    assert (found.place, found.message) == (place, "On the host: do it." if place == "outside" else "Do it.")
    there = Fix("ECC on the host: switch it off.", (task,))
    assert entry(there, inside).message == there.message
