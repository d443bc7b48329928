"""Tests of reading package databases."""

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Distribution, Host
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import packages
from gpudoctor.recorded_machine import RecordedMachine


def test_what_dpkg_rpm_and_pacman_print() -> None:
    text = (
        "nvidia-driver-570 570.133.20-0ubuntu1 ii \n"
        "libnvidia-compute-570:amd64 570.133.20-0ubuntu1 iU \n"
        "nvidia-driver-535  un \n"
        "libcuda1\t525.85.12-1\n"
        "iF  nvidia-dkms-570  570.133.20-0ubuntu1  amd64  NVIDIA DKMS package\n"
        "rc  nvidia-utils-550:amd64  550.54.14-0ubuntu1  amd64  NVIDIA tools\n"
        "nvidia-container-toolkit 1.17.4-1 ii \n"
        "linux-headers 6.5.3.arch1-1\n"
        "akmod-nvidia 570.133.20-1.fc42 ii\n"
        "\n"
    )
    assert packages.parse(text) == (
        ("nvidia-driver-570", "570.133.20-0ubuntu1", "ii"),
        ("libnvidia-compute-570", "570.133.20-0ubuntu1", "iU"),
        ("libcuda1", "525.85.12-1", "ii"),
        ("nvidia-dkms-570", "570.133.20-0ubuntu1", "iF"),
        ("nvidia-utils-550", "550.54.14-0ubuntu1", "rc"),
        ("akmod-nvidia", "570.133.20-1.fc42", "ii"),
    )


@pytest.mark.parametrize(
    ("name", "like", "tool"),
    [
        ("ubuntu", ("debian",), "dpkg-query"),
        ("fedora", (), "rpm"),
        ("cachyos", ("arch",), "pacman"),
        ("odd", (), "dpkg-query"),
    ],
)
def test_the_distributions_own_tool_is_asked(name: str, like: tuple[str, ...], tool: str) -> None:
    machine = RecordedMachine(commands={"dpkg-query": "", "rpm": "", "pacman": ""})
    packages.probe(machine, Host(distribution=Distribution(id=name, like=like)))
    assert [line.split()[0] for line in machine.ran] == [tool]


def test_a_query_that_matches_nothing_is_an_empty_answer_and_one_that_fails_is_unknown() -> None:
    nothing = ChildResult(argv=(), code=1, err="dpkg-query: no packages found matching *nvidia*\n")
    assert packages.probe(RecordedMachine(commands={"dpkg-query": nothing}), Host()) == ()
    locked = ChildResult(argv=(), code=1, err="error: cannot open Packages database\n")
    answer = packages.probe(RecordedMachine(commands={"rpm": locked}), Host())
    assert answer == Unknown("rpm: error: cannot open Packages database")
    assert isinstance(packages.probe(RecordedMachine(), Host()), Unknown)
