"""What NVIDIA's driver takes on Debian before its packages and beside them."""

import msgspec

from gpudoctor.digits import number_of
from gpudoctor.facts import Facts
from gpudoctor.fixes.system import driver_packages, install, kernel_of, remove
from gpudoctor.knowledge import packages, toolkits
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or, text_of
from gpudoctor.queries.driver import packages_of_release, user_version
from gpudoctor.queries.repositories import ARCHIVE, discs, missing_components
from gpudoctor.targets import in_container
from gpudoctor.tasks import Command, Edit, Tasks, as_root

# Debian's drivers of two branches have other names and are installed side by side; which one is loaded, says the
# alternative "nvidia", which takes the highest branch (nvidia-alternative in https://packages.debian.org/bookworm/).
_CURRENT = ("nvidia-driver", "nvidia-kernel-dkms", "nvidia-open-kernel-dkms", "nvidia-alternative")
_TESLA = "nvidia-tesla-"
_LIBRARY = pattern(r"(libnvidia-(?:tesla-\d+|legacy-\d+xx)-)(cuda1|ml1)")


def components(facts: Facts) -> tuple[Tasks, str]:
    """Enable the parts of Debian's archives that have the driver, where they are not enabled; and why."""
    missing, named = missing_components(facts), discs(facts)
    # apt takes from a disc what has the same version there, and waits for somebody to insert it.
    away = tuple(as_root("sed", "-i", "s/^ *deb cdrom:/# &/", path) for path in named)
    if not missing:
        return away, ""
    blocks = (
        f"Types: deb\nURIs: {one.address}\nSuites: {' '.join(one.suites)}\nComponents: {' '.join(one.components)}\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
        for one in missing
    )
    there = {source.path for source in known_or(facts.host.sources, ())}
    names = ("non-free", *(f"non-free-{number}" for number in range(2, len(there) + 3)))
    path = next(path for name in names if (path := f"/etc/apt/sources.list.d/{name}.sources") not in there)
    *first, last = dict.fromkeys(name for one in missing for name in one.components)
    components = f"components {', '.join(first)} and {last}" if first else f"component {last}"
    suites = [suite for one in missing for suite in one.suites]
    are = "are" if first else "is"
    why = f" Its packages are in Debian's {components}, which {are} not enabled here for {', '.join(suites)}."
    if named and "main" in missing[0].components:
        why = " apt has nothing but a disc as its source here, so Debian's archive comes first."
    return (*away, Edit(path, text="\n".join(blocks), root=True)), why


def unstable(facts: Facts, branch: int) -> tuple[Tasks, str]:
    """Add Debian's unstable as a source, for a branch that this release no longer has; and why.

    With a priority of 100 apt takes from there what no other source has (apt_preferences(5)), here the driver alone.
    """
    own = facts.host.distribution
    if not packages.in_unstable(text_of(own.id), text_of(own.version), branch):
        return (), ""
    source = (
        f"Types: deb\nURIs: {ARCHIVE}\nSuites: sid\nComponents: contrib non-free\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )
    pin = "Package: *\nPin: release n=sid\nPin-Priority: 100\n"
    added = (
        Edit("/etc/apt/preferences.d/nvidia-unstable", text=pin, root=True),
        Edit("/etc/apt/sources.list.d/nvidia-unstable.sources", text=source, root=True),
    )
    name = text_of(own.name) or "This release"
    return added, (
        f" {name} no longer has branch {branch}, but Debian's unstable has: the pin keeps apt from taking anything "
        "else from there."
    )


def both_libraries(names: tuple[str, ...]) -> tuple[str, ...]:
    """With libcuda's package where only NVML's is installed, or the other way round: Debian has one for each."""
    other = {"libcuda1": "libnvidia-ml1", "libnvidia-ml1": "libcuda1"}
    for name in names:
        if found := _LIBRARY.fullmatch(name):
            other[name] = f"{found[1]}{'ml1' if found[2] == 'cuda1' else 'cuda1'}"
    return tuple(dict.fromkeys((*names, *(other[name] for name in names if name in other))))


def instead_of_nvidias(facts: Facts, branch: int) -> tuple[Tasks, tuple[Command, ...]]:
    """For packages of a branch that this release does not have: keep apt from NVIDIA's repository, and remove them.

    apt downgrades nothing by itself (apt_preferences(5)). The repository's name is in its Release file:
    https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64/Release.
    """
    version, own = user_version(facts) or "", facts.host.distribution
    has, gone = number_of(version.partition(".")[0]), packages_of_release(facts, version)
    newest = packages.newest_branch(text_of(own.id), text_of(own.version))
    if own.id != "debian" or newest is None or has is None or has <= max(branch, newest) or not gone:
        return (), ()
    pin = f"Package: {toolkits.toolkits().driver.apt}\nPin: release o=NVIDIA\nPin-Priority: -1\n"
    return (Edit(toolkits.PIN, text=pin, root=True),), remove(facts, *gone)


def displaced(facts: Facts, found: packages.DriverPackages) -> tuple[Command, ...]:
    """Remove the packages of another flavor or branch, which Debian installs side by side with the new ones."""
    if flavor := of_other_flavor(facts, found):
        return flavor
    if facts.host.distribution.id != "debian":
        return ()
    there = driver_packages(facts)
    if any(name.startswith((_TESLA, "nvidia-legacy-")) for name in found.names):
        gone = [name for name in there if name in _CURRENT]
    else:
        kinds = ("driver", "kernel-dkms", "alternative")
        gone = [name for name in there if name.startswith(_TESLA) and name.endswith(kinds)]
    return remove(facts, *dict.fromkeys(gone)) if gone else ()


def of_other_flavor(facts: Facts, found: packages.DriverPackages) -> tuple[Command, ...]:
    """Remove the module's package of the other flavor: Debian's nvidia-driver is content with either, and has both.

    https://packages.debian.org/bookworm/nvidia-driver: nvidia-kernel-dkms | nvidia-open-kernel-...
    """
    both = ("nvidia-kernel-dkms", "nvidia-open-kernel-dkms")
    gone = [name for name in both if name in driver_packages(facts) and name != found.dkms]
    return remove(facts, *gone) if gone and found.dkms in both else ()


def kernel_packages(facts: Facts) -> tuple[str, ...]:
    """The headers of the running kernel, with the kernel that they are of where the archive has but the newest."""
    return packages.debian_kernel(kernel_of(facts), text_of(facts.host.distribution.version))


def with_kernel(facts: Facts, found: packages.DriverPackages) -> packages.DriverPackages:
    """With the kernel and its headers, where Debian's kernel runs without its headers.

    DKMS builds for each kernel whose headers are installed. Debian's archive has the newest kernel's alone, and dkms
    recommends those of amd64 whatever kernel runs (https://packages.debian.org/bookworm/dkms): without the kernel
    itself the reboot starts an older one, for which there is no module.
    """
    kernel = kernel_packages(facts)
    if facts.host.distribution.id != "debian" or known_or(facts.host.kernel.headers, True):
        return found
    if not packages.is_debian_kernel(kernel_of(facts)):
        return found
    return msgspec.structs.replace(found, names=(*kernel, *found.names))


def enrolled(facts: Facts) -> Tasks:
    """Have the key enrolled with which Debian's DKMS signs modules: it makes one, and nothing more.

    https://wiki.debian.org/SecureBoot
    """
    here = facts.host.distribution.id == "debian" and not in_container(facts)
    if facts.host.kernel.secure_boot is not True or not here:
        return ()
    return (*install(facts, "mokutil"), as_root("mokutil", "--import", "/var/lib/dkms/mok.pub"))
