"""What changed: the record of a package manager in the evidence, and the later fix that holds the packages."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import check_engine
from gpudoctor.check_engine import Fix
from gpudoctor.checks.driver.built_for_another_kernel import built_for_another_kernel
from gpudoctor.checks.driver.dkms_build_failed import dkms_build_failed
from gpudoctor.checks.driver.half_upgraded import half_upgraded
from gpudoctor.checks.driver.library_mismatch import library_mismatch
from gpudoctor.facts import Distribution, Facts, PackageSource
from gpudoctor.facts.history import ChangeHistory, RecordedChange
from gpudoctor.maybe import Unknown
from gpudoctor.tasks import Edit
from gpudoctor.tasks.as_typed import typed
from tests.checks.nvidia_machines import KERNEL, OTHER, disk, having, unloaded, versions

LOG = "/var/log/apt/history.log"
NAMES = ("libnvidia-compute-550", "nvidia-dkms-550", "nvidia-driver-550")
PENDING = having(
    versions("550.90.07", "550.107.02", "550.107.02"),
    nvidia__kernel__packages=tuple((name, "550.107.02-0ubuntu0.24.04.1", "ii") for name in NAMES),
)
FAMILIES = {
    "fedora": Distribution(id="fedora", version="42"),
    "suse": Distribution(id="opensuse-leap", version="15.6", like=("suse",)),
    "arch": Distribution(id="arch"),
}
WRITE = (
    "sudo tee /etc/apt/apt.conf.d/52unattended-upgrades-{}",
    "sudo rm /etc/apt/apt.conf.d/52unattended-upgrades-{}",
)


def upgrade(name: str = "nvidia-driver-550", **changes: Any) -> RecordedChange:
    plain = {
        "time": "2026-11-20 06:31:52",
        "action": "upgrade",
        "name": name,
        "old": "550.90.07-0ubuntu0.24.04.1",
        "new": "550.107.02-0ubuntu0.24.04.1",
        "command": "/usr/bin/unattended-upgrade",
        "source": LOG,
    }
    return RecordedChange(**(plain | changes))


def after(*changes: RecordedChange, boot: Any = "2026-11-02 08:14:09", facts: Facts = PENDING) -> Facts:
    return having(facts, history=ChangeHistory(packages=changes, boot=boot))


def evidence(facts: Facts, check: Any = library_mismatch) -> str:
    (verdict,) = check_engine.run(check, facts)
    assert verdict.problem is not None
    return verdict.problem.evidence[0] if verdict.problem.evidence else ""


def later(facts: Facts, check: Any = library_mismatch) -> list[Fix]:
    """The fixes that only keep it from coming back: never the first, and each can be taken back."""
    (verdict,) = check_engine.run(check, facts)
    assert verdict.fixes
    assert not verdict.fixes[0].later
    found = [fix for fix in verdict.fixes if fix.later]
    assert all(fix.undo and fix.message.startswith("Optional: ") for fix in found)
    return found


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (
            after(upgrade("libnvidia-compute-550"), upgrade()),
            f"{LOG}: unattended-upgrades upgraded nvidia-driver-550 from 550.90.07 to 550.107.02 on 2026-11-20 06:31; "
            "this boot is older, from 2026-11-02 08:14",
        ),
        (
            after(upgrade(command="apt upgrade", user="alice"), boot=Unknown("no /proc/stat")),
            f"{LOG}: `apt upgrade` (asked for by alice) upgraded nvidia-driver-550 from 550.90.07 to 550.107.02 on "
            "2026-11-20 06:31",
        ),
        (
            after(upgrade(command=None, source="/var/log/dpkg.log"), boot="2026-11-21 09:00:00"),
            "/var/log/dpkg.log: nvidia-driver-550 was upgraded from 550.90.07 to 550.107.02 on 2026-11-20 06:31; "
            "this boot is from 2026-11-21 09:00",
        ),
        (
            after(upgrade(error="Sub-process /usr/bin/dpkg returned an error code (1)"), boot=Unknown()),
            f"{LOG}: unattended-upgrades upgraded nvidia-driver-550 from 550.90.07 to 550.107.02 on 2026-11-20 06:31; "
            "it ended with: Sub-process /usr/bin/dpkg returned an error code (1)",
        ),
    ],
)
def test_the_evidence_names_who_upgraded_what_and_when(facts: Facts, line: str) -> None:
    assert evidence(facts) == line


@pytest.mark.parametrize(
    "facts",
    [
        PENDING,
        after(),
        having(PENDING, history=ChangeHistory(packages=Unknown("no package manager's log is here"))),
        after(upgrade(new="550.120-0ubuntu0.24.04.1")),  # of another version: it explains nothing
        after(upgrade("nvidia-driver-550", action="remove", old="550.107.02", new=None)),
    ],
)
def test_without_a_record_nothing_is_said(facts: Facts) -> None:
    assert "/var/log" not in evidence(facts)
    assert later(facts) == []


def test_a_half_upgraded_driver_names_its_upgrade_too() -> None:
    half = having(PENDING, nvidia__kernel__on_disk=(disk("550.90.07"),))
    assert "unattended-upgrades upgraded nvidia-driver-550" in evidence(after(upgrade(), facts=half), half_upgraded)


@pytest.mark.parametrize(
    ("changes", "facts", "commands", "undo"),
    [
        (
            {"command": "apt upgrade"},
            {},
            (f"sudo apt-mark hold {' '.join(NAMES)}",),
            f"sudo apt-mark unhold {' '.join(NAMES)}",
        ),
        (
            {"command": "apt full-upgrade", "old": "545.29.06-1"},
            {"host__sources": (PackageSource(path="/etc/apt/sources.list.d/cuda.list", kind="nvidia"),)},
            ("sudo apt-get install nvidia-driver-pinning-550",),
            "sudo apt-get remove nvidia-driver-pinning-550",
        ),
        (
            {"command": "dnf upgrade", "source": "/usr/lib/sysimage/libdnf5/transaction_history.sqlite"},
            {"host__distribution": FAMILIES["fedora"]},
            (f"sudo dnf versionlock add {' '.join(NAMES)}",),
            f"sudo dnf versionlock delete {' '.join(NAMES)}",
        ),
        (
            {"command": "upgrade", "source": "/var/lib/dnf/history.sqlite"},
            {"host__distribution": FAMILIES["fedora"]},
            (
                "sudo dnf install python3-dnf-plugin-versionlock",
                f"sudo dnf versionlock add {' '.join(NAMES)}",
            ),
            f"sudo dnf versionlock delete {' '.join(NAMES)}",
        ),
        (
            {"command": "zypper up", "source": "/var/log/zypp/history"},
            {"host__distribution": FAMILIES["suse"]},
            (f"sudo zypper addlock {' '.join(NAMES)}",),
            f"sudo zypper removelock {' '.join(NAMES)}",
        ),
        (
            {"command": "pacman -Syu", "source": "/var/log/pacman.log"},
            {"host__distribution": FAMILIES["arch"], "host__kernel__release": "6.12.1-arch1-1"},
            (f"IgnorePkg = linux linux-headers {' '.join(NAMES)}",),
            "Take the line IgnorePkg out again.",
        ),
    ],
)
def test_the_hold_is_of_this_package_manager(
    changes: dict[str, Any], facts: dict[str, Any], commands: tuple[str, ...], undo: str
) -> None:
    (fix,) = later(having(after(upgrade(**changes)), **facts))
    assert fix.commands == commands
    assert list(typed(fix.undo)) == [undo]


def test_unattended_upgrades_has_a_file_of_its_own() -> None:
    (fix,) = later(after(upgrade()))
    assert '"libnv(idia|cuvid|optix)";' in fix.commands[0]
    assert "linux-" not in fix.commands[0]
    assert fix.commands[0].endswith(WRITE[0].format("nvidia"))
    assert typed(fix.undo) == (WRITE[1].format("nvidia"),)


def test_prebuilt_modules_are_held_with_their_kernel_or_not_at_all() -> None:
    names = ("nvidia-driver-550", "linux-modules-nvidia-550-generic")
    facts = having(after(upgrade()), nvidia__kernel__packages=tuple((n, "550.107.02-1", "ii") for n in names))
    (fix,) = later(facts)
    assert '"linux-modules-nvidia-";' in fix.commands[0]
    assert "driver and kernel" in fix.message
    assert later(having(facts, history=ChangeHistory(packages=(upgrade(command="apt upgrade"),)))) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"host__distribution": Distribution(id="fedora", version="42"), "nvidia__kernel__image_keys": ()},
        {"host__distribution": Distribution(id="amzn", version="2", like=("fedora",))},
        {"host__distribution": Distribution(id="gentoo")},
        {"nvidia__kernel__packages": Unknown("dpkg-query failed")},
        {  # modules without akmods and DKMS are of one kernel
            "host__distribution": FAMILIES["fedora"],
            "nvidia__kernel__packages": (("kmod-nvidia-open-6.10.3", "550.107.02-1", "ii"),),
        },
    ],
)
def test_where_nothing_can_be_held_nothing_is_offered(changes: dict[str, Any]) -> None:
    assert later(having(after(upgrade(command="upgrade")), **changes)) == []


def new_kernel(**changes: Any) -> Facts:
    plain: dict[str, Any] = {
        "nvidia__kernel__on_disk": (),
        "nvidia__kernel__other_kernels": (disk(kernel=OTHER),),
        "nvidia__kernel__dkms": (),
    }
    return unloaded(**(plain | changes))


KERNEL_LINE = (
    f"{LOG}: unattended-upgrades installed linux-image-{KERNEL} on 2026-11-20 06:31; this boot is from 2026-11-21 09:00"
)
IMAGE = upgrade(f"linux-image-{KERNEL}", action="install", old=None, new="6.8.0-60.63")


def test_a_module_that_was_not_built_names_what_brought_the_kernel() -> None:
    facts = after(IMAGE, boot="2026-11-21 09:00:00", facts=new_kernel())
    assert evidence(facts, built_for_another_kernel) == KERNEL_LINE
    (fix,) = later(facts, built_for_another_kernel)
    assert fix.commands[0].endswith(WRITE[0].format("kernel"))
    failed = having(facts, nvidia__kernel__dkms_errors=("cc: error: unrecognized option",))
    assert evidence(failed, dkms_build_failed) == KERNEL_LINE


@pytest.mark.parametrize(
    ("release", "name", "new", "gone"),
    [
        ("6.10.3-200.fc40.x86_64", "kernel-core", "6.10.3-200.fc40", False),
        ("6.4.0-150600.23.25-default", "kernel-default", "6.4.0-150600.23.25.1", False),
        ("6.12.1-arch1-1", "linux", "6.12.1.arch1-1", False),
        ("6.6.44-1-lts", "linux-lts", "6.6.44-1", False),
        ("6.12.1-arch1-1", "linux", "6.12.2.arch1-1", True),
    ],
)
def test_kernels_of_other_distributions(release: str, name: str, new: str, gone: bool) -> None:
    old = "6.12.1.arch1-1" if gone else "6.1-1"
    changes: dict[str, Any] = {"host__kernel__release": release, "host__kernel__modules": not gone}
    facts = after(upgrade(name, old=old, new=new), upgrade("linux", old="1-1", new="2-1"), facts=new_kernel(**changes))
    assert f"upgraded {name} from" in evidence(facts, built_for_another_kernel)


def test_a_kernel_of_another_release_explains_nothing() -> None:
    facts = after(upgrade(f"linux-image-{OTHER}", action="install", old=None), facts=new_kernel())
    assert "/var/log" not in evidence(facts, built_for_another_kernel)


@pytest.mark.skipif(shutil.which("apt-config") is None, reason="apt is not installed")
def test_a_real_apt_adds_the_list_to_those_that_are_there(tmp_path: Path) -> None:
    (fix,) = later(after(upgrade()))
    (edit,) = fix.tasks
    assert isinstance(edit, Edit)
    own = 'Unattended-Upgrade::Package-Blacklist { "vim"; };\n'
    (tmp_path / "both.conf").write_text(own + str(edit.text))
    command = ["apt-config", "-c", str(tmp_path / "both.conf"), "dump", "Unattended-Upgrade::Package-Blacklist"]
    listed = re.findall(r'"(.+)"', subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert listed[0] == "vim"

    def held(name: str) -> bool:  # as unattended-upgrades does: is_pkgname_in_blacklist
        return any(re.match(pattern, name) for pattern in listed)

    there = (*NAMES, "libnvidia-gl-550", "libcuda1", "libnvcuvid1", "xserver-xorg-video-nvidia-550", "cuda-drivers-550")
    assert all(map(held, there))
    assert not any(map(held, ("libnvme1", "libnvpair3linux", "linux-image-generic", "python3", "cuda-toolkit-12-4")))
