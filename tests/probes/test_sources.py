"""The repositories that have NVIDIA's driver, in the files of apt, dnf and zypper."""

from gpudoctor.facts import Distribution, PackageSource
from gpudoctor.maybe import Unknown
from gpudoctor.probes.host.sources import sources
from gpudoctor.recorded_machine import RecordedMachine

TRIXIE = Distribution(id="debian", version="13", codename="trixie")
APT, RPM = "/etc/apt/sources.list.d", "/etc/yum.repos.d"
CUDA = "https://developer.download.nvidia.com/compute/cuda/repos"


def own(suite: str, *components: str, path: str = f"{APT}/debian.sources") -> PackageSource:
    """A suite of Debian's archive."""
    address = "http://deb.debian.org/debian"
    return PackageSource(path=path, kind="distribution", release=suite, components=components, address=address)


def test_apt_in_both_styles() -> None:
    files = {
        "/etc/apt/sources.list": "deb http://deb.debian.org/debian trixie main contrib # mirror\n"
        "deb http://deb.debian.org/debian trixie-backports main non-free\n",
        f"{APT}/debian.sources": "Types: deb\nURIs: http://deb.debian.org/debian/\nSuites: trixie trixie-updates\n"
        "Components: main non-free-firmware\n",
        f"{APT}/cuda.list": f"deb [signed-by=/usr/share/keyrings/x.gpg] {CUDA}/debian12/x86_64/ /\n",
        f"{APT}/docker.list": "deb https://me:word@download.example.com/debian trixie stable\n",
    }
    assert sources(RecordedMachine(files), TRIXIE) == (
        own("trixie", "main", "contrib", path="/etc/apt/sources.list"),
        PackageSource(path=f"{APT}/cuda.list", kind="nvidia", release="debian12"),
        own("trixie", "main", "non-free-firmware"),
        own("trixie-updates", "main", "non-free-firmware"),
    )


def test_rpm() -> None:
    fedora = Distribution(id="fedora", version="43", codename=None)
    files = {
        f"{RPM}/fedora-nvidia.repo": "[fedora-nvidia]\nbaseurl=https://negativo17.org/repos/nvidia/fedora-$releasever/\n",
        f"{RPM}/rpmfusion-nonfree.repo": "[rpmfusion-nonfree]\nmetalink=https://mirrors.rpmfusion.org/metalink?x\nenabled=0\n",
        f"{RPM}/cuda.repo": f"[cuda]\nbaseurl={CUDA}/fedora42/x86_64\nenabled=1\n",
        f"{RPM}/fedora.repo": "[fedora]\nmetalink=https://mirrors.fedoraproject.org/metalink\n",
    }
    assert sources(RecordedMachine(files), fedora) == (
        PackageSource(path=f"{RPM}/cuda.repo", kind="nvidia", release="fedora42"),
        PackageSource(path=f"{RPM}/fedora-nvidia.repo", kind="negativo17"),
    )


def test_without_a_package_manager_it_is_unknown() -> None:
    assert isinstance(sources(RecordedMachine({}), TRIXIE), Unknown)
    assert sources(RecordedMachine({}, folders=["/etc/apt"]), TRIXIE) == ()
