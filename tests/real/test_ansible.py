"""The role of examples/ansible, run by a real ansible-core on this machine; its fact is read back by Ansible."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples import EXAMPLES, ILL, ROOT, become, stand_in

pytestmark = pytest.mark.realenv
Play = Callable[..., str]


@pytest.fixture
def play(interpreter: Callable[..., str], tmp_path: Path) -> Play:
    """Run the example's playbook on this machine; gives what Ansible printed."""
    programs = Path(interpreter("ansible", "ansible-core")).parent

    def run(code: int = 0, **variables: str) -> str:
        given = {
            "gpudoctor_package": str(ROOT),
            "gpudoctor_home": str(tmp_path / "home"),
            "gpudoctor_facts_folder": str(tmp_path / "facts.d"),
            "gpudoctor_python": sys.executable,
            "ansible_python_interpreter": sys.executable,
            "ansible_become": False,
            **variables,
        }
        argv = [
            str(programs / "ansible-playbook"),
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            json.dumps(given),
            "playbook.yml",
        ]
        env = {**os.environ, "ANSIBLE_HOME": str(tmp_path), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}
        ended = subprocess.run(
            argv,
            cwd=EXAMPLES / "ansible",
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            stdin=subprocess.DEVNULL,
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return str(ended.stdout)

    return run


def changed(said: str) -> int:
    """How many tasks changed something."""
    (number,) = re.findall(r"changed=(\d+)", said)
    return int(number)


def test_the_role_installs_and_the_second_run_changes_nothing(play: Play, tmp_path: Path) -> None:
    assert changed(play()) > 0
    fact = tmp_path / "facts.d" / "gpudoctor.fact"
    ended = subprocess.run([fact], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, "Ansible drops a fact whose script fails"
    assert json.loads(ended.stdout)["schema"] == "gpudoctor.report/1"
    assert changed(play()) == 0


def test_an_ill_machine_stops_the_play_with_what_is_wrong(play: Play, tmp_path: Path) -> None:
    (tmp_path / "home" / "bin").mkdir(parents=True)
    (tmp_path / "home" / "bin" / "pip").touch()  # so that nothing is made or installed
    stand_in(tmp_path / "home" / "bin", ILL)
    said = play(code=2)
    assert "Driver/library version mismatch: module and libraries differ" in said
    assert "failed=1" in play(code=2)
    play(gpudoctor_must_be_well="no")
    become(tmp_path / "home" / "bin", "hgx-h100")
    play()
