"""The Dockerfile, read by a parser of Dockerfiles, and its health check run by sh as Docker runs it."""

import subprocess
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from gpudoctor.expect.loader import load
from tests.examples import BIN, EXAMPLES, ILL, WELL, stand_in

FOLDER = EXAMPLES / "docker"


def instructions() -> list[tuple[str, str]]:
    with (FOLDER / "Dockerfile").open("rb") as file:
        return [(one["instruction"], one["value"]) for one in DockerfileParser(fileobj=file).structure]


def of(name: str) -> str:
    (value,) = (value for instruction, value in instructions() if instruction == name)
    return value


def test_it_starts_from_an_image_and_has_one_command() -> None:
    known = {"FROM", "RUN", "COPY", "HEALTHCHECK", "CMD", "COMMENT"}
    assert {name for name, _ in instructions()} <= known
    assert of("FROM")
    assert of("CMD").startswith("[")


def test_what_it_copies_is_there_and_is_where_gpudoctor_looks() -> None:
    source, target = of("COPY").split()
    assert target.startswith("/etc/gpudoctor/expect.d/")
    assert target.endswith(".toml")
    (wanted,) = load([str(FOLDER / source)])
    assert wanted.path == "gpus"


@pytest.mark.parametrize(
    ("machine", "code"),
    [
        (WELL, 0),
        (ILL, 1),
        ("server-without-a-gpu-in-docker", 1),
        ("lost-after-a-daemon-reload", 1),
        ("fell-off-the-bus", 1),
    ],
)
def test_docker_gets_0_or_1_and_one_line(machine: str, code: int, tmp_path: Path) -> None:
    options, _, command = of("HEALTHCHECK").partition("CMD ")
    program = f"{stand_in(tmp_path, machine)} check --expect {FOLDER / 'expect.toml'}"
    ended = subprocess.run(
        ["/bin/sh", "-c", command.replace(f"{BIN} check", program)], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert ended.stdout.count("\n") == 1
    assert "--timeout=45s" in options
    assert "--timeout 30 " in command, "it ends before Docker ends it"


def test_what_cannot_be_told_is_not_healthy(tmp_path: Path) -> None:
    program = stand_in(tmp_path, WELL)
    (tmp_path / "facts.json").write_text("{}")
    command = of("HEALTHCHECK").partition("CMD ")[2].replace(BIN, str(program))
    assert subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60).returncode == 1
