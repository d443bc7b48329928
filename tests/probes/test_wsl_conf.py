"""Tests of the probe of WSL's settings."""

import pytest

from gpudoctor.facts import Host
from gpudoctor.maybe import Unknown
from gpudoctor.probes.wsl import conf
from gpudoctor.recorded_machine import RecordedMachine

WSL = Host(wsl=2, container=None)


@pytest.mark.parametrize(
    ("text", "gpu", "ldconfig"),
    [
        (None, True, True),
        ("", True, True),
        ("[boot]\nsystemd=true\n", True, True),
        ("[gpu]\nenabled = false\n", False, True),
        ("[GPU]\nEnabled=False # saves memory\n", False, True),
        ("[gpu]\n#enabled=false\n", True, True),
        ("[interop]\nenabled=false\n", True, True),
        ("[automount]\nenabled=true\nldconfig=false\n", True, False),
        ('[automount]\nldconfig="false"\n', True, False),
    ],
)
def test_what_is_switched_off(text: str | None, gpu: bool, ldconfig: bool) -> None:
    seen = conf.probe(RecordedMachine({} if text is None else {"/etc/wsl.conf": text}), WSL)
    assert (seen.gpu, seen.ldconfig) == (gpu, ldconfig)


@pytest.mark.parametrize("wsl", [None, 1])
def test_elsewhere_the_file_means_nothing(wsl: int | None) -> None:
    seen = conf.probe(RecordedMachine({"/etc/wsl.conf": "[gpu]\nenabled=false\n"}), Host(wsl=wsl, container=None))
    assert (seen.gpu, seen.ldconfig) == (None, None)


def test_what_cannot_be_read_is_unknown() -> None:
    machine = RecordedMachine({"/etc/wsl.conf": ""}, errors={"/etc/wsl.conf": "EACCES"})
    assert conf.probe(machine, WSL).gpu == Unknown("/etc/wsl.conf: Permission denied")
    assert isinstance(conf.probe(RecordedMachine(), Host(wsl=2, container="docker")).gpu, Unknown)
    assert isinstance(conf.probe(RecordedMachine(), Host(wsl=Unknown("no /proc"))).gpu, Unknown)
