"""What DKMS has not built is removed where it would fail again."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.dkms_build_failed import dkms_build_failed
from gpudoctor.facts import Dkms
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.amd_machines import amd_host

REMOVE, REBUILD = "Remove amdgpu-dkms: its build fails", "Install the headers of the running kernel"


@pytest.mark.parametrize(
    ("headers", "first", "second"),
    [
        (True, REMOVE, "To keep AMD's own driver: install an amdgpu-dkms that supports this kernel"),
        (False, REBUILD, "If this release of AMD's driver is older than the kernel"),
        (Unknown("not to be seen"), REBUILD, "If this release of AMD's driver is older than the kernel"),
    ],
)
def test_with_the_headers_it_fails_again(headers: object, first: str, second: str) -> None:
    facts = amd_host(dkms=(Dkms(module="amdgpu", version="6.16.13-2341068.24.04", state="added"),))
    fixes = run(dkms_build_failed, change(facts, "host.kernel.headers", headers))[0].fixes
    assert [fix.message.startswith(text) for fix, text in zip(fixes, (first, second), strict=True)] == [True, True]
    if headers is True:
        assert fixes[0].commands[0] == "sudo apt-get purge amdgpu-dkms amdgpu-dkms-firmware"
