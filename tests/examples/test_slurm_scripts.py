"""The scripts for Slurm, without Slurm: what is kept, for how long, and what is never believed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.examples import BIN, EXAMPLES, ILL, WELL, asked, become, stand_in

FOLDER = EXAMPLES / "slurm"
SCRIPTS = sorted(FOLDER.glob("*.sh"))


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A folder with the scripts, on a well machine."""
    stand_in(tmp_path, WELL)
    for script in SCRIPTS:
        text = script.read_text().replace(BIN, f"{tmp_path}/gpudoctor").replace("/run/gpudoctor", f"{tmp_path}/run")
        (tmp_path / script.name).write_text(text)
        (tmp_path / script.name).chmod(0o755)
    return tmp_path


def run(path: Path, *words: str, **env: str) -> tuple[int, str]:
    ended = subprocess.run([path, *words], env=env, capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_plain_shell_reads_it(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["sh", "-n", script], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", script], check=True)


def test_what_was_well_is_believed_for_a_while(node: Path) -> None:
    assert run(node / "prolog.sh") == (0, "")
    assert run(node / "prolog.sh") == (0, "")
    assert asked(node) == 1
    os.utime(node / "run" / "well", (0, 0))
    assert run(node / "prolog.sh")[0] == 0
    assert asked(node) == 2


def test_what_is_kept_from_the_future_is_not_believed(node: Path) -> None:
    run(node / "gpudoctor-node.sh")
    os.utime(node / "run" / "well", (4e9, 4e9))
    run(node / "gpudoctor-node.sh", "600")
    assert asked(node) == 2


def test_the_health_check_itself_believes_nothing(node: Path) -> None:
    run(node / "healthcheck.sh")
    run(node / "healthcheck.sh")
    assert asked(node) == 2


def test_a_problem_is_never_kept(node: Path) -> None:
    become(node, ILL)
    code, said = run(node / "prolog.sh")
    assert (code, said.startswith("gpudoctor: driver.library-mismatch: ")) == (1, True)
    become(node, WELL)
    assert run(node / "prolog.sh") == (0, "")


def test_a_node_is_drained_by_its_own_name_with_the_reason(node: Path) -> None:
    become(node, ILL)
    (node / "scontrol").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (node / "scontrol").chmod(0o755)
    code, said = run(node / "healthcheck.sh", PATH=str(node), SLURMD_NODENAME="gpu07")
    assert code == 0
    assert said.splitlines()[:3] == ["update", "nodename=gpu07", "state=drain"]
    assert said.splitlines()[3].startswith("reason=gpudoctor: driver.library-mismatch: ")


def test_a_job_of_its_own_is_no_part_of_the_node(node: Path) -> None:
    (node / "gpudoctor").write_text("#!/bin/sh\nenv\n")
    said = run(node / "gpudoctor-node.sh", SLURM_JOB_ID="7", CUDA_VISIBLE_DEVICES="3")[1]
    assert "SLURM_JOB_ID" not in said
    assert "CUDA_VISIBLE_DEVICES" not in said


@pytest.mark.parametrize("name", ["prolog.sh", "healthcheck.sh"])
def test_a_tool_that_is_missing_holds_no_job_up(node: Path, name: str) -> None:
    (node / "gpudoctor").unlink()
    code, said = run(node / name)
    assert (code == 0) is (name == "prolog.sh"), "slurmd logs the health check's line where its code is not 0"
    assert "gpudoctor printed nothing and exited with 127" in said


def test_the_files_that_slurm_is_told_of_are_there() -> None:
    rows = dict(line.split("=") for line in (FOLDER / "slurm.conf.part").read_text().splitlines() if line[0] != "#")
    for key in ("HealthCheckProgram", "Prolog"):
        assert (FOLDER / Path(rows[key]).name).exists()
