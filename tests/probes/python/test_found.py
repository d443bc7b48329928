"""Which interpreters a user may pick from."""

import pytest

from gpudoctor.machine import Machine
from gpudoctor.probes.python.discovery import MOST, FoundInterpreter, probe
from gpudoctor.recorded_machine import RecordedMachine

HOME = {"HOME": "/home/me", "PATH": "/usr/bin:/bin", "PWD": "/code"}


def venv(*folders: str) -> dict[str, str]:
    return {path: "" for folder in folders for path in (f"{folder}/bin/python", f"{folder}/pyvenv.cfg")}


def found(files: dict[str, str], **env: str) -> list[tuple[str, str]]:
    return [(one.path, one.kind) for one in probe(RecordedMachine(files, env=HOME | env))]


@pytest.mark.parametrize(
    "folder",
    [
        "/code/.venv",
        "/code/venv",
        "/code/gpu-env",
        "/code/project/.venv",
        "/code/project/venv",
        "/home/me/.venv",
        "/home/me/.venvs/torch",
        "/home/me/.virtualenvs/torch",
        "/home/me/.cache/pypoetry/virtualenvs/x-py3.12",
    ],
)
def test_a_venv_in_a_usual_place(folder: str) -> None:
    assert found(venv(folder)) == [(f"{folder}/bin/python", "venv")]


@pytest.mark.parametrize("folder", ["/code/a/b/.venv", "/home/me/code/x/.venv", "/home/me/.local/share/uv/tools/ruff"])
def test_what_lies_deeper_or_belongs_to_a_tool_is_not_looked_for(folder: str) -> None:
    assert found(venv(folder), PWD="/home/me") == []


def test_the_active_environment_and_folders_that_variables_name() -> None:
    assert found(venv("/opt/env"), VIRTUAL_ENV="/opt/env") == [("/opt/env/bin/python", "venv")]
    assert found(venv("/data/envs/a"), WORKON_HOME="/data/envs") == [("/data/envs/a/bin/python", "venv")]
    assert found(venv("/opt/env"), VIRTUAL_ENV="opt/env", PWD="") == []


def test_condas_environments() -> None:
    files = {
        "/home/me/.conda/environments.txt": "/srv/conda\n/srv/conda/envs/torch\n\nnonsense\n/gone\n",
        "/srv/conda/bin/python": "",
        "/srv/conda/envs/torch/bin/python": "",
        "/home/me/miniforge3/envs/jax/bin/python": "",
        "/opt/active/bin/python3": "",
    }
    assert found(files, CONDA_PREFIX="/opt/active", CONDA_EXE="/srv/conda/bin/conda") == [
        ("/opt/active/bin/python3", "conda"),
        ("/srv/conda/bin/python", "conda"),
        ("/srv/conda/envs/torch/bin/python", "conda"),
        ("/home/me/miniforge3/envs/jax/bin/python", "conda"),
    ]


def test_pyenvs_and_uvs() -> None:
    files = {
        "/home/me/.pyenv/versions/3.12.4/bin/python": "",
        "/home/me/.pyenv/shims/python": "",
        "/home/me/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin/python3": "",
    }
    assert found(files) == [
        ("/home/me/.pyenv/versions/3.12.4/bin/python", "pyenv"),
        ("/home/me/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin/python3", "uv"),
    ]
    moved = {"/data/pyenv/versions/3.9/bin/python": "", "/data/uv/cpython/bin/python3": ""}
    assert found(moved, PYENV_ROOT="/data/pyenv", UV_PYTHON_INSTALL_DIR="/data/uv") == [
        ("/data/pyenv/versions/3.9/bin/python", "pyenv"),
        ("/data/uv/cpython/bin/python3", "uv"),
    ]


def test_the_systems_each_once() -> None:
    files = {"/usr/bin/python3.11": "", "/usr/local/bin/python3.12": "", "/usr/bin/python3-config": ""}
    machine = RecordedMachine(files, links={"/usr/bin/python3": "python3.11", "/bin": "/usr/bin"}, env=HOME)
    assert probe(machine) == (
        FoundInterpreter("/usr/bin/python3", "system"),
        FoundInterpreter("/usr/local/bin/python3.12", "system"),
    )


def test_an_environments_folder_on_path_is_no_system() -> None:
    files = venv("/opt/env") | {"/opt/env/bin/python3": ""}
    assert found(files, PATH="/opt/env/bin") == []


def test_one_environment_by_two_ways_is_one() -> None:
    machine = RecordedMachine(venv("/code/.venv"), links={"/home/me/.venv": "/code/.venv"}, env=HOME)
    assert probe(machine) == (FoundInterpreter("/code/.venv/bin/python", "venv"),)


def test_it_never_finds_more_than_somebody_would_read() -> None:
    assert len(found(venv(*(f"/home/me/.venvs/{number}" for number in range(MOST + 20))))) == MOST


def test_nothing_is_looked_for_without_home_and_folder() -> None:
    assert probe(RecordedMachine({}, env={})) == ()


def test_this_machine_has_one() -> None:
    assert probe(Machine())
