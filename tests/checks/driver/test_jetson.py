"""The device nodes of a Jetson, whose GPU before JetPack 7 has a driver of its own (nvgpu)."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import DeviceNode, Facts, UserGroup
from gpudoctor.maybe import Unknown
from tests.builders import ask
from tests.checks.nvidia_machines import failing, having, nodes

BARE_NODES = nodes("nvidia0", "nvidiactl")
CLOSED = nodes("nvmap", mode="440", gid=44, error="EACCES")


def jetson(found: tuple[DeviceNode, ...], release: str = "36.4.3") -> Facts:
    """A Jetson on which CUDA does not start, with these nodes."""
    return failing(
        100,
        pci=(),
        gpus=(),
        host__platform="jetson",
        host__l4t=release,
        nvidia__kernel__nodes=found,
        nvidia__kernel__modules=("nvidia",),
        nvidia__kernel__uvm_major=None,
    )


ILL = [
    (
        "driver.device-nodes-closed",
        jetson(nodes("nvmap", mode="440", gid=44, error="EACCES")),
        "A Jetson's memory manager /dev/nvmap cannot be opened: Permission denied (EACCES, mode 440). It belongs to "
        "the group 44.",
    ),
    (
        "driver.device-nodes-closed",  # an image without udev rules of NVIDIA's
        jetson(nodes("nvmap", mode="600", error="EACCES")),
        "A Jetson's memory manager /dev/nvmap cannot be opened: Permission denied (EACCES, mode 600).",
    ),
    (
        "driver.uvm-missing",
        jetson((*BARE_NODES, *nodes("nvmap")), "38.2.0"),
        "/dev/nvidia-uvm is missing in this machine, so CUDA cannot start (cuInit 100). The module nvidia_uvm is not "
        "loaded either.",
    ),
]

WELL = [
    ("driver.device-nodes-closed", jetson(nodes("nvmap", mode="660", gid=44))),
    # the user is in the group, which may only read it
    (
        "driver.device-nodes-closed",
        having(
            jetson(nodes("nvmap", mode="440", gid=44, error="EACCES")),
            host__user__groups=(UserGroup(name="video", gid=44),),
        ),
    ),
    ("driver.uvm-missing", jetson((*BARE_NODES, *nodes("nvmap")), "36.4.3")),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_what_keeps_cuda_from_a_jetson(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_a_jetson_needs_not(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("pass", "")]


@pytest.mark.parametrize(
    ("node", "engine", "command"),
    [
        (
            nodes("nvmap", mode="440", gid=44, error="EACCES"),
            "docker",
            "docker run --runtime nvidia --group-add 44 ...",
        ),
        (nodes("nvidiactl", mode="660", gid=44, error="EACCES"), "docker", "docker run --gpus all --group-add 44 ..."),
        (CLOSED, "podman", "podman --runtime crun run --group-add keep-groups ..."),
        (nodes("nvmap", mode="660", gid=44, error="EACCES"), None, "sudo usermod -aG 44 $USER"),
        (CLOSED, None, "sudo usermod -aG 44 $USER"),
    ],
)
def test_who_is_let_in(node: tuple[DeviceNode, ...], engine: str | None, command: str) -> None:
    facts = having(jetson(node), host__container=engine)
    assert run(catalogue.load(["driver.device-nodes-closed"])[0], facts)[0].fixes[0].commands[0] == command


@pytest.mark.parametrize(
    ("release", "outcome"),
    [
        ("36.4.7", "problem"),
        ("36.4.4", "pass"),
        ("36.5", "pass"),
        ("38.2.0", "pass"),
        (None, "pass"),
        (Unknown("not to be read"), "unknown"),
    ],
)
def test_the_release_that_refuses_large_buffers(release: object, outcome: str) -> None:
    one = catalogue.load(["driver.nvmap-refuses-buffers"])[0]
    facts = having(jetson(BARE_NODES), host__l4t=release)
    assert [found for found, _ in ask(one, facts)] == [outcome]
    if outcome == "problem":
        newer, mapped = run(one, facts)[0].fixes
        assert newer.commands[0].startswith("sudo sed -i s/r36.4/r36.5/ /etc/apt/sources.list.d/")
        assert "expandable_segments:True" in mapped.commands[0]


def test_another_machine_is_not_asked_for_its_nvmap() -> None:
    one = catalogue.load(["driver.nvmap-refuses-buffers"])[0]
    assert ask(one, having(host__l4t=Unknown("not to be read"))) == [("pass", "")]


@pytest.mark.parametrize(
    ("facts", "named"),
    [(jetson(CLOSED), True), (having(nvidia__kernel__nodes=nodes("nvidiactl", mode="600", error="EACCES")), False)],
)
def test_a_jetson_is_named_on_jetsons_alone(facts: Facts, named: bool) -> None:
    check = catalogue.load(["driver.device-nodes-closed"])[0]
    problem = run(check, facts)[0].problem
    assert problem is not None
    texts = (check.title, problem.message, problem.cause or check.cause)
    assert any("Jetson" in text or "nvmap" in text for text in texts) is named
