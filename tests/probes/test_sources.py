"""The repositories that have NVIDIA's driver, in the files of apt, dnf and zypper."""

from gpudoctor.facts import Distribution, NegativePin, PackageSource
from gpudoctor.maybe import Unknown, known
from gpudoctor.probes.host.sources import pins, sources
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


def test_a_disc_has_blanks_in_its_name() -> None:
    disc = "cdrom:[Debian GNU/Linux 12.5.0 _Bookworm_ - Official amd64 DVD Binary-1 with firmware 20240210-11:28]/"
    files = {"/etc/apt/sources.list": f"deb {disc} trixie contrib main\n#deb {disc} trixie main\n"}
    (found,) = known(sources(RecordedMachine(files), TRIXIE))
    assert (found.address, found.release, found.components) == (disc.rstrip("/"), "trixie", ("contrib", "main"))


def test_pins_below_zero() -> None:
    folder = "/etc/apt/preferences.d"
    below = "Package: *nvidia* /^libcuda/ src:cuda\nPin:  release *\nPin-Priority: -1\n"
    files = {
        "/etc/apt/preferences": f"Package: *\nPin: origin x.example.com\nPin-Priority: 100\n\nExplanation: no\n{below}",
        f"{folder}/no-nvidia": below,
        f"{folder}/cuda.pref": "Package: nvidia-driver\nPin: origin developer.download.nvidia.com\nPin-Priority: -1\n",
        f"{folder}/cuda-repository-pin-600": "Package: nsight-compute\nPin: origin *ubuntu.com*\nPin-Priority: 600\n",
        f"{folder}/old.disabled": below,
        f"{folder}/broken": "Package: nvidia-driver\nPin-Priority: -1\n",
    }
    names = ("*nvidia*", "/^libcuda/", "src:cuda")
    assert pins(RecordedMachine(files)) == (
        NegativePin(path="/etc/apt/preferences", packages=names, source="release *", alone=False),
        NegativePin(
            path=f"{folder}/cuda.pref",
            packages=("nvidia-driver",),
            source="origin developer.download.nvidia.com",
            alone=True,
        ),
        NegativePin(path=f"{folder}/no-nvidia", packages=names, source="release *", alone=True),
    )
    assert isinstance(pins(RecordedMachine({})), Unknown)


def test_nvidias_local_installers_are_its_repositories_too() -> None:
    files = {
        f"{APT}/cuda-debian12-12-8-local.list": "deb [signed-by=/k.gpg] file:///var/cuda-repo-debian12-12-8-local /\n",
        f"{APT}/driver.list": "deb file:///var/nvidia-driver-local-repo-debian13-590.48.01 /\n",
    }
    found = known(sources(RecordedMachine(files), TRIXIE))
    assert [(one.kind, one.release) for one in found] == [("nvidia", "debian12"), ("nvidia", "debian13")]
