"""Checks of AMD's compute driver and of ROCm."""

from typing import Any

import pytest

from gpudoctor.check_engine import Check, run
from gpudoctor.checks.rocm.dkms_build_failed import dkms_build_failed
from gpudoctor.checks.rocm.gfx_not_in_wheel import gfx_not_in_wheel
from gpudoctor.checks.rocm.half_installed import half_installed
from gpudoctor.checks.rocm.kfd_failed import kfd_failed
from gpudoctor.checks.rocm.kfd_missing import kfd_missing
from gpudoctor.checks.rocm.kfd_no_permission import kfd_no_permission
from gpudoctor.checks.rocm.kfd_refused import kfd_refused
from gpudoctor.checks.rocm.no_topology import no_topology
from gpudoctor.checks.rocm.not_loaded import not_loaded
from gpudoctor.checks.rocm.override_left_on import override_left_on
from gpudoctor.checks.rocm.override_of_another_isa import override_of_another_isa
from gpudoctor.checks.rocm.pcie_atomics import pcie_atomics
from gpudoctor.checks.rocm.render_node_closed import render_node_closed
from gpudoctor.facts import Dkms, Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, gpu, nvidia_host
from tests.checks.amd_machines import IGPU, RADEON, VIDEO, amd_host, kfd, render

ALL: tuple[Check[Any], ...] = (
    dkms_build_failed,
    gfx_not_in_wheel,
    half_installed,
    kfd_failed,
    kfd_missing,
    kfd_no_permission,
    kfd_refused,
    no_topology,
    not_loaded,
    override_left_on,
    override_of_another_isa,
    pcie_atomics,
    render_node_closed,
)
WHY = Unknown("not to be seen")
ATOMICS = LogEvent(
    kind="amdgpu-atomics", text="kfd: skipped device 1002:67df, PCI rejects atomics", what={"code": "67df"}
)
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def card(gfx: str, index: int = 0) -> Any:
    """A discrete GPU of a target."""
    return gpu(index, vendor="amd", name="Radeon", gfx=gfx, capability=None, uuid=None)


def overridden(gfx: str, text: str, archs: tuple[str, ...] = ("gfx1030", "gfx1100")) -> Facts:
    """A GPU and an override."""
    return change(amd_host((card(gfx),), archs), "host.environment", {OVERRIDE: text})


def inside(facts: Facts, engine: str = "docker") -> Facts:
    """The same in a container."""
    return change(facts, "host.container", engine)


def said(facts: Facts) -> dict[str, str]:
    """The problems that the checks see: id and sentence."""
    return {
        c.id.removeprefix("rocm."): message for c in ALL for outcome, message in ask(c, facts) if outcome == "problem"
    }


CLOSED = amd_host(kfd=(kfd(error="EACCES"),))
STRANGER = change(CLOSED, "host.user.groups", (VIDEO,))


@pytest.mark.parametrize(
    "facts",
    [
        nvidia_host(),
        amd_host(),
        amd_host((RADEON, IGPU)),
        amd_host(kfd=(kfd(mode="666"),)),  # open to all: groups do not matter
        inside(amd_host()),
        amd_host(packages=(("amdgpu-dkms", "6.3", "ii"), ("rocm-core", "5.7", "rc"))),
        amd_host(dkms=(Dkms(module="amdgpu", version="6.10", kernel="6.8.0-60-generic", state="installed"),)),
        amd_host((card("gfx1031"),), ("gfx10-3-generic",)),
        amd_host((card("gfx90a"),), ("gfx90a:sramecc+:xnack-",)),
        overridden("gfx1031", "10.3.0"),
        overridden("gfx90c", "9.0.0", ("gfx900",)),
        amd_host(render=(render(error="EACCES"), render(error=None))),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert said(facts) == {}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            amd_host((), loaded=False, kfd=(), render=(), topology=False),
            {},
        ),
        (
            change(amd_host(loaded=False, kfd=(), render=(), topology=False), "gpus", ()),
            {
                "not-loaded": "amdgpu is not loaded for the GPU at 0000:01:00.0 (Radeon RX 7900 XTX).",
            },
        ),
        (
            amd_host(loaded=False, blacklisted=True, kfd=(), render=()),
            {
                "not-loaded": "amdgpu is not loaded for the GPU at 0000:01:00.0 (Radeon RX 7900 XTX). It is "
                "blacklisted.",
            },
        ),
        (
            change(amd_host(), "log.events", (ATOMICS,)),
            {
                "pcie-atomics": "KFD skips GPU 1002:67df, because the path to it rejects PCIe atomics.",
            },
        ),
        (
            inside(amd_host(kfd=(), render=())),
            {
                "kfd-missing": "/dev/kfd was not passed into this container, nor was /dev/dri; amdgpu is loaded on "
                "the host."
            },
        ),
        (
            amd_host(kfd=()),
            {
                "kfd-missing": "/dev/kfd does not exist (ENOENT), although amdgpu is loaded: its compute part, KFD, "
                "did not start."
            },
        ),
        (
            STRANGER,
            {
                "kfd-no-permission": "/dev/kfd cannot be opened: Permission denied (EACCES). It belongs to the group "
                "render (mode 660); you are not in that group."
            },
        ),
        (
            amd_host(kfd=(kfd(error="EPERM"),)),
            {
                "kfd-refused": "/dev/kfd cannot be opened: Operation not permitted (EPERM); the kernel denies it; "
                "group membership is not the cause."
            },
        ),
        (
            amd_host(kfd=(kfd(error="ENOMEM"),)),
            {
                "kfd-failed": "Opening /dev/kfd fails with ENOMEM: the driver could not set up a process on the GPU: "
                "GPU or machine is not supported, or the GPU failed. GPU: Radeon RX 7900 XTX (gfx1100)."
            },
        ),
        (
            amd_host(render=(render(error="EACCES"),)),
            {
                "render-node-closed": "/dev/dri/renderD128 cannot be opened (EACCES): it belongs to the group render, "
                "mode 660."
            },
        ),
        (
            inside(amd_host(render=())),
            {"render-node-closed": "/dev/kfd was passed into this container, but /dev/dri/renderD* was not."},
        ),
        (
            amd_host(packages=(("rock-dkms", "3.7", "iF"),)),
            {"half-installed": "rock-dkms 3.7 is half-configured (its postinst script failed)."},
        ),
        (
            amd_host(dkms=(Dkms(module="amdgpu", version="6.10", state="added"),)),
            {
                "dkms-build-failed": "DKMS has not installed amdgpu for kernel 6.8.0-60-generic (amdgpu/6.10: added). "
                "The kernel's own (in-tree) amdgpu is loaded instead, and /dev/kfd opens."
            },
        ),
        (
            change(amd_host(topology=False), "gpus", ()),
            {"no-topology": "/dev/kfd opens, but KFD lists no GPU, although PCI shows Radeon RX 7900 XTX."},
        ),
        (
            amd_host((card("gfx1031"),)),
            {
                "gfx-not-in-wheel": "PyTorch 2.7.1+rocm6.3 was not compiled for gfx1031 (Radeon): it has no kernels "
                "for this GPU, only for gfx1030 gfx1100."
            },
        ),
        (
            overridden("gfx1031", "10.3.0", ("gfx1100",)),
            {
                "gfx-not-in-wheel": "PyTorch 2.7.1+rocm6.3 was not compiled for gfx1031 (Radeon): it has no kernels "
                "for this GPU, only for gfx1100. With HSA_OVERRIDE_GFX_VERSION=10.3.0 it looks for gfx1030, which is "
                "not included either."
            },
        ),
        (
            overridden("gfx1150", "11.0.0"),
            {
                "override-of-another-isa": "HSA_OVERRIDE_GFX_VERSION is 11.0.0, but GPU 0 (Radeon) is gfx1150: "
                "gfx1100 has another instruction set than gfx1150."
            },
        ),
        (
            overridden("gfx1030", "gfx1030"),
            {
                "override-of-another-isa": "HSA_OVERRIDE_GFX_VERSION is gfx1030, but GPU 0 (Radeon) is gfx1030: it is "
                "not in the form 10.3.0, and ROCm refuses to start with it."
            },
        ),
        (
            overridden("gfx1103", "11.0.0"),
            {
                "override-of-another-isa": "HSA_OVERRIDE_GFX_VERSION is 11.0.0, but GPU 0 (Radeon) is gfx1103: the "
                "family is the same, but gfx1103 is known to hang with kernels of gfx1100."
            },
        ),
        (
            overridden("gfx1101", "11.0.0", ("gfx1100", "gfx1101")),
            {
                "override-left-on": "HSA_OVERRIDE_GFX_VERSION=11.0.0 is set, although the framework has kernels for "
                "gfx1101 itself."
            },
        ),
        (
            change(amd_host((card("gfx1030"), card("gfx1100", 1))), "host.environment", {OVERRIDE: "10.3.0"}),
            {"override-left-on": "HSA_OVERRIDE_GFX_VERSION=10.3.0 applies to all GPUs, but GPU 1 (Radeon) is gfx1100."},
        ),
    ],
)
def test_problems(facts: Facts, message: dict[str, str]) -> None:
    assert said(facts) == message


@pytest.mark.parametrize(
    ("check", "facts", "path"),
    [
        (dkms_build_failed, amd_host(), "amd.dkms"),
        (gfx_not_in_wheel, amd_host(), "pythons.0.frameworks.0.archs"),
        (half_installed, amd_host(), "amd.packages"),
        (kfd_failed, amd_host(), "amd.kfd.0.error"),
        (kfd_missing, amd_host(), "amd.kfd"),
        (kfd_no_permission, amd_host(), "amd.kfd.0.error"),
        (kfd_refused, amd_host(), "amd.kfd.0.error"),
        (no_topology, amd_host(), "amd.kfd.0.error"),
        (not_loaded, amd_host(), "amd.loaded"),
        (override_left_on, overridden("gfx1031", "10.3.0"), "gpus.0.gfx"),
        (override_of_another_isa, overridden("gfx1031", "10.3.0"), "gpus.0.gfx"),
        (pcie_atomics, amd_host(), "log.events"),
        (render_node_closed, amd_host(), "amd.render"),
    ],
)
def test_unknown(check: Check[Any], facts: Facts, path: str) -> None:
    assert ask(check, change(facts, path, WHY)) == [("unknown", "not to be seen")]


def commands(check: Check[Any], facts: Facts) -> list[str]:
    """The commands of the fixes."""
    return [command for verdict in run(check, facts) for fix in verdict.fixes for command in fix.commands]


def test_groups() -> None:
    assert commands(kfd_no_permission, STRANGER) == ["sudo usermod -aG render,video ada"]
    assert commands(kfd_no_permission, inside(STRANGER)) == [
        "docker run --device /dev/kfd --device /dev/dri --group-add 110 ..."
    ]
    unmapped = change(inside(STRANGER, "podman"), "amd.kfd.0.gid", 65534)
    (kept,) = run(kfd_no_permission, unmapped)[0].fixes
    assert kept.commands == (
        "podman --runtime crun run --group-add keep-groups --device /dev/kfd --device /dev/dri ...",
    )
    assert "only with the runtime crun" in kept.message
    assert commands(kfd_no_permission, inside(STRANGER, "podman"))[0].startswith("podman run --device /dev/kfd")
    nobody = change(STRANGER, "amd.kfd.0.gid", 0)
    assert "/etc/udev/rules.d/70-amdgpu.rules" in commands(kfd_no_permission, nobody)[0]
    for error, check in (("EPERM", kfd_refused), ("ENOMEM", kfd_failed)):
        facts = change(STRANGER, "amd.kfd.0.error", error)
        assert not any("usermod" in c for c in commands(check, facts))


def test_a_chip_that_the_kernel_does_not_compute_with_needs_no_reboot() -> None:
    line = LogEvent(kind="kfd-skipped", text="kfd kfd: amdgpu: PITCAIRN  not supported in kfd")
    facts = change(change(amd_host(), "amd.kfd.0.error", "ENOMEM"), "log.events", (line,))
    [verdict] = run(kfd_failed, change(facts, "gpus", ()))
    assert verdict.problem is not None
    assert "no ROCm release can use it" in (verdict.problem.cause or "")
    assert not any(fix.commands for fix in verdict.fixes)
    [other] = run(kfd_failed, facts)  # a GPU that ROCm lists is not the one that was skipped
    assert other.problem is not None
    assert other.problem.cause is None


def test_overrides_are_advised_only_where_they_work() -> None:
    assert commands(gfx_not_in_wheel, amd_host((card("gfx1031"),)))[0] == f"export {OVERRIDE}=10.3.0"
    for gfx in ("gfx1150", "gfx1103", "gfx1010"):
        assert not any(OVERRIDE in c for c in commands(gfx_not_in_wheel, amd_host((card(gfx),))))
    newer = commands(gfx_not_in_wheel, amd_host((card("gfx1201"),)))
    assert any("download.pytorch.org/whl/rocm" in c for c in newer)


def test_a_node_for_root_alone_needs_a_rule_and_no_group() -> None:
    root = amd_host(kfd=(kfd(error="EACCES", mode="600", gid=0),))
    assert said(root)["kfd-no-permission"].endswith(
        "Only root may open it (group 0, mode 600): no udev rule assigned it to a group."
    )
    member = kfd_no_permission.fixes_for(root)[0]
    assert not any("usermod" in command for command in member.commands)
    assert 'KERNEL=="kfd", GROUP="render", MODE="0660"' in member.commands[0]
    stranger = kfd_no_permission.fixes_for(change(root, "host.user.groups", (VIDEO,)))[0]
    assert stranger.commands[-1] == "sudo usermod -aG render,video ada"
    assert stranger.commands[0] == member.commands[0]
