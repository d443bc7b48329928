"""Whether the kernel's configuration has what GB10 needs."""

import pytest

from gpudoctor.facts import PciDevice
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia.shared_page_tables import probe
from gpudoctor.recorded_machine import RecordedMachine

GB10 = PciDevice(address="000f:01:00.0", vendor="10de", device="2e12", class_code="030200", name="GB20B [GB10]")
OTHER = PciDevice(address="0000:01:00.0", vendor="10de", device="2b00", class_code="030200", name="GB10B [Thor]")
RELEASE = RecordedMachine({}).release()
WITH = "CONFIG_ARM_SMMU_V3=y\nCONFIG_ARM_SMMU_V3_SVA=y\n"
WITHOUT = "CONFIG_ARM_SMMU_V3=y\n# CONFIG_ARM_SMMU_V3_SVA is not set\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({f"/boot/config-{RELEASE}": WITH}, False),
        ({f"/boot/config-{RELEASE}": WITHOUT}, True),
        ({f"/lib/modules/{RELEASE}/config": WITHOUT}, True),
        ({f"/boot/config-{RELEASE}": "CONFIG_64BIT=y\n"}, Unknown("the kernel's configuration does not name the SMMU")),
    ],
)
def test_option(files: dict[str, str], found: object) -> None:
    machine = RecordedMachine(files)
    assert probe(machine, (GB10,)) == found
    assert probe(machine, (OTHER,)) is None
    assert probe(machine, ()) is None


def test_configuration_that_cannot_be_read() -> None:
    assert isinstance(probe(RecordedMachine({}), (GB10,)), Unknown)
    assert isinstance(probe(RecordedMachine({"/proc/config.gz": "no gzip"}), (GB10,)), Unknown)
