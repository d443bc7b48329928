"""Whether apt has the running kernel's headers."""

from typing import Any

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Distribution, Host
from gpudoctor.facts.host import Kernel
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia.kernel_headers import offered
from gpudoctor.recorded_machine import RecordedMachine

RELEASE = "6.6.70-tuned"
POLICY = f"apt-cache policy linux-headers-{RELEASE}"
LISTS = {"/var/lib/apt/lists/deb.debian.org_debian_dists_bookworm_main_binary-amd64_Packages": ""}


def host(identity: str = "debian", headers: Any = False) -> Host:
    return Host(distribution=Distribution(id=identity, like=()), kernel=Kernel(release=RELEASE, headers=headers))


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("", False),
        (f"linux-headers-{RELEASE}:\n  Installed: (none)\n  Candidate: (none)\n", False),
        (f"linux-headers-{RELEASE}:\n  Installed: (none)\n  Candidate: 6.6.70-1\n", True),
    ],
)
def test_what_apt_says(said: str, found: bool) -> None:
    assert offered(RecordedMachine(LISTS, commands={POLICY: said}), host(), RELEASE) is found


def test_who_is_not_asked() -> None:
    machine = RecordedMachine(LISTS, commands={POLICY: ""})
    assert offered(machine, host("fedora"), RELEASE) is None
    assert offered(machine, host(headers=True), RELEASE) is None


def test_without_lists_or_apt_it_is_unknown() -> None:
    assert isinstance(offered(RecordedMachine({}, commands={POLICY: ""}), host(), RELEASE), Unknown)
    broken = ChildResult(argv=("apt-cache",), code=100, err="E: broken")
    assert isinstance(offered(RecordedMachine(LISTS, commands={POLICY: broken}), host(), RELEASE), Unknown)
