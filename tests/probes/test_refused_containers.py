"""Containers that Docker could not start."""

import json

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Host
from gpudoctor.facts.container_host import RefusedContainer
from gpudoctor.maybe import Unknown
from gpudoctor.probes import docker
from gpudoctor.probes.refused_containers import refused
from gpudoctor.recorded_machine import RecordedMachine
from tests.probes.test_docker import ENV, info

CLIENT = "/usr/bin/docker"
ID = "3f0c1a9be2d4" * 5 + "abcd"
ERROR = (
    "failed to create task for container: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, "
    "please update your driver to a newer version, or use an earlier cuda container: unknown"
)
FAILED = {"Id": ID, "Name": "/tabby", "State": {"Status": "created", "ExitCode": 128, "Error": ERROR}}
OTHER = {"Id": ID, "Name": "/web", "State": {"Status": "created", "Error": "port is already allocated"}}


GPUS = RefusedContainer(name="fireshare", condition="gpus")
NO_GPUS = (
    "failed to discover GPU vendor from CDI: no known GPU vendor found",
    'could not select device driver "" with capabilities: [[gpu]]',
    'could not select device driver "nvidia" with capabilities: [[gpu compute]]',
)


def _created(error: str) -> dict[str, object]:
    return {"Id": ID, "Name": "/fireshare", "State": {"Status": "created", "Error": error}}


PS = "docker ps --all --no-trunc --filter status=created --filter status=exited --format {{.ID}}"


def look(listed: str | ChildResult, shown: str) -> object:
    ids = " ".join(listed.split()) if isinstance(listed, str) else ""
    machine = RecordedMachine({CLIENT: ""}, env=ENV, commands={PS: listed, f"docker inspect {ids}": shown})
    return refused(machine, CLIENT)


@pytest.mark.parametrize(
    ("listed", "shown", "found"),
    [
        ("", "", ()),
        (f"{ID}\n", json.dumps([FAILED]), (RefusedContainer(name="tabby", condition="cuda>=12.8"),)),
        (f"{ID}\n{ID}\n", json.dumps([OTHER, FAILED]), (RefusedContainer(name="tabby", condition="cuda>=12.8"),)),
        *((f"{ID}\n", json.dumps([_created(error)]), (GPUS,)) for error in NO_GPUS),
        (f"{ID}\n", json.dumps([{"State": None}, 1, {}]), ()),
        (f"{ID}\n", "null", ()),
        (f"{ID}\n", "", Unknown("docker inspect: no JSON")),
        (ChildResult(argv=(), code=1, err="permission denied\n"), "", Unknown("docker ps: permission denied")),
    ],
)
def test_what_docker_says(listed: str | ChildResult, shown: str, found: object) -> None:
    assert look(listed, shown) == found


@pytest.mark.parametrize(("quick", "asked"), [(True, 0), (False, 1)])
def test_a_quick_check_does_not_ask(quick: bool, asked: int) -> None:
    machine = RecordedMachine({CLIENT: ""}, env=ENV, commands={"docker info": info(), PS: ""})
    seen = docker.probe(machine, Host(container=None, wsl=None), True, quick)
    assert isinstance(seen.refused, Unknown) is quick
    assert sum(line.startswith("docker ps") for line in machine.ran) == asked
