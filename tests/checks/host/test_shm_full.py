"""Shared memory that killed programs have filled."""

import os
import subprocess
from pathlib import Path
from shutil import which

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.host.shm_full import shm_full
from gpudoctor.facts import Facts
from gpudoctor.facts.host import Shm
from gpudoctor.maybe import Maybe, Unknown
from tests.builders import ask, change, nvidia_host

WHY = Unknown("statvfs failed")


def _having(size: Maybe[int | None], free: Maybe[int | None], gpus: int = 2) -> Facts:
    return change(nvidia_host(gpus), "host.shm", Shm(size=size, free=free, mode="1777", writable=True))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (_having(64 << 30, 12 << 20), ("problem", "/dev/shm (shared memory) is full: 12 MiB of 64 GiB are free.")),
        (
            _having(64 << 30, (64 << 20) - 1),
            ("problem", "/dev/shm (shared memory) is full: 63 MiB of 64 GiB are free."),
        ),
        (_having(64 << 30, 64 << 20), ("pass", "")),
        (_having(64 << 20, 0), ("pass", "")),  # container.shm-small and host.shm-small are about that
        (_having(None, None), ("pass", "")),
        (_having(64 << 30, 0, gpus=1), ("pass", "")),
        (_having(64 << 30, WHY), ("unknown", WHY.unknown)),
        (_having(WHY, 0), ("unknown", WHY.unknown)),
    ],
)
def test_shm_full(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(shm_full, facts) == [verdict]


@pytest.mark.skipif(not all(map(which, ("find", "fuser"))), reason="findutils and psmisc")
@pytest.mark.parametrize("fuser", [True, False])
def test_what_is_in_use_is_not_deleted(tmp_path: Path, fuser: bool) -> None:
    programs, folder = tmp_path / "bin", tmp_path / "shm"
    programs.mkdir()
    folder.mkdir()
    for name in ("find", "sh", *(("fuser",) if fuser else ())):
        (programs / name).symlink_to(which(name) or "")
    left, used = folder / "left", folder / "used"
    left.touch()
    delete = run(shm_full, _having(64 << 30, 0))[0].fixes[1].commands[0]
    line = delete.removeprefix("sudo ").replace("/dev/shm", str(folder))
    with used.open("w"):
        subprocess.run(line, shell=True, env={"PATH": str(programs)}, stderr=subprocess.DEVNULL, check=False)
    assert sorted(os.listdir(folder)) == (["used"] if fuser else ["left", "used"])


def test_a_container_does_not_see_who_else_has_a_file_open() -> None:
    look, delete = run(shm_full, change(_having(64 << 30, 0), "host.container", "docker"))[0].fixes
    assert "find /dev/shm" in look.commands[1]
    assert delete.commands == ()
