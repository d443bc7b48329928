"""Which systemd units around this process restrict devices."""

import pytest

from gpudoctor.probes.device_policy import units
from gpudoctor.recorded_machine import RecordedMachine

OWN = "/user.slice/user-1000.slice/user@1000.service/app.slice/docker.service"
SESSION = ("user.slice", "user-1000.slice", "user@1000.service")
CLOSED = "[Slice]\nDevicePolicy=closed\nDeviceAllow=/dev/nvidiactl rw\n"


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("/run/systemd/system.control/user-1000.slice.d/50-DevicePolicy.conf", CLOSED, ("user-1000.slice",)),
        ("/etc/systemd/system/user-.slice.d/gpus.conf", "[Slice]\nDeviceAllow = char-pts rwm", ("user-1000.slice",)),
        ("/etc/systemd/system/user@.service.d/gpus.conf", CLOSED, ("user@1000.service",)),
        ("/usr/lib/systemd/system/user.slice", CLOSED, ("user.slice",)),
        ("/etc/systemd/system/user-1001.slice.d/50.conf", CLOSED, ()),  # another user's
        ("/etc/systemd/system/user-1000.slice.d/50.conf", "[Slice]\nDevicePolicy=auto\nDeviceAllow=\n", ()),
        ("/etc/systemd/system/user-1000.slice.d/50.conf~", CLOSED, ()),
        ("/etc/systemd/system/docker.service", CLOSED, ()),  # the system's, not the user's
    ],
)
def test_files_of_units(file: str, text: str, found: tuple[str, ...]) -> None:
    assert units(RecordedMachine({"/proc/self/cgroup": f"0::{OWN}\n", file: text})) == (SESSION, found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12:devices:/x.slice\n1:name=systemd:/system.slice/cron.service\n", ("system.slice", "cron.service")),
        ("0::/\n", ()),
        ("0::/init.scope\n", ("init.scope",)),
        ("", ()),
    ],
)
def test_units_of_this_process(text: str, found: tuple[str, ...]) -> None:
    assert units(RecordedMachine({"/proc/self/cgroup": text})) == (found, ())
