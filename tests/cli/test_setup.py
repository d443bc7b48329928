"""`gpudoctor setup`: exit codes, forms, and what is run only after a yes."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli.setup import _left
from gpudoctor.facts import Facts
from gpudoctor.setup.exporters import FORMS
from gpudoctor.setup.plan import Plan
from tests.builders import change, plain_host
from tests.checks.amd_machines import amd_host
from tests.cli import gpudoctor
from tests.cli.conftest import Run
from tests.machines.registry import machines
from tests.setup.grounds import machine
from tests.setup.plans import made

# A uv that makes what it is asked for, and tells nobody else.
UV = """#!/bin/sh
echo "uv $*"
case "$1 $2" in
"venv --python")
    mkdir -p "$4/bin"
    printf '#!/bin/sh\\necho "python $*"\\n' > "$4/bin/python"
    chmod +x "$4/bin/python";;
"pip install") exit "${INSTALL:-0}";;
esac
"""


# The same, which kills who runs it at the stage that STAGE names.
KILLING = """#!/bin/sh
[ "$1" = venv ] && mkdir -p "$4/bin" && ln -s "$0" "$4/bin/python"
case "$0 $1" in *"/$STAGE "*|*" $STAGE") kill -9 $PPID;; esac
"""


def _file(folder: Path, facts: Facts) -> str:
    (folder / "host.json").write_bytes(msgspec.json.encode(facts))
    return str(folder / "host.json")


@pytest.fixture
def ada(tmp_path: Path) -> str:
    return _file(tmp_path, machine("ada", branch=580))


@pytest.fixture
def tools(tmp_path: Path) -> str:
    """A PATH with the uv above."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uv").write_text(UV)
    (tmp_path / "bin" / "uv").chmod(0o755)
    return f"{tmp_path}/bin:/usr/bin:/bin"


def test_a_plan_is_printed_and_nothing_is_made(run: Run, ada: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    ran = run("setup", "pytorch", "--facts", ada, "--env", str(tmp_path / "env"), "--manager", "uv")
    assert (ran.code, ran.err) == (0, "")
    assert f"uv pip install --python {tmp_path}/env/bin/python 'torch==2.14.*'" in ran.out
    assert sorted(tmp_path.iterdir()) == before


def test_a_wish_that_cannot_be_met_gives_3_and_is_told_first(run: Run, tmp_path: Path) -> None:
    ran = run("setup", "pytorch", "tensorflow", "--facts", _file(tmp_path, machine("blackwell")))
    assert ran.code == 3
    assert ran.out.index("LEFT OUT  TensorFlow") < ran.out.index("1         Create an environment")
    assert "instead   Use NVIDIA's build in the container" in ran.out


def test_json_is_the_plan(run: Run, ada: str) -> None:
    ran = run("setup", "pytorch", "jax", "--facts", ada, "--json")
    assert json.loads(ran.out)["schema"] == "gpudoctor.plan/1"
    assert [w.framework for w in msgspec.json.decode(ran.out, type=Plan).wheels] == ["torch", "jax"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_written(run: Run, ada: str, form: str) -> None:
    ran = run("setup", "pytorch", "--facts", ada, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    assert "torch==2.14.*" in ran.out


def test_a_dockerfile_for_the_cpu_says_so(run: Run, tmp_path: Path) -> None:
    """It is often written on a machine without a GPU."""
    plain = _file(tmp_path, plain_host())
    ran = run("setup", "pytorch", "--facts", plain, "--format", "dockerfile")
    assert ran.code == 0
    assert "This plan is for the CPU." in ran.err
    assert "--facts gpu.json" in ran.err
    assert "This plan is for the CPU." in " ".join(ran.out.replace("# ", "").split())
    assert "# Verify in a container:\n" in ran.out
    assert "--facts gpu.json" not in run("setup", "pytorch", "--cpu", "--facts", plain, "--format", "dockerfile").err


def test_a_dockerfile_for_amd_passes_its_devices(run: Run, tmp_path: Path) -> None:
    ran = run("setup", "pytorch", "--facts", _file(tmp_path, amd_host()), "--format", "dockerfile")
    assert "(docker run --device /dev/kfd --device /dev/dri ...)" in ran.out
    assert "--gpus all" not in ran.out


def test_no_file_is_written_without_a_framework(run: Run, tmp_path: Path) -> None:
    """A fragment that only extends PATH by a directory that nothing creates would build."""
    blackwell = _file(tmp_path, machine("blackwell"))
    for form in ("dockerfile", "environment.yml"):
        ran = run("setup", "torch==2.5.1", "--facts", blackwell, "--format", form)
        assert (ran.code, ran.out) == (3, "")
        assert "Left out: PyTorch 2.5.1." in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pytorhc",), 'Unknown framework "pytorhc". Did you mean "pytorch"?'),
        (("pytorch", "--python-version", "3"), '--python-version takes a release of Python such as 3.12, not "3".'),
        (("pytorch", "--format", "ansible", "--manager", "pixi"), "--format ansible supports uv and pip, not pixi."),
        (("pytorch", "--run"), "--run cannot be used with --facts: the file is from another machine."),
        (
            ("pytorch", "--format", "environment.yml", "--manager", "uv"),
            "--format environment.yml supports conda, not uv.",
        ),
        (("pytorch", "--env", ""), '"" cannot be the directory of an environment.'),
        (("pytorch", "--yes"), "--yes works only with --run."),
        (("pytorch", "--with-root"), "--with-root works only with --run."),
    ],
)
def test_wrong_usage_is_one_sentence(run: Run, ada: str, words: tuple[str, ...], sentence: str) -> None:
    assert run("setup", *words, "--facts", ada).sentence == sentence


def test_gpus_that_are_left_out_are_told(run: Run, ada: str) -> None:
    reported = "note      The GPUs of this machine are not used"
    assert reported in run("setup", "pytorch", "--cpu", "--facts", ada).out
    assert reported not in run("setup", "pytorch", "--facts", ada).out


def _carried(tmp_path: Path, tools: str, *words: str, **env: str) -> tuple[int, str, str]:
    place = str(tmp_path / "env")
    state = {"PATH": tools, "XDG_STATE_HOME": str(tmp_path / "state"), **env}
    ran = gpudoctor("setup", "jax", "--cpu", "--manager", "uv", "--env", place, "--run", *words, env=state)
    return ran.code, ran.out, ran.err


def test_without_a_yes_nothing_is_run(tmp_path: Path, tools: str) -> None:
    code, out, err = _carried(tmp_path, tools)
    assert code == 5
    assert "uv venv" in out
    assert err.endswith(
        "gpudoctor: Nothing was run: there is no terminal to ask for confirmation, and --yes was not given.\n"
    )
    assert not (tmp_path / "env").exists()
    assert not (tmp_path / "state").exists()


def test_a_step_that_fails_gives_4_and_ends_it_and_undo_takes_back_what_was_done(tmp_path: Path, tools: str) -> None:
    code, out, err = _carried(tmp_path, tools, "--yes", INSTALL="9")
    assert code == 4
    assert "exited with code 9. No further steps were run." in err
    assert "Done before: uv venv" in err
    assert "print(jnp" not in out.rpartition("$ uv pip install")[2]
    assert (tmp_path / "env").exists()
    state = {"PATH": tools, "XDG_STATE_HOME": str(tmp_path / "state")}
    assert gpudoctor("fix", "--undo", env=state).code == 5
    assert (tmp_path / "env").exists()
    taken = gpudoctor("fix", "--undo", "--yes", env=state)
    assert (taken.code, taken.err) == (0, "")
    assert not (tmp_path / "env").exists()
    assert gpudoctor("fix", "--undo", "--yes", env=state).code == 3  # once


@pytest.mark.parametrize("stage", ["venv", "pip", "python"])
def test_a_run_that_is_killed_at_any_stage_can_be_taken_back(tmp_path: Path, tools: str, stage: str) -> None:
    """SIGKILL while the environment is made, while wheels are installed, and while it is proved."""
    (tmp_path / "bin" / "uv").write_text(KILLING)
    state = {"PATH": tools, "XDG_STATE_HOME": str(tmp_path / "state")}
    code, _, err = _carried(tmp_path, tools, "--yes", STAGE=stage)
    assert (code, err) == (-9, "")
    assert (tmp_path / "env").exists()
    lines = [json.loads(line) for line in (tmp_path / "state" / "gpudoctor" / "journal").read_text().splitlines()]
    assert [line["event"] for line in lines[:2]] == ["begin", "step"]
    assert "end" not in {line["event"] for line in lines}
    taken = gpudoctor("fix", "--undo", "--yes", env=state)
    assert (taken.code, taken.err) == (0, "")
    assert not (tmp_path / "env").exists()
    assert gpudoctor("fix", "--undo", "--yes", env=state).code == 3  # once


def test_what_is_there_is_not_overwritten(tmp_path: Path, tools: str) -> None:
    (tmp_path / "env").mkdir()
    code, _, err = _carried(tmp_path, tools, "--yes")
    assert code == 2
    assert err == f"gpudoctor: {tmp_path}/env already exists: --into installs into it, --env names another directory.\n"


def test_a_missing_program_is_told_before_anything_is_done(tmp_path: Path) -> None:
    code, _, err = _carried(tmp_path, "/usr/bin:/bin", "--yes")
    assert code == 2
    assert err.endswith("Not on PATH: uv. Use --manager to choose another installer.\n")
    assert not (tmp_path / "state").exists()


def test_nothing_of_the_working_directory_is_imported(tmp_path: Path, tools: str) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('json.py of the working directory')")
    (tmp_path / "jax.py").write_text("raise SystemExit('jax.py of the working directory')")
    uv = tmp_path / "bin" / "uv"  # its Python ends the smoke test, which by then has imported all that it needs
    uv.write_text(UV.replace("sh\\necho", 'sh\\ncase "$1" in *workers*) kill -9 $PPID;; esac\\necho'))
    state = {"PATH": tools, "XDG_STATE_HOME": str(tmp_path / "state")}
    words = ("setup", "jax", "--cpu", "--manager", "uv", "--env", "env", "--run", "--yes")
    ran = gpudoctor(*words, env=state, cwd=tmp_path)
    assert "of the working directory" not in ran.out + ran.err
    assert f"$ uv venv --python 3.11 {tmp_path}/env" in ran.out or f"{tmp_path}/env" in ran.out


def test_a_journal_that_cannot_be_written_ends_it_before_anything_is_done(tmp_path: Path, tools: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "gpudoctor").write_text("a file where the folder belongs")
    env = {"PATH": tools, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    done = gpudoctor("setup", "onnxruntime", "--cpu", "--run", "--yes", "--env", "env", cwd=tmp_path, env=env)
    assert done.code == 4
    assert "The journal" in done.err
    assert "cannot be written" in done.err
    assert not done.err.rstrip().endswith("..")
    assert not (tmp_path / "env").exists()


def test_a_plan_for_another_machine_names_no_folder_of_this_one(run: Run, ada: str, tmp_path: Path) -> None:
    ran = run("setup", "pytorch", "--facts", ada, "--manager", "pip")
    assert "-m venv gpu-env\n" in ran.out
    assert "gpu-env/bin/python -m pip install" in ran.out
    assert str(tmp_path) not in ran.out


def test_forms_of_linux_are_refused_for_windows(run: Run, tmp_path: Path) -> None:
    windows = next(m for m in machines() if m.name == "windows-with-nvidia")
    file = _file(tmp_path, windows.make())
    ran = run("setup", "pytorch", "--facts", file, "--format", "shell")
    assert (ran.code, ran.out) == (2, "")
    assert "--format shell is for Linux; this plan is for Windows." in ran.err
    assert run("setup", "pytorch", "--facts", file, "--format", "environment.yml").code == 0


@pytest.mark.parametrize("form", FORMS)
def test_no_form_lets_what_a_facts_file_holds_reach_the_terminal(run: Run, tmp_path: Path, form: str) -> None:
    evil = change(machine("ada"), "pythons.0.path", "/x\x1b]0;title\x07/python")
    evil = change(evil, "host.distribution.name", "Ubuntu\x1b[31m\nRUN touch /evil\n- name: evil")
    ran = run("setup", "pytorch", "--manager", "pip", "--facts", _file(tmp_path, evil), "--format", form)
    assert not set(ran.out) & {"\x1b", "\x07"}
    assert not [line for line in ran.out.splitlines() if line.startswith(("RUN touch", "- name: evil"))]


def test_a_gpu_that_programs_cannot_use_is_fixed_first(run: Run, tmp_path: Path) -> None:
    wsl = next(m.make() for m in machines() if m.name == "linux-driver-in-wsl")
    ran = run("setup", "pytorch", "--facts", _file(tmp_path, wsl))
    assert ran.code == 3
    assert "Fix wsl.linux-driver-installed first (step 1" in ran.out
    assert "pip install" not in ran.out
    ran = run("setup", "pytorch", "--cpu", "--facts", _file(tmp_path, wsl))
    assert (ran.code, "CPU wheels" in ran.out) == (0, True)


def test_an_environment_without_pip_is_reported_before_anything_is_changed(run: Run, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    into = ("setup", "onnxruntime", "--cpu", "--into", str(tmp_path / "env"), "--manager", "pip")
    assert "to run steps 1, 2, add --run." in run(*into).out
    ran = run(*into, "--run", "--yes")
    assert ran.code == 4
    assert "has no pip. Run" in ran.err
    assert "Nothing was changed before it." in ran.err


def test_what_was_not_run_stands_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """After pages of an installer's output nobody remembers that a driver is missing."""
    plan = made(machine("blackwell", branch=None), "cupy")
    _left(plan, (plan.steps[0], plan.steps[-1]))
    reported = capsys.readouterr()
    assert reported.err == "gpudoctor: Left to you, in this order; nothing was verified yet:\n"
    assert "1         Install NVIDIA's driver" in reported.out
    assert "4         Verify the installation." in reported.out
    assert "pip install" not in reported.out


def test_upgrade_is_of_an_environment_that_is_there(run: Run, ada: str) -> None:
    ran = run("setup", "pytorch", "--upgrade", "--facts", ada)
    assert (ran.code, "--upgrade works only with --into." in ran.err) == (2, True)
