"""What lines of a module's build and of the kernel log tell of NVIDIA's and AMD's kernel modules."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.row_steps import has_branch
from gpudoctor.fixes.system import host_family, initramfs
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.tasks import Edit, Tasks, as_root

# What keeps an open-source driver from the card.
_BLACKLISTS = {
    "nouveau": "blacklist nouveau\noptions nouveau modeset=0\n",
    "nova_core": "blacklist nova_core\nblacklist nova_drm\n",
}


def module_build(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """Which version of which driver did not compile, and for which kernel."""
    text = "\n".join(lines)
    built = re.search(r"/dkms/(nvidia|amdgpu)[\w-]*/(\d[\w.~-]*)/|/(nvidia|amdgpu)-(\d+\.[\w.]+)/", text)
    kernel = re.search(r"(?:linux-headers-|/lib/modules/|kernels/|kernel[ :]+)(\d+\.\d+[\w.+~-]*\w)", text)
    if built is None:
        return NOTHING
    driver, version = built[1] or built[3], built[2] or built[4]
    running = f" against kernel {kernel[1]}" if kernel else ""
    name = "amdgpu-dkms" if driver == "amdgpu" else "driver"
    return Extracted(details=(f"The source of {name} {version} does not compile{running}.",))


def legacy_branch(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which branch the driver names for a card that it no longer supports."""
    text = " ".join(lines[:4])
    found = re.search(r"through the NVIDIA (\d{2,3})\.(?:xx|\w+) Legacy", text)
    if found is None:
        return NOTHING
    branch = int(found[1])
    packages = f"nvidia-driver-{branch}"
    fedora = (f"akmod-nvidia-{branch}xx", f"xorg-x11-drv-nvidia-{branch}xx-cuda")
    family = host_family(facts)
    fixes = {
        "debian": Fix(
            f"Install branch {branch} (Ubuntu; remove the newer one first), then reboot.",
            (as_root("apt", "purge", "^nvidia-.*", "^libnvidia-.*"), as_root("apt", "install", packages)),
            "reinstall-package",
            root=True,
            needs="reboot",
        ),
        "fedora": Fix(
            f"Install branch {branch} (Fedora with RPM Fusion), then reboot.",
            (as_root("dnf", "install", "--allowerasing", *fedora),),
            "reinstall-package",
            root=True,
            needs="reboot",
        ),
    }
    here = facts is not None and has_branch(str(branch), facts)  # nothing is removed that would not be installed again
    fit = tuple(fix for name, fix in fixes.items() if family in (None, name) and not here)
    return Extracted(details=(f"The card needs driver branch {branch}.",), fixes=fit)


def rm_init(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Where the driver stopped while it initialized the GPU, and why."""
    found = re.search(r"RmInitAdapter failed! \((0x[0-9a-f]+:0x[0-9a-f]+(?::\w+)?)\)", " ".join(lines))
    words = failure(found[1]).words if found else ""
    if found is None or not words:
        return NOTHING
    return Extracted(details=(f"Code {found[1]}: it stopped{words}.",))


def bound_driver(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which driver has the card instead of NVIDIA's."""
    text = "\n".join(lines)
    found = re.search(r"already bound to ([\w-]+)|\b(nouveau|nova_core|vfio-pci|nvidiafb|rivafb)\b(?!,)", text)
    if found is None:
        return NOTHING
    name = (found[1] or found[2]).replace("-core", "_core").replace("NovaCore", "nova_core")
    if found[1] is None and len(set(re.findall(r"nouveau|nova_core|vfio-pci|nvidiafb|rivafb", text))) > 1:
        return NOTHING  # the driver's own list of those that may have it
    details = (f"The driver that has the card: {name}.",)
    if name not in _BLACKLISTS:
        return Extracted(details=details)
    file = Edit(f"/etc/modprobe.d/blacklist-{name}.conf", text=_BLACKLISTS[name], root=True)
    rebuild: Tasks = initramfs(facts) if facts is not None and host_family(facts) else ()
    other = "" if rebuild else " (on Fedora, RHEL: dracut -f)"
    message = f"Blacklist {name}, rebuild the initramfs{other}, and reboot."
    tasks = (file, *(rebuild or (as_root("update-initramfs", "-u"),)), as_root("reboot"))
    return Extracted(details=details, fixes=(Fix(message, tasks, needs="reboot"),))


def kfd_skipped(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """An integrated GPU is skipped where another one is used."""
    if any("added device" in line for line in lines):
        return Extracted(harmless=True, meaning="ROCm uses another GPU of the machine")
    return NOTHING
