"""Where the driver's packages come from on this machine, and what has to be enabled first."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.checks.driver.repository_of_another_release import repository_of_another_release
from gpudoctor.facts import DiskModule, Distribution, Dkms, Facts, NegativePin, PackageSource
from gpudoctor.fixes.driver import install_driver, library_packages
from gpudoctor.fixes.module import headers, into_new_kernel
from gpudoctor.maybe import Unknown
from gpudoctor.tasks.as_typed import shown
from tests.builders import FEDORA, ask, card, library, plain_host
from tests.checks.driver.test_loading import GTX970
from tests.checks.nvidia_machines import disk, having, unloaded

BOOKWORM = Distribution(id="debian", like=(), version="12", codename="bookworm", name="Debian GNU/Linux 12")
TRIXIE = Distribution(id="debian", like=(), version="13", codename="trixie", name="Debian GNU/Linux 13 (trixie)")
LIST = "/etc/apt/sources.list.d/cuda-debian12-x86_64.list"
OLD = PackageSource(path=LIST, kind="nvidia", release="debian12")
NOTHING = unloaded(nvidia__kernel__on_disk=(), nvidia__nvml__libraries=(), nvidia__cuda__libraries=())


MIRROR, SECURITY = "http://ftp.example.org/debian", "http://security.debian.org/debian-security"
ALL = ("contrib", "non-free", "non-free-firmware")
INSTALLED = ("main", "non-free-firmware")  # what Debian's installer enables


def archive(
    *components: str, suite: str = "bookworm", address: str = MIRROR, path: str = "/etc/apt/sources.list"
) -> PackageSource:
    """A suite of Debian's own archive."""
    return PackageSource(path=path, kind="distribution", release=suite, components=components, address=address)


def archives(*components: str, codename: str = "bookworm", security: tuple[str, ...] = ()) -> tuple[PackageSource, ...]:
    """The three suites of an installation, of which that for security updates may have other components."""
    return (
        archive(*components, suite=codename),
        archive(*components, suite=f"{codename}-updates"),
        archive(*(security or components), suite=f"{codename}-security", address=SECURITY),
    )


def debian(distribution: Distribution, *sources: PackageSource, facts: Facts = NOTHING) -> Facts:
    """A Debian without a driver."""
    return having(facts, host__distribution=distribution, host__sources=sources)


def test_debians_components_are_enabled_first() -> None:
    fix = install_driver(debian(BOOKWORM, *archives(*INSTALLED)))
    assert fix.commands[0].startswith(f"printf '%s\\n' 'Types: deb' 'URIs: {MIRROR}'")
    assert "'Suites: bookworm bookworm-updates' 'Components: contrib non-free'" in fix.commands[0]
    assert f"'URIs: {SECURITY}' 'Suites: bookworm-security' 'Components: contrib non-free'" in fix.commands[0]
    assert fix.commands[1:] == (
        "sudo apt-get update",
        "sudo apt-get install nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree",
    )
    assert "Debian's components contrib and non-free, which are not enabled here for bookworm, " in fix.message


ADDED = "/etc/apt/sources.list.d/non-free.sources"
FOREIGN = archive("main", address="https://pkgs.example.com/stable/debian", path="/etc/apt/sources.list.d/x.list")


@pytest.mark.parametrize(
    ("sources", "written"),
    [
        # The firmware would come from the security updates, and the driver that fits it would not.
        (archives("main", *ALL, security=INSTALLED), ["URIs: " + SECURITY]),
        ((*archives(*INSTALLED), archive("contrib", "non-free", path=ADDED)), ["URIs: " + MIRROR, "URIs: " + SECURITY]),
        ((archive("main", *ALL), archive("main", suite="bookworm-updates")), []),
        ((archive(*INSTALLED), FOREIGN), ["URIs: " + MIRROR]),
        ((FOREIGN, *archives(*INSTALLED)), ["URIs: " + MIRROR, "URIs: " + SECURITY]),
        ((archive("main", address="cdrom:[Debian 12]"), *archives("main", *ALL)), []),
        ((archive("main", *ALL), archive("contrib", "non-free", suite="bookworm-updates")), []),
        # Written by hand or by us: the components of all entries count together.
        ((*archives(*INSTALLED), *archives("contrib", "non-free")), []),
        ((archive("main", address=""),), ["URIs: http://deb.debian.org/debian"]),
    ],
)
def test_the_archives_that_lack_them_are_named(sources: tuple[PackageSource, ...], written: list[str]) -> None:
    first = install_driver(debian(BOOKWORM, *sources)).commands[0]
    assert [word for word in first.split("'") if word.startswith("URIs: ")] == written
    assert f"> {ADDED}" not in first or ADDED not in {one.path for one in sources}


def test_a_disc_is_no_archive() -> None:
    """Apt takes a package of the same version from it, and waits for the disc."""
    disc = archive("main", address="cdrom:[Debian GNU/Linux 12.5.0 _Bookworm_]")
    away = "sudo sed -i 's/^ *deb cdrom:/# &/' /etc/apt/sources.list"
    assert install_driver(debian(BOOKWORM, disc, *archives("main", *ALL))).commands[0] == away
    fix = install_driver(debian(BOOKWORM, disc))
    assert fix.commands[0] == away
    every = "'Components: main contrib non-free non-free-firmware'"
    assert f"'URIs: http://deb.debian.org/debian' 'Suites: bookworm bookworm-updates' {every}" in fix.commands[1]
    assert f"'URIs: {SECURITY}' 'Suites: bookworm-security' {every}" in fix.commands[1]
    assert fix.commands[2] == "sudo apt-get update"
    assert "apt has nothing but a disc as its source here" in fix.message


PREFERENCES = "/etc/apt/preferences.d/no-nvidia"


@pytest.mark.parametrize(
    ("packages", "source", "alone", "command"),
    [
        (("*nvidia*",), "release *", True, f"sudo mv {PREFERENCES} {PREFERENCES}.disabled"),
        (("/^nvidia-/",), "release o=Debian", True, f"sudo mv {PREFERENCES} {PREFERENCES}.disabled"),
        (
            ("libcuda1", "*nvidia*"),
            "version *",
            False,
            rf"sudo sed -i '/^Package:\s*libcuda1\s\+\*nvidia\*\s*$/,/^\s*$/d' {PREFERENCES}",
        ),
        (("nvidia-driver-580",), "release *", True, None),
        (("/(/",), "release *", True, None),
        (("*",), "release n=trixie", True, None),  # other suites have it
        (("nvidia-*",), "origin developer.download.nvidia.com", True, None),
        (("nvidia-*",), "release o=Ubuntu", True, None),
    ],
)
def test_pins_that_keep_apt_from_the_driver(
    packages: tuple[str, ...], source: str, alone: bool, command: str | None
) -> None:
    pin = NegativePin(path=PREFERENCES, packages=packages, source=source, alone=alone)
    fix = install_driver(having(debian(BOOKWORM, *archives("main", *ALL)), host__pins=(pin,)))
    assert fix.commands[1:-1] == ((command,) if command else ())
    assert (PREFERENCES in fix.message) is (command is not None)


@pytest.mark.parametrize(
    ("release", "headers", "kernel"),
    [
        ("6.1.0-32-amd64", False, "linux-image-amd64 linux-headers-amd64 "),
        ("6.1.0-32-cloud-amd64", False, "linux-image-cloud-amd64 linux-headers-cloud-amd64 "),
        ("6.1.0-32-amd64", True, ""),
        ("6.1.0-32-amd64", Unknown("no such directory"), ""),
        ("6.14.11-4-pve", False, ""),
        ("6.12.95+deb12-amd64", False, "linux-headers-6.12.95+deb12-amd64 "),  # of backports
    ],
)
def test_the_newest_kernel_comes_with_its_headers(release: str, headers: object, kernel: str) -> None:
    facts = debian(BOOKWORM, archive("main", *ALL))
    facts = having(facts, host__kernel__release=release, host__kernel__headers=headers)
    command = f"sudo apt-get install {kernel}nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree"
    assert install_driver(facts).commands[-1] == command


CURRENT = tuple((f"nvidia-{name}", "535.261.03-1", "ii") for name in ("driver", "kernel-dkms", "alternative", "smi"))
TESLA = tuple((f"nvidia-tesla-470-{name}", "470.256.02-3", "ii") for name in ("driver", "kernel-dkms", "alternative"))


@pytest.mark.parametrize(
    ("there", "branch", "gone"),
    [
        (CURRENT, 470, "nvidia-driver nvidia-kernel-dkms nvidia-alternative"),
        (TESLA, 535, "nvidia-tesla-470-driver nvidia-tesla-470-kernel-dkms nvidia-tesla-470-alternative"),
        ((), 470, None),
        (CURRENT, 535, None),
    ],
)
def test_a_driver_of_another_branch_goes(
    there: tuple[tuple[str, str, str], ...], branch: int, gone: str | None
) -> None:
    facts = having(debian(BOOKWORM, *archives("main", *ALL)), nvidia__kernel__packages=there)
    last = install_driver(facts, branch, "proprietary").commands[-1]
    assert last == f"sudo apt-get purge {gone}" if gone else "purge" not in last


def test_an_interrupted_dpkg_is_ended_first() -> None:
    half = (("libcuda1", "535.261.03-1", "iH"),)
    facts = having(debian(BOOKWORM, *archives("main", *ALL)), nvidia__kernel__packages=half)
    assert install_driver(facts).commands[1:3] == (
        "sudo dpkg --configure -a",
        "sudo apt-get --fix-broken install",
    )


def test_the_key_of_debians_dkms_is_enrolled_under_secure_boot() -> None:
    facts = having(debian(BOOKWORM, *archives("main", *ALL)), host__kernel__secure_boot=True)
    fix = install_driver(facts)
    assert fix.commands[-2:] == ("sudo apt-get install mokutil", "sudo mokutil --import /var/lib/dkms/mok.pub")
    assert "the last command has it enrolled" in fix.message
    assert (
        install_driver(having(facts, host__kernel__secure_boot=False))
        .commands[-1]
        .startswith("sudo apt-get install nv")
    )


@pytest.mark.parametrize(
    ("release", "branch", "message", "last"),
    [
        (TRIXIE, 470, "no longer has branch 470, but Debian's unstable has", "nvidia-tesla-470-driver"),
        (TRIXIE, 390, "no longer has branch 390, but Debian's unstable has", "nvidia-legacy-390xx-driver"),
        (TRIXIE, 340, "no longer has branch 340, but Debian's unstable has", "nvidia-legacy-340xx-driver"),
        (BOOKWORM, 390, "no longer has branch 390, but Debian's unstable has", "nvidia-legacy-390xx-driver"),
        (BOOKWORM, 470, "driver of branch 470", "nvidia-tesla-470-driver"),
    ],
)
def test_a_branch_that_the_release_no_longer_has(
    release: Distribution, branch: int, message: str, last: str | None
) -> None:
    fix = install_driver(debian(release, archive("main", *ALL)), branch, "proprietary")
    assert message in fix.message
    assert [command.split()[-1] for command in fix.commands[-1:]] == ([last] if last else [])


@pytest.mark.parametrize(
    ("distribution", "release", "names"),
    [
        (BOOKWORM, "6.1.0-57-amd64", "linux-headers-6.1.0-57-amd64 linux-headers-amd64"),
        (TRIXIE, "6.12.118+deb13-cloud-amd64", "linux-headers-6.12.118+deb13-cloud-amd64 linux-headers-cloud-amd64"),
        (TRIXIE, "7.3.4+deb13-amd64", "linux-headers-7.3.4+deb13-amd64"),  # of backports, where apt has an older one
        (FEDORA, "6.17.7-300.fc43.x86_64", "kernel-devel-6.17.7-300.fc43.x86_64"),
    ],
)
def test_headers_come_with_those_of_later_kernels(distribution: Distribution, release: str, names: str) -> None:
    machine = having(NOTHING, host__distribution=distribution, host__kernel__release=release)
    (command,) = headers(machine)
    assert shown(command).endswith(f" install {names}")


@pytest.mark.parametrize(
    ("distribution", "others", "commands"),
    [
        (BOOKWORM, (), ["apt-get update", "apt-get install linux-image-amd64 linux-headers-amd64", "reboot"]),
        (BOOKWORM, (DiskModule(path="/lib/modules/b/nvidia.ko", kernel="b"),), ["reboot"]),
        (BOOKWORM, Unknown("not read"), ["reboot"]),
        (FEDORA, (), ["reboot"]),
    ],
)
def test_a_new_kernel_without_a_module_gets_its_headers(
    distribution: Distribution, others: object, commands: list[str]
) -> None:
    updated = having(
        NOTHING,
        host__distribution=distribution,
        host__kernel__release="6.1.0-40-amd64",
        host__kernel__modules=False,
        nvidia__kernel__other_kernels=others,
        nvidia__kernel__dkms=(Dkms(module="nvidia-current", version="535.261.03", state="added"),),
    )
    assert list(into_new_kernel(updated).commands) == [f"sudo {command}" for command in commands]
    built = having(updated, nvidia__kernel__dkms=())
    assert into_new_kernel(built).commands == ("sudo reboot",)


@pytest.mark.parametrize(
    "sources",
    [(archive("main", *ALL),), (archive("main"), archive(*ALL)), (OLD,), ()],
    ids=["one", "two", "other", "no"],
)
def test_what_is_enabled_or_unknown_is_left_alone(sources: tuple[PackageSource, ...]) -> None:
    assert install_driver(debian(BOOKWORM, *sources)).commands[0] == "sudo apt-get update"
    unknown = having(NOTHING, host__distribution=BOOKWORM, host__sources=Unknown("no such directory"))
    assert install_driver(unknown).commands[0] == "sudo apt-get update"


def test_open_modules_before_545_are_for_data_center_gpus() -> None:
    assert "proprietary" in install_driver(debian(BOOKWORM)).message  # 535 is what Debian 12 has
    assert "proprietary" in install_driver(debian(TRIXIE, facts=having(NOTHING, **GTX970))).message


def test_debians_own_driver_brings_the_proprietary_modules() -> None:
    """Its open ones are built by few: those of Debian 13 do not compile on its kernel 6.12.118."""
    fix = install_driver(debian(TRIXIE))
    assert "branch 550 with the proprietary kernel modules" in fix.message
    assert fix.commands[-1].endswith("nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree")
    assert "open kernel modules" in install_driver(debian(TRIXIE), 595).message


REJECTED = [
    (
        "problem",
        f"{LIST} names NVIDIA's repository for debian12, but this is Debian GNU/Linux 13 (trixie), whose apt rejects "
        "the key of that repository (SHA-1 signature).",
    )
]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (debian(TRIXIE, OLD), REJECTED),
        (debian(TRIXIE, PackageSource(path=LIST, kind="nvidia", release="debian13")), [("pass", "")]),
        (debian(TRIXIE, PackageSource(path=LIST, kind="nvidia")), [("pass", "")]),
        (debian(BOOKWORM, OLD), [("pass", "")]),
        (having(NOTHING, host__sources=(OLD,)), [("pass", "")]),  # Ubuntu
        (plain_host(), [("skipped", "")]),
    ],
)
def test_a_repository_of_an_older_debian(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(repository_of_another_release, facts) == verdict


def test_it_is_replaced_before_the_driver_is_installed() -> None:
    one = catalogue.load(["driver.repository-of-another-release"])[0]
    new, own = one.fixes_for(debian(TRIXIE, OLD, archive("main")))
    assert new.commands[0] == f"sudo mv {LIST} {LIST}.off"
    assert "sudo apt-get install --reinstall /var/cache/apt/archives/cuda-keyring.deb" in new.commands
    assert new.commands[-1].endswith(" nvidia-open")
    assert own.commands[0] == f"sudo mv {LIST} {LIST}.off"
    assert own.commands[-1].endswith("nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree")
    works = one.fixes_for(having(host__distribution=TRIXIE, host__sources=(OLD,)))
    assert [fix.commands[-1] for fix in works] == ["sudo apt-get update", f"sudo mv {LIST} {LIST}.off"]


def test_that_of_debian_13_has_no_branch_for_older_gpus() -> None:
    one = catalogue.load(["driver.repository-of-another-release"])[0]
    (own,) = one.fixes_for(debian(TRIXIE, OLD, facts=having(NOTHING, **GTX970)))
    assert own.message.startswith("Disable this repository. Install NVIDIA's driver of branch 550")
    (works,) = one.fixes_for(having(host__distribution=TRIXIE, host__sources=(OLD,), pci__0__generation="Pascal"))
    assert works.commands == (f"sudo mv {LIST} {LIST}.off",)


def test_fedora_with_negativo17_has_its_names() -> None:
    there = having(NOTHING, host__distribution=FEDORA, host__sources=(PackageSource(path="x", kind="negativo17"),))
    assert install_driver(there).commands == ("sudo dnf install nvidia-driver nvidia-driver-cuda akmod-nvidia",)
    loaded = having(there, nvidia__kernel__loaded="580.95.05")
    assert library_packages(loaded) == ("nvidia-driver-cuda",)
    other = having(loaded, host__sources=(PackageSource(path="x", kind="rpmfusion"),))
    assert library_packages(other) == ("xorg-x11-drv-nvidia-cuda",)


@pytest.mark.parametrize(
    ("packages", "option"), [((), ""), ((("akmod-nvidia", "595.58.03-1", "ii"),), " --allowerasing")]
)
def test_a_branch_of_rpm_fusion_takes_the_place_of_another(packages: tuple[tuple[str, ...], ...], option: str) -> None:
    """Its packages of different branches conflict with each other."""
    source = (PackageSource(path="x", kind="rpmfusion"),)
    facts = having(NOTHING, host__distribution=FEDORA, host__sources=source, nvidia__kernel__packages=packages)
    last = install_driver(facts, 580, "proprietary").commands[-1]
    assert last == f"sudo dnf install{option} akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda"


def test_a_transitional_package_is_not_installed_again() -> None:
    packages = (("nvidia-driver-470", "535.309.01-0ubuntu0.22.04.1", "ii"),)
    facts = having(NOTHING, nvidia__kernel__packages=packages)
    assert install_driver(facts, 470, "proprietary").commands[-1] == "sudo apt-get install nvidia-driver-470-server"
    assert install_driver(NOTHING, 470, "proprietary").commands[-1] == "sudo apt-get install nvidia-driver-470"


def test_a_guest_gets_no_ordinary_driver() -> None:
    guest = having(host__virtual="microsoft", nvidia__kernel__gridd="active")
    assert install_driver(guest).commands == ()
    assert "GRID" in install_driver(guest).message


def test_debians_other_flavor_is_removed_because_its_driver_is_content_with_either() -> None:
    packages = (("nvidia-open-kernel-dkms", "535.261.03-1", "ii"), ("nvidia-driver", "535.261.03-1", "ii"))
    facts = having(debian(BOOKWORM, archive("main", *ALL)), nvidia__kernel__packages=packages)
    assert install_driver(facts, 535, "proprietary").commands[1:] == (
        "sudo apt-get install nvidia-kernel-dkms nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree",
        "sudo apt-get purge nvidia-open-kernel-dkms",
    )


@pytest.mark.parametrize(
    ("there", "typed"),
    [
        ("libnvidia-ml1", "sudo apt-get install libnvidia-ml1 libcuda1"),
        ("libnvidia-tesla-470-ml1", "sudo apt-get install libnvidia-tesla-470-ml1 libnvidia-tesla-470-cuda1"),
    ],
)
def test_the_library_that_was_not_installed_with_the_other(there: str, typed: str) -> None:
    facts = having(
        host__distribution=BOOKWORM,
        nvidia__cuda__libraries=(),
        nvidia__cuda__code=None,
        nvidia__kernel__packages=((there, "535.309.01-1", "ii"),),
    )
    (verdict,) = run(catalogue.load(["driver.library-missing"])[0], facts)
    assert verdict.fixes[0].commands == (typed,)


def test_a_card_that_nvidias_repository_dropped_goes_back_to_debians_driver() -> None:
    nvidia = PackageSource(path=LIST, kind="nvidia", release="debian13")
    packages = tuple((name, "590.48.01-1", "ii") for name in ("libcuda1", "nvidia-driver", "nvidia-kernel-dkms"))
    facts = having(
        debian(TRIXIE, archive("main", *ALL, suite="trixie"), nvidia),
        pci=(card(device="1c03", generation="Pascal"),),
        nvidia__kernel__on_disk=(disk(version="590.48.01"),),
        nvidia__nvml__libraries=(library("libnvidia-ml.so.1", "590.48.01"),),
        nvidia__kernel__packages=packages,
    )
    (verdict,) = run(catalogue.load(["driver.gpu-dropped"])[0], facts)
    fix = verdict.fixes[0]
    assert fix.message.startswith("Install driver branch 550, this release's own, which supports this GPU")
    assert "Pin: release o=NVIDIA" in fix.commands[0]
    assert fix.commands[1:3] == ("sudo apt-get update", "sudo apt-get purge libcuda1 nvidia-driver nvidia-kernel-dkms")
    assert fix.commands[3].startswith("sudo apt-get install ")
    assert fix.commands[3].endswith("nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree")
