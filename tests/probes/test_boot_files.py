"""What makes the initial RAM disk, and the room for it."""

import pytest

from gpudoctor.machine import Space
from gpudoctor.maybe import Unknown
from tests.probes.test_host import host


@pytest.mark.parametrize(
    ("files", "by_dracut"),
    [
        ({"/usr/bin/dracut": ""}, True),
        ({"/usr/bin/dracut": "", "/usr/sbin/update-initramfs": ""}, False),
        ({"/usr/sbin/update-initramfs": ""}, False),
        ({}, False),
    ],
)
def test_what_makes_the_initial_ram_disk(files: dict[str, str | bytes], by_dracut: bool) -> None:
    assert host(files).kernel.by_dracut is by_dracut


def test_the_room_in_boot() -> None:
    image = "/boot/initrd.img-6.8.0-60-generic"
    kernel = host({image: "x"}, spaces={"/boot": Space(1 << 30, 6 << 20)}).kernel
    assert (kernel.boot_free, kernel.initramfs) == (6 << 20, 1)
    kernel = host(spaces={}).kernel
    assert kernel.boot_free == Unknown("statvfs(2) on /boot failed")
    assert kernel.initramfs is None
