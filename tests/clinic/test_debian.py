"""Real packages of Debian 12 in a root of their own: each layout is found by its cause, and its fix can be typed."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clinic.debian_host import CARD
from tests.clinic.kit import SECONDS, UV

pytestmark = [pytest.mark.realenv, pytest.mark.nightly, pytest.mark.timeout(7200)]

ARCHIVE = "http://deb.debian.org/debian"
REPOSITORY = Path(__file__).parent.parent.parent
# What Debian's installer enables; the driver is in contrib and non-free.
COMPONENTS = "main non-free-firmware"
SUITES = (
    (ARCHIVE, "bookworm"),
    (ARCHIVE, "bookworm-updates"),
    (f"{ARCHIVE}-security", "bookworm-security"),
)
BASE = ("linux-image-amd64", "python3", "gcc", "libc6-dev", "ca-certificates")


def sources(components: str) -> str:
    """The lines for apt with these components of each suite."""
    return "".join(f"deb {address} {suite} {components}\n" for address, suite in SUITES)


NON_FREE = f"echo '{sources('contrib non-free')}' > /etc/apt/sources.list.d/non-free.list\napt-get update -q"
INSTALL = "apt-get install -q -y --no-install-recommends"
DRIVER = f"{NON_FREE}\n{INSTALL} nvidia-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi"
# Its dependencies have 2.7 GB of CUDA libraries, which nobody asks for here.
TOOLKIT = f"""
{NON_FREE}
{INSTALL} g++ g++-11
cd /tmp
apt-get download -q nvidia-cuda-toolkit
dpkg --force-depends --install nvidia-cuda-toolkit_*.deb
cd /
"""
# The kernel of the tests is another one: nothing of the root can be loaded into it, and nothing starts again.
NOT_HERE = ("modprobe", "reboot", "nvidia-smi", "dmesg")

MOUNT = """
set -e
mount -t overlay overlay -o lowerdir={base},upperdir={place}/upper,workdir={place}/work {place}/root
mount --bind {repository} {place}/root/mnt
mount -t proc proc {place}/root/proc
mount --rbind /dev {place}/root/dev
exec chroot {place}/root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    PYTHONPATH=/opt/python PYTHONDONTWRITEBYTECODE=1 {host} bash -ec "$0"
"""


class Root:
    """A Debian root over which a test's own changes are laid; nothing of it is mounted outside of a command.

    Args:
        base: the root of all tests.
        place: the test's own directory.
    """

    def __init__(self, base: Path, place: Path) -> None:
        self.base, self.place = base, place
        self.host: dict[str, str] = {}
        for name in ("upper", "work", "root"):
            (place / name).mkdir()

    def type(self, lines: str) -> subprocess.CompletedProcess[str]:
        """Type lines in the root, as its own root user; the first that fails ends it."""
        host = " ".join(f"CLINIC_{key}={value}" for key, value in self.host.items())
        script = MOUNT.format(base=self.base, place=self.place, repository=REPOSITORY, host=host)
        argv = ["unshare", "--mount", "bash", "-c", script, lines]
        return subprocess.run(argv, capture_output=True, text=True, timeout=3 * SECONDS)

    def prepare(self, lines: str) -> None:
        """Type lines that make the layout; skips the test where the archive cannot be reached."""
        done = self.type(lines)
        if done.returncode:
            pytest.skip(f"Debian's archive: {(done.stderr or done.stdout).strip()[-300:]}")

    def check(self) -> list[dict[str, Any]]:
        """What gpudoctor finds there, in its order."""
        done = self.type("python3 /mnt/tests/clinic/debian_host.py check --json || [ $? = 1 ] || [ $? = 3 ]")
        report = json.loads(done.stdout or "{}")
        assert "findings" in report, done.stderr[-2000:]
        found: list[dict[str, Any]] = report["findings"]
        return found


@pytest.fixture(scope="session")
def base(folder: Path) -> Path:
    """The root of all tests: Debian 12 with a kernel, Python, and what gpudoctor and its stand-ins need of PyPI."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None or shutil.which("unshare") is None:
        pytest.skip("needs root, debootstrap and unshare")
    place = folder / "debian-12"
    if (place / "made").exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    _run("debootstrap", "--variant=minbase", "bookworm", place, ARCHIVE)
    (place / "etc/apt/sources.list").write_text(sources(COMPONENTS))
    policy = place / "usr/sbin/policy-rc.d"  # no package starts a service (invoke-rc.d, policy-rc.d specification)
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    _run("chroot", place, "apt-get", "update", "-q")
    _run("chroot", place, "env", "DEBIAN_FRONTEND=noninteractive", *INSTALL.split(), *BASE)
    _run("chroot", place, "apt-get", "clean")
    # Somebody answers apt's question with yes.
    (place / "etc/apt/apt.conf.d/99yes").write_text('APT::Get::Assume-Yes "true";\n')
    options = ("--target", place / "opt/python", "--python-version", "3.11", "--only-binary", ":all:")
    _run(UV, "pip", "install", "-q", *options, "-r", REPOSITORY / "pyproject.toml", "pytest")
    (place / "made").touch()
    return place


def _run(*argv: str | Path) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        pytest.skip(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-300:]}")


@pytest.fixture
def debian(base: Path, tmp_path: Path) -> Root:
    """A root of the test's own."""
    root = Root(base, tmp_path)
    done = root.type("true")
    if done.returncode:
        pytest.skip(f"no mounts here: {done.stderr.strip()[-300:]}")
    return root


@pytest.mark.parametrize(("card", "package"), [(CARD, "nvidia-driver"), ("10de:1023", "nvidia-tesla-470-driver")])
def test_no_driver(card: str, package: str, debian: Root) -> None:
    debian.host = {"CARD": card}
    fix = _first(debian.check(), "driver.not-installed")["fixes"][0]
    assert f"Inst {package} " in _simulated(debian, fix)


@pytest.mark.parametrize(
    "layout",
    [
        # What Debian's installer leaves without a mirror.
        """
rm -f /etc/apt/sources.list.d/*
echo 'deb cdrom:[Debian GNU/Linux 12.5.0 _Bookworm_ - Official amd64 DVD Binary-1 with firmware]/ bookworm main' \\
    > /etc/apt/sources.list
""",
        """
printf 'Package: *nvidia*\\nPin: release *\\nPin-Priority: -1\\n' > /etc/apt/preferences.d/no-nvidia
printf 'Package: *\\nPin: origin deb.example.org\\nPin-Priority: 90\\n\\n' > /etc/apt/preferences
printf 'Package: libcuda* nvidia*\\nPin: release o=Debian\\nPin-Priority: -10\\n' >> /etc/apt/preferences
""",
    ],
    ids=["disc", "pins"],
)
def test_no_driver_where_apt_would_not_install_it(layout: str, debian: Root) -> None:
    debian.prepare(layout)
    fix = _first(debian.check(), "driver.not-installed")["fixes"][0]
    assert "Inst nvidia-driver " in _simulated(debian, fix)


def test_left_over_next_to_another_vendors_gpu(debian: Root) -> None:
    debian.prepare(DRIVER)
    debian.host = {"CARD": "1002:744c", "BOUND": "amdgpu"}  # a Radeon RX 7900 XTX
    finding = _first(debian.check(), "device.none")
    assert finding["status"] == "advice"
    done = debian.type(_typed(finding["fixes"][0]))
    assert done.returncode == 0, (finding["fixes"][0]["commands"], done.stderr[-2000:])
    assert not [f["message"] for f in debian.check() if f["check"] == "device.none"]


def test_a_new_kernel_without_its_headers(debian: Root) -> None:
    debian.prepare(DRIVER)
    debian.host = {"KERNEL": "6.1.0-1-amd64"}  # an update removed its modules
    fix = _first(debian.check(), "driver.no-module-for-kernel")["fixes"][0]
    assert "Inst linux-headers-amd64 " in _simulated(debian, fix)
    assert fix["commands"][-1] == "reboot"


def test_headers_missing_then_built(debian: Root) -> None:
    debian.prepare(DRIVER)
    finding = _first(debian.check(), "driver.headers-missing")
    done = debian.type(_typed(finding["fixes"][0]))
    assert done.returncode == 0, (finding["fixes"][0]["commands"], done.stderr[-2000:], done.stdout[-2000:])
    built = _first(debian.check(), "driver.not-loaded")
    assert "modprobe nvidia" in built["fixes"][0]["commands"], built["fixes"]
    debian.host = {"BOUND": "nouveau"}
    found = _first(debian.check(), "driver.nouveau-in-the-way")
    assert "It is blacklisted" in found["message"]
    done = debian.type(_typed(found["fixes"][0]))
    assert done.returncode == 0, (found["fixes"][0]["commands"], done.stderr[-2000:])
    _with_the_other_alternative(debian)


def _with_the_other_alternative(debian: Root) -> None:
    # As glx-alternative-mesa registers it where Mesa's libGL is installed.
    mesa = "/usr/lib/mesa-diverted"
    debian.prepare(f"update-alternatives --install /usr/lib/glx glx {mesa} 5\nupdate-alternatives --set glx {mesa}")
    found = _first(debian.check(), "driver.glx-alternative")
    assert "driver.nouveau-in-the-way" in [one["check"] for one in found["consequences"]]
    done = debian.type(_typed(found["fixes"][0]))
    assert done.returncode == 0, (found["fixes"][0]["commands"], done.stderr[-2000:])
    assert "It is blacklisted" in _first(debian.check(), "driver.nouveau-in-the-way")["message"]


def test_a_card_that_the_installed_driver_has_dropped(debian: Root) -> None:
    debian.prepare(DRIVER)
    debian.host = {"CARD": "10de:1023"}  # a Tesla K40m
    said = _simulated(debian, _first(debian.check(), "driver.gpu-dropped")["fixes"][0])
    assert "Inst nvidia-tesla-470-driver " in said
    assert "Purg nvidia-kernel-dkms " in said


def test_toolkit_of_the_distribution(debian: Root) -> None:
    debian.prepare(TOOLKIT)
    assert debian.type("gcc -dumpversion").stdout == "12\n"
    assert debian.type("echo __GNUC__ > /tmp/a.cpp; nvcc -E /tmp/a.cpp").stdout.splitlines()[-1] == "11"
    assert not [f["message"] for f in debian.check() if f["check"].startswith("cuda.")]


def _simulated(debian: Root, fix: dict[str, Any]) -> str:
    """What apt would install, found and fitting together; the packages themselves are another test's."""
    debian.prepare("echo 'APT::Get::Simulate \"true\";' > /etc/apt/apt.conf.d/99simulate")
    done = debian.type(_typed(fix))
    assert done.returncode == 0, (fix["commands"], done.stderr[-2000:])
    return done.stdout


def _typed(fix: dict[str, Any]) -> str:
    return "\n".join(line for line in fix["commands"] if line.split()[0] not in NOT_HERE)


def _first(found: list[dict[str, Any]], cause: str) -> dict[str, Any]:
    assert [f["check"] for f in found][:1] == [cause], [(f["status"], f["check"], f["message"]) for f in found]
    return found[0]
