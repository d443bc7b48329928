"""The distribution, from os-release."""

import pytest

from gpudoctor.probes.host import probe
from gpudoctor.recorded_machine import RecordedMachine

AURORA = 'NAME="Aurora"\nID=aurora\nID_LIKE="fedora"\nVERSION_ID=43\nVARIANT_ID=aurora-dx-nvidia-open\n'


@pytest.mark.parametrize(
    ("path", "text", "variant"),
    [
        ("/etc/os-release", AURORA, "aurora-dx-nvidia-open"),
        ("/usr/lib/os-release", AURORA, "aurora-dx-nvidia-open"),
        ("/etc/os-release", 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\n', None),
        ("/etc/redhat-release", "CentOS release 6.10 (Final)\n", None),
    ],
)
def test_an_image_is_named_by_its_variant(path: str, text: str, variant: str | None) -> None:
    assert probe(RecordedMachine({path: text})).distribution.variant == variant
