"""What runsc of gVisor takes, where it passes GPUs on."""

from typing import Any

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.probes import gvisor
from gpudoctor.recorded_machine import RecordedMachine

LIST = "runsc nvproxy list-supported-drivers"
SHIM = "/etc/containerd/runsc.toml"
ON = '[runsc_config]\n  nvproxy = "true"\n'


def host(files: dict[str, str], said: str = "535.129.03\n570.195.03\n") -> RecordedMachine:
    return RecordedMachine(files, commands={LIST: said})


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({SHIM: ON}, (("535.129.03", "570.195.03"), SHIM)),
        ({SHIM: "[runsc_config]\n  debug = true\n"}, (None, None)),
        ({SHIM: f'{ON}  nvproxy-driver-version = "570.195.03"\n'}, (None, None)),
        ({}, (None, None)),
        (
            {"/etc/containerd/config.toml": '  ConfigPath = "/opt/runsc.toml"\n', "/opt/runsc.toml": ON},
            (("535.129.03", "570.195.03"), "/opt/runsc.toml"),
        ),
        (
            {"/etc/docker/daemon.json": '{"runtimes": {"runsc": {"runtimeArgs": ["--nvproxy"]}}}'},
            (("535.129.03", "570.195.03"), "/etc/docker/daemon.json"),
        ),
    ],
)
def test_the_versions_where_nvproxy_is_on(files: dict[str, str], found: Any) -> None:
    assert gvisor.probe(host(files)) == found


def test_a_runsc_that_lists_nothing_is_unknown() -> None:
    drivers, _ = gvisor.probe(host({SHIM: ON}, "unknown command"))
    assert isinstance(drivers, Unknown)
