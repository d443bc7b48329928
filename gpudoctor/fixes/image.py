"""Fixes for image-based systems whose image brings NVIDIA's driver: another image, or the next one."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, own_system
from gpudoctor.fixes.system import is_image, upgrade
from gpudoctor.knowledge.images import family_of_image, images
from gpudoctor.knowledge.packages import Flavour
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Tasks, as_root, query

_BACK = (as_root("rpm-ostree", "rollback"), as_root("systemctl", "reboot"))


def driver(facts: Facts, flavor: Flavour, last: int | None) -> tuple[Fix, ...]:
    """Use the image that has the driver for the GPUs here, or the way of a system of its own; none on other systems.

    https://docs.bazzite.gg/Installing_and_Managing_Software/Updates_Rollbacks_and_Rebasing/rebase_guide/

    Args:
        facts: the machine.
        flavor: of the kernel modules that the GPUs need.
        last: the last driver branch that supports them all; None: no end is known.
    """
    if own := own_system.driver(facts, flavor, last):
        return own
    name = known_or(facts.host.distribution.variant, None) or ""
    row = family_of_image(name) if is_image(facts) else None
    if row is None:
        return (_other(name, flavor, last),) if is_image(facts) and "nvidia" in name else ()
    branch = images().proprietary.branch
    if flavor == "proprietary" and last is not None and last < branch:
        message = (
            f"Universal Blue's images for older GPUs have driver branch {branch}: none has {last}, the last for "
            "this GPU. Use a system with packages of that branch, or another GPU."
        )
        return (Fix(message, action="reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI),)
    wanted = row.open if flavor == "open" else row.proprietary
    if name == wanted:
        return (_fix("The driver comes with the image: upgrade the image, then reboot.", upgrade(facts)),)
    if flavor == "open":
        which = "the newest driver with the open kernel modules"
        return (_rebase(wanted, f"Rebase to the image {wanted}, which has {which}, then reboot."),)
    which = f"driver branch {branch} with the proprietary kernel modules"
    message = f"Rebase to the image {wanted}, which has {which}, then reboot."
    project = name.partition("-")[0]
    if wanted.partition("-")[0] != project:
        message += f" It has the same desktop; {project.title()} is no longer built with those."
    former = () if row.former in ("", name) else (_former(row.former),)
    return (_rebase(wanted, message), *former)


def _other(name: str, flavor: Flavour, last: int | None) -> Fix:
    """For an image of which nothing is known but that it brings the driver."""
    which = f"driver branch {last}" if last else "a newer driver"
    message = (
        f"The driver comes with the image {name}: rebase to one of this kind with {which} and the {flavor} kernel "
        "modules, or build one, then reboot. The command shows which image this is."
    )
    status = (query("rpm-ostree", "status"),)
    return Fix(message, status, "reinstall-package", root=True, needs="reboot", undo=_BACK, verify=NVIDIA_SMI)


def _former(name: str) -> Fix:
    message = f"Rebase to {name}, the last image of this project with the proprietary modules. It gets no updates."
    return _rebase(name, message)


def _rebase(name: str, message: str) -> Fix:
    return _fix(
        message, (as_root("rpm-ostree", "rebase", f"ostree-image-signed:docker://ghcr.io/ublue-os/{name}:stable"),)
    )


def _fix(message: str, tasks: Tasks) -> Fix:
    commands = (*tasks, as_root("systemctl", "reboot"))
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", undo=_BACK, verify=NVIDIA_SMI)
