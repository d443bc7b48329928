"""Root opens /dev/kfd; the user who ran sudo could not."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, system
from gpudoctor.maybe import known
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import Shell

_WHO = "${SUDO_USER:-$USER}"  # typed in the root shell that sudo opened, or in the user's own


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name = amd.group_of(facts, known(facts.amd.kfd)[0])
    names = name if name == "video" else f"{name},video"
    message = f"Add that user to the group {name}, to which /dev/kfd belongs, then log out and in again."
    commands = (Shell(f"usermod -aG {names} {_WHO}", root=True),)
    undo = (Shell(f"gpasswd -d {_WHO} {name}", root=True),)
    return (system.relogin(message, commands, undo, amd.PROOF),)


@check(
    title="Only root can open /dev/kfd",
    severity=Severity.WARNING,
    cause="This check ran as root, who may open everything. Programs of the user who ran sudo get Permission denied, "
    "because that user is not in the device node's group.",
    fixes=_fixes,
    references=(amd.POST_INSTALL, "https://github.com/ROCm/ROCm/issues/1798"),
    targets=amd_compute,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def only_root_opens(facts: Facts) -> Problem | None:
    """The kernel was asked with that user's identity; without sudo there is nothing to report."""
    if known(facts.amd.opens_for_caller) is not False:
        return None
    nodes = known(facts.amd.kfd)
    if not nodes or known(nodes[0].error) is not None:
        return None
    name = amd.group_of(facts, nodes[0])
    return Problem(
        f"/dev/kfd opens for root, but not for the user who ran sudo: it belongs to the group {name}, and that user "
        "is not in it."
    )
