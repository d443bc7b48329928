"""A kernel whose package brings another release of NVIDIA's module than the libraries."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Distribution
from tests.builders import FEDORA, change
from tests.checks.nvidia_machines import KERNEL, disk, having, versions

HALF = versions("520.56.06", "520.56.06", "525.85.12")


def test_a_kernel_that_brings_an_older_module() -> None:
    path = f"/lib/modules/{KERNEL}/nvidia/nvidia.ko.zst"
    old = disk(path=path, version="575.64.05")
    there = disk(kernel="6.15.10-200.fc42.x86_64", path="/lib/modules/6.15.10-200.fc42.x86_64/extra/nvidia.ko.xz")
    faulty = having(HALF, nvidia__kernel__on_disk=(old,), nvidia__kernel__other_kernels=(there,))
    faulty = having(faulty, nvidia__kernel__packages=(("akmod-nvidia", "580.82.09-1", "ii"),))
    faulty = change(change(faulty, "host.distribution.id", "fedora"), "host.distribution.like", ())
    (verdict,) = run(catalogue.load(["driver.half-upgraded"])[0], faulty)
    assert verdict.problem
    assert "The running kernel's own package contains NVIDIA's module" in (verdict.problem.cause or "")
    newer, boot, without = verdict.fixes
    assert newer.commands == ("sudo dnf upgrade --refresh 'kernel*'", "sudo reboot")
    assert boot.commands[0] == "sudo grubby --set-default /boot/vmlinuz-6.15.10-200.fc42.x86_64"
    # the kernel's own package has no "nvidia" in its name, and stays
    assert without.commands[0] == f"sudo dnf remove \"$(rpm -qf --qf '%{{NAME}}\\n' {path} | grep nvidia)\""
    assert without.commands[1] == f"sudo akmods --force --kernels {KERNEL}"


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"nvidia__kernel__image_keys": ()}, ("sudo rpm-ostree upgrade", "sudo reboot")),
        ({"host__distribution": Distribution(id="void", like=())}, ()),
    ],
)
def test_a_kernel_with_an_older_module_elsewhere(changes: dict[str, Any], first: tuple[str, ...]) -> None:
    old = disk(path=f"/lib/modules/{KERNEL}/nvidia/nvidia.ko.zst", version="575.64.05")
    facts = having(HALF, nvidia__kernel__on_disk=(old,), host__distribution=FEDORA)
    facts = having(facts, nvidia__kernel__packages=(("akmod-nvidia", "580.82.09-1", "ii"),))
    fixes = run(catalogue.load(["driver.half-upgraded"])[0], having(facts, **changes))[0].fixes
    assert fixes[0].commands == first
    assert not any("dnf" in command for fix in fixes for command in fix.commands)
