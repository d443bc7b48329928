"""Whether a package source of this machine has the running kernel's headers, asked of apt where they are missing."""

import re

from gpudoctor.facts import Host
from gpudoctor.knowledge import packages
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or

_LISTS = "/var/lib/apt/lists"
_SECONDS = 10.0


def offered(machine: Machine, host: Host, release: str) -> Maybe[bool | None]:
    """Return whether apt could install them; None: nobody needs to know, or the distribution has no apt."""
    own = host.distribution
    identity = known_or(own.id, None)
    if host.kernel.headers is not False or identity is None or packages.family(identity, own.like) != "debian":
        return None
    if not any("_Packages" in name for name in machine.names(_LISTS)):
        return Unknown(f"{_LISTS} is empty: `apt-get update` was not run")
    ended = machine.run(["apt-cache", "policy", packages.headers_package("debian", release)], _SECONDS)
    if ended.missing or ended.code:
        return Unknown(f"apt-cache policy: {ended.missing or ended.err.strip()}")
    # It prints nothing of a package that no source has.
    found = re.search(r"Candidate: (\S+)", ended.out)
    return found is not None and found[1] != "(none)"
