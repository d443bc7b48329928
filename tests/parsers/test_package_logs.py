"""Logs of package managers: real lines of a Debian, and lines in the formats that the others document."""

import pytest

from gpudoctor.facts.history import RecordedChange
from gpudoctor.parsers.conda_history import CondaChange, last_change
from gpudoctor.parsers.package_logs import apt_history, dpkg_log, pacman_log, rpm_log, zypp_history

# Of a Debian 12, with what is not of GPUs shortened.
DEBIAN = """
Start-Date: 2025-06-24  14:36:25
Commandline: apt-get -qqy upgrade
Upgrade: libsystemd0:amd64 (252.36-1~deb12u1, 252.38-1~deb12u1), libudev1:amd64 (252.36-1~deb12u1, 252.38-1~deb12u1)
End-Date: 2025-06-24  14:36:25

Start-Date: 2025-06-24  14:42:05
Commandline: apt-get install -qqy gcc python3-pip
Install: python3-pip:amd64 (23.0.1+dfsg-1), gcc-12:amd64 (12.2.0-14+deb12u1, automatic), gcc:amd64 (4:12.2.0-3)
End-Date: 2025-06-24  14:42:10
"""
UBUNTU = """
Start-Date: 2026-11-20  06:31:52
Commandline: /usr/bin/unattended-upgrade
Upgrade: nvidia-driver-550:amd64 (550.90.07-0ubuntu0.24.04.1, 550.107.02-0ubuntu0.24.04.1), curl:amd64 (8-2, 8-3)
Error: Sub-process /usr/bin/dpkg returned an error code (1)
End-Date: 2026-11-20  06:33:02

Start-Date: 2026-11-21  09:00:00
Commandline: apt purge nvidia-dkms-550
Requested-By: alice (1000)
Purge: nvidia-dkms-550:amd64 (550.107.02-0ubuntu0.24.04.1)
Downgrade: nvidia-container-toolkit:amd64 (1.17.4-1, 1.16.2-1)
"""


def short(changes: list[RecordedChange]) -> list[tuple[str | None, ...]]:
    return [(c.time, c.action, c.name, c.old, c.new) for c in changes]


def test_apt_of_a_real_debian() -> None:
    found = apt_history(DEBIAN, "/var/log/apt/history.log")
    assert short(found) == [
        ("2025-06-24 14:42:05", "install", "gcc-12", None, "12.2.0-14+deb12u1"),
        ("2025-06-24 14:42:05", "install", "gcc", None, "4:12.2.0-3"),
    ]
    assert found[0].command == "apt-get install -qqy gcc python3-pip"
    assert (found[0].user, found[0].error, found[0].source) == (None, None, "/var/log/apt/history.log")


def test_apt_names_who_asked_and_how_it_failed() -> None:
    upgrade, purge, down = sorted(apt_history(UBUNTU), key=lambda c: c.action != "upgrade" and c.action != "remove")
    assert short([upgrade]) == [
        (
            *("2026-11-20 06:31:52", "upgrade", "nvidia-driver-550"),
            *("550.90.07-0ubuntu0.24.04.1", "550.107.02-0ubuntu0.24.04.1"),
        )
    ]
    assert (upgrade.command, upgrade.user) == ("/usr/bin/unattended-upgrade", None)
    assert upgrade.error == "Sub-process /usr/bin/dpkg returned an error code (1)"
    assert (purge.action, purge.old, purge.new, purge.user) == ("remove", "550.107.02-0ubuntu0.24.04.1", None, "alice")
    assert (down.action, down.old, down.new) == ("downgrade", "1.17.4-1", "1.16.2-1")


def test_dpkg() -> None:
    text = (
        "2026-11-20 06:31:55 startup archives unpack\n"
        "2026-11-20 06:31:56 upgrade libnvidia-compute-550:amd64 550.90.07-0ubuntu1 550.107.02-0ubuntu1\n"
        "2026-11-20 06:31:57 status half-configured libnvidia-compute-550:amd64 550.90.07-0ubuntu1\n"
        "2026-11-20 06:31:58 install linux-image-6.8.0-90-generic:amd64 <none> 6.8.0-90.91\n"
        "2026-11-20 06:31:59 upgrade gcc:amd64 4:12.2.0-3 4:12.2.0-3\n"
        "2026-11-20 06:32:00 purge nvidia-dkms-535:amd64 535.183-0ubuntu1 <none>\n"
    )
    assert [(c.action, c.name, c.old, c.new) for c in dpkg_log(text)] == [
        ("upgrade", "libnvidia-compute-550", "550.90.07-0ubuntu1", "550.107.02-0ubuntu1"),
        ("install", "linux-image-6.8.0-90-generic", None, "6.8.0-90.91"),
        ("reinstall", "gcc", "4:12.2.0-3", "4:12.2.0-3"),
        ("remove", "nvidia-dkms-535", "535.183-0ubuntu1", None),
    ]


def test_pacman() -> None:
    text = (
        "[2026-11-20T06:31:52+0100] [PACMAN] Running 'pacman -Syu'\n"
        "[2026-11-20T06:32:52+0100] [ALPM] upgraded nvidia-utils (550.90.07-1 -> 550.107.02-1)\n"
        "[2026-11-20T06:32:53+0100] [ALPM] upgraded linux (6.12.1.arch1-1 -> 6.12.2.arch1-1)\n"
        "[2026-11-20T06:32:53+0100] [ALPM] upgraded firefox (1-1 -> 2-1)\n"
        "[2026-11-20T06:33:00+0100] [ALPM-SCRIPTLET] ==> dkms install nvidia/550.107.02\n"
        "[2019-01-01 10:10] [ALPM] installed nvidia-dkms (415.25-1)\n"
    )
    found = pacman_log(text)
    assert short(found) == [
        ("2026-11-20 06:32:52", "upgrade", "nvidia-utils", "550.90.07-1", "550.107.02-1"),
        ("2026-11-20 06:32:53", "upgrade", "linux", "6.12.1.arch1-1", "6.12.2.arch1-1"),
        ("2019-01-01 10:10:00", "install", "nvidia-dkms", None, "415.25-1"),
    ]
    assert found[0].command == "pacman -Syu"


def test_zypper() -> None:
    text = (
        "# 2026-11-01 10:00:00 nvidia-gl-G06-550.90.07 installed ok\n"
        "2026-11-01 10:00:00|install|nvidia-gl-G06|550.90.07-1.1|x86_64|root@host|repo|abc|\n"
        "2026-11-20 06:31:52|command|root@host|'zypper' 'up'|\n"
        "2026-11-20 06:32:52|install|nvidia-gl-G06|550.107.02-1.1|x86_64||repo|abc|\n"
        "2026-11-20 06:33:52|remove |nvidia-gl-G06|550.107.02-1.1|x86_64|root@host|\n"
        "2026-11-20 06:33:53|radd   |repo|http://x|\n"
    )
    found = zypp_history(text)
    assert short(found) == [
        ("2026-11-01 10:00:00", "install", "nvidia-gl-G06", None, "550.90.07-1.1"),
        ("2026-11-20 06:32:52", "upgrade", "nvidia-gl-G06", "550.90.07-1.1", "550.107.02-1.1"),
        ("2026-11-20 06:33:52", "remove", "nvidia-gl-G06", "550.107.02-1.1", None),
    ]
    assert [c.command for c in found] == [None, "zypper up", "zypper up"]


def test_the_log_of_dnf() -> None:
    text = (
        "2026-11-20T06:31:50+0000 INFO --- logging initialized ---\n"
        "2026-11-20T06:31:52+0000 SUBDEBUG Upgrade: nvidia-driver-3:550.107.02-1.el9.x86_64\n"
        "2026-11-20T06:31:53+0000 SUBDEBUG Installed: kernel-core-5.14.0-503.el9.x86_64\n"
        "2026-11-20T06:31:54+0000 SUBDEBUG Upgraded: nvidia-driver-3:550.90.07-1.el9.x86_64\n"
        "2026-11-20T06:31:55+0000 SUBDEBUG Upgraded: curl-7.76.1-1.el9.x86_64\n"
        "2026-11-21T06:31:55+0000 SUBDEBUG Removed: nvidia-settings-3:550.107.02-1.el9.x86_64\n"
    )
    assert short(rpm_log(text)) == [
        ("2026-11-20 06:31:52", "upgrade", "nvidia-driver", "550.90.07-1.el9", "550.107.02-1.el9"),
        ("2026-11-20 06:31:53", "install", "kernel-core", None, "5.14.0-503.el9"),
        ("2026-11-21 06:31:55", "remove", "nvidia-settings", "550.107.02-1.el9", None),
    ]


@pytest.mark.parametrize("read", [apt_history, dpkg_log, pacman_log, zypp_history, rpm_log])
@pytest.mark.parametrize(
    "text", ["", "\0\ufffd", "Start-Date: today\nUpgrade: nvidia (1", "||||\n", "[] [ALPM] upgraded ("]
)
def test_what_is_no_log_holds_nothing(read: object, text: str) -> None:
    assert read(text, "x") == []  # type: ignore[operator]


CONDA = """==> 2026-11-01 10:00:00 <==
# cmd: /opt/conda/bin/conda create -n env pytorch
# conda version: 24.5.0
+pytorch/linux-64::pytorch-2.3.0-py3.11_cuda12.1_cudnn8.9.2_0
+defaults/noarch::tzdata-2024a-h04d1e81_0
==> 2026-11-20 14:03:11 <==
# cmd: /opt/conda/bin/conda install ultralytics
-pytorch/linux-64::pytorch-2.3.0-py3.11_cuda12.1_cudnn8.9.2_0
+conda-forge/linux-64::pytorch-2.4.0-cpu_generic_py311h123_1
# update specs: ['ultralytics']
==> 2026-11-21 14:03:11 <==
# cmd: /opt/conda/bin/conda install tqdm
+conda-forge/noarch::tqdm-4.66-pyhd8ed1ab_0
"""


def test_conda_names_what_it_replaced() -> None:
    assert last_change(CONDA, "pytorch") == CondaChange(
        "2026-11-20 14:03:11",
        "/opt/conda/bin/conda install ultralytics",
        "2.3.0 py3.11_cuda12.1_cudnn8.9.2_0",
        "2.4.0 cpu_generic_py311h123_1",
    )
    assert last_change(CONDA, "libtorch") is None
    assert last_change("", "pytorch") is None
