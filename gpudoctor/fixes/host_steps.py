"""Steps that change the kernel, a GPU's state or the power: a container shares all of these with its host."""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.lazy_regex import pattern
from gpudoctor.targets import in_container
from gpudoctor.tasks.as_typed import shown

_OF_HOST = pattern(r"\b(?:reboot|poweroff|modprobe|rmmod)\b|--gpu-reset\b|\bsystemctl [a-z-]+ (?:--now )?nvidia-")


def on_the_host(fix: Fix, facts: Facts) -> Fix:
    """The fix as one of the host, where this is a container and a step of it is the host's.

    Args:
        fix: the fix as its check gives it.
        facts: the machine.
    """
    if fix.place == "outside" or not in_container(facts) or not any(_OF_HOST.search(shown(t)) for t in fix.tasks):
        return fix
    message = fix.message
    if "on the host" not in message.lower():
        first = message[:1].lower() if message[1:2].islower() else message[:1]
        message = f"On the host: {first}{message[1:]}"
    return msgspec.structs.replace(fix, message=message, place="outside")
