"""OpenVINO without an OpenCL driver for the Intel GPU."""

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.intel.opencl_missing import opencl_missing
from gpudoctor.checks.intel.render_node_closed import render_node_closed
from gpudoctor.facts import Facts
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework
from tests.checks.intel_machines import ARC, CLOSED, UHD, arc_host

WHY = Unknown("not to be seen")
VINO = ("openvino==2025.3.0",)
MESSAGE = (
    "The Intel GPU at {} has no OpenCL driver (there is no /etc/OpenCL/vendors/intel.icd), so OpenVINO 2025.3.0 does "
    "not find it."
)
CARD = MESSAGE.format("0000:03:00.0 (DG2 [Arc A770])")
GRAPHICS = MESSAGE.format("0000:00:02.0 (UHD Graphics 770)")
PASS, SKIPPED = ("pass", ""), ("skipped", "")


def vino(opencl: object = False, packages: tuple[str, ...] = VINO) -> Facts:
    return change(arc_host(framework(), packages=packages), "intel.opencl", opencl)


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (vino(), ("problem", CARD), Severity.WARNING),
        (change(vino(), "pci", (UHD,)), ("problem", GRAPHICS), Severity.ADVICE),
        (vino(True), PASS, None),
        (vino(WHY), ("unknown", "not to be seen"), None),
        (vino(packages=("numpy==2.1.0",)), SKIPPED, None),
        (change(vino(), "pci", ()), SKIPPED, None),
        (change(vino(), "pci", (msgspec.structs.replace(ARC, driver=None),)), SKIPPED, None),  # intel.not-driven
        (change(vino(), "host.environment", {"OCL_ICD_VENDORS": "/opt/vendors"}), PASS, None),
        (change(vino(), "host.distribution", Distribution(id="nixos")), PASS, None),  # elsewhere: /run/opengl-driver
        (change(vino(), "host.system", "Windows"), SKIPPED, None),
    ],
)
def test_opencl_missing(facts: Facts, verdict: tuple[str, str], severity: Severity | None) -> None:
    assert ask(opencl_missing, facts) == [verdict]
    if severity:
        assert [v.severity for v in run(opencl_missing, facts)] == [severity]


@pytest.mark.parametrize(
    ("identity", "command"),
    [("ubuntu", "sudo apt-get install intel-opencl-icd"), ("arch", "sudo pacman -S intel-compute-runtime")],
)
def test_the_package_of_each_family(identity: str, command: str) -> None:
    (fix,) = run(opencl_missing, change(vino(), "host.distribution", Distribution(id=identity)))[0].fixes
    assert fix.commands == (command,)


def test_in_an_image_the_lists_of_packages_are_fetched_first() -> None:
    (verdict,) = run(opencl_missing, change(vino(), "host.container", "docker"))
    assert verdict.fixes[0].commands == ("sudo apt-get update", "sudo apt-get install intel-opencl-icd")
    assert "Dockerfile" in verdict.fixes[0].message


def test_openvino_needs_the_render_node_of_a_processor_too() -> None:
    closed = change(change(vino(True), "pci", (UHD,)), "intel.render", (CLOSED,))
    closed = change(closed, "intel.level_zero", None)
    (verdict,) = run(render_node_closed, closed)
    assert verdict.message == (
        "/dev/dri/renderD128 cannot be opened (EACCES): it belongs to the group render, mode 660."
    )
    assert verdict.severity is Severity.WARNING
    assert ask(render_node_closed, change(closed, "pythons.0.packages", ())) == [SKIPPED]


@pytest.mark.parametrize(
    ("engine", "gid", "command"),
    [
        ("docker", 109, "docker run --device /dev/dri --group-add 109 ..."),
        ("podman", 65534, "podman --runtime crun run --group-add keep-groups --device /dev/dri ..."),
    ],
)
def test_the_group_comes_into_the_container(engine: str, gid: int, command: str) -> None:
    node = msgspec.structs.replace(CLOSED, gid=gid)
    closed = change(change(vino(True), "intel.render", (node,)), "host.container", engine)
    assert run(render_node_closed, closed)[0].fixes[0].commands == (command,)
