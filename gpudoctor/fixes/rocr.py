"""Fixes for ROCm's runtime (ROCr) that does not start, or lists no GPU."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, kernel_packages, system
from gpudoctor.knowledge import rocm
from gpudoctor.queries.known_bugs import dkms_bug
from gpudoctor.queries.rocr import OnRocr
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks import Shell, filtered, query

RYZEN = (
    "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installryz/native_linux/install-ryzen.html"
)
_DROPPED = "HSA_STATUS_ERROR"
_LOG = Fix(
    "Read what amdgpu and KFD logged.",
    (filtered(query("dmesg", root=True), query("grep", "-iE", "kfd|amdgpu"), query("tail", "-n", "40")),),
    root=True,
    impact="none",
)
HIDDEN = Fix(
    "See what keeps the runtime from the GPU: a variable that hides it, or the render node, which this user has to be "
    "able to open. Unset the variable, or add the user to the node's group.",
    (
        filtered(query("env"), query("grep", "-E", "^(HIP|ROCR|GPU_DEVICE|CUDA|HSA)_")),
        Shell("ls -l /dev/kfd /dev/dri/renderD*; id", lookup=True),
    ),
    impact="none",
    verify=amd.PROOF,
)


def start(on: OnRocr) -> tuple[Fix, ...]:
    """Let the runtime start: the most probable first, by what it returned and whose amdgpu is loaded."""
    facts = on.facts
    bug = dkms_bug(facts, (on.rocr.status or "",), *on.targets)
    if bug:
        return amd.without_dkms(facts, bug)
    if on.works_elsewhere:
        return (another_release(on),)
    if in_container(facts):
        return (_on_the_host(),)
    reboot = system.reboot(
        "Reboot: a GPU that failed before, such as at suspend, keeps ROCm's runtime from starting until then.",
        verify=amd.PROOF,
    )
    if on.rocr.status == _DROPPED:
        return another_release(on), reboot, _LOG
    if not isinstance(facts.amd.version, str):
        newer = "If it fails after that: install the newest kernel, since its amdgpu has to fit this ROCm release."
        return reboot, kernel_packages.newer_kernel(facts, newer, amd.PROOF), _LOG
    if any(gpu.integrated for gpu in gpus_of(facts, "amd")):
        return _without_dkms(facts, "Remove amdgpu-dkms"), reboot, _LOG
    return reboot, _without_dkms(facts, "If it fails after that: remove amdgpu-dkms"), _LOG


def _without_dkms(facts: Facts, what: str) -> Fix:
    integrated = any(gpu.integrated for gpu in gpus_of(facts, "amd"))
    why = f"AMD's guide for Ryzen uses it ({RYZEN})." if integrated else "ROCm works with it too."
    message = f"{what}, and boot the kernel's own (in-tree) amdgpu: {why} Later run amdgpu-install with --no-dkms."
    return amd.remove_dkms(facts, message)


def _on_the_host() -> Fix:
    return Fix(
        "On the host: run rocminfo. If it fails there too, reboot the host, and check its driver. If it works there, "
        "this image's ROCm does not fit the host's driver: use an image with a ROCm release close to the host's.",
        (query("rocminfo"),),
        needs="a new container",
        verify=amd.PROOF,
        place="outside",
    )


def another_release(on: OnRocr) -> Fix:
    """Install a ROCm release that supports the GPUs of this machine."""
    known = {gfx: rocm.releases_for(gfx) for gfx in on.targets}
    named = [f"{gfx} from {found[0]} on" for gfx, found in known.items() if found]
    unnamed = [gfx for gfx, found in known.items() if not found]
    names = [*named, *(f"{gfx} in none" for gfx in unnamed)]
    lists = f" AMD's lists of supported GPUs have {', '.join(names)}." if names else ""
    also = (
        " A GPU that no release supports any more: give it to a driver of its own (vfio-pci), or take it out."
        if unnamed and named
        else ""
    )
    inside = in_container(on.facts)
    what, guide = ("Use an image with", amd.CONTAINERS) if inside else ("Install", amd.INSTALL)
    return Fix(
        f"{what} a ROCm release that supports every GPU that amdgpu drives here.{lists}{also} {guide}",
        (Shell("grep -H gfx_target_version /sys/class/kfd/kfd/topology/nodes/*/properties", lookup=True),),
        "reinstall-package",
        root=True,
        impact="persistent",
        verify=amd.PROOF,
    )
