"""What DKMS has not built is removed where it would fail again."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.dkms_build_failed import dkms_build_failed
from gpudoctor.facts import Dkms
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.amd_machines import amd_host

REMOVE, REBUILD = "Remove amdgpu-dkms: its build fails", "Install the headers of the running kernel"

OLDER = "If this release of AMD's driver is older than the kernel"


@pytest.mark.parametrize(
    ("version", "headers", "first", "second"),
    [
        ("6.8.5-2009582.24.04", True, REMOVE, "To keep AMD's own driver: install an amdgpu-dkms that supports this"),
        ("6.3.6-1697589.22.04", True, REMOVE, "To keep AMD's own driver: install an amdgpu-dkms that supports this"),
        ("6.10.5", True, REBUILD, OLDER),  # newer than the kernel
        ("6.8.5-2009582.24.04", False, REBUILD, OLDER),
        ("6.8.5-2009582.24.04", Unknown("not to be seen"), REBUILD, OLDER),
    ],
)
def test_with_the_headers_it_fails_again(version: str, headers: object, first: str, second: str) -> None:
    facts = amd_host(dkms=(Dkms(module="amdgpu", version=version, state="added"),))
    fixes = run(dkms_build_failed, change(facts, "host.kernel.headers", headers))[0].fixes
    assert [fix.message.startswith(text) for fix, text in zip(fixes, (first, second), strict=True)] == [True, True]
    if first == REMOVE:
        assert fixes[0].commands[0] == "sudo apt-get purge amdgpu-dkms amdgpu-dkms-firmware"
