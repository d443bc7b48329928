"""Which environment belongs to the working directory, and whose it is."""

import pytest

from gpudoctor.machine import Status
from gpudoctor.probes.python.choice import choose
from gpudoctor.probes.python.project_env import ABOVE, FOUND, INSIDE, POINTED, PROJECT, Here, find
from gpudoctor.recorded_machine import RecordedMachine

HERE = "/home/me/code/project"
ACTIVE = {"/opt/env/bin/python": "", "/opt/conda/bin/python": "", "/opt/conda/envs/gpu/bin/python": ""}


def env(prefix: str, python: str = "bin/python") -> dict[str, str]:
    return {f"{prefix}/pyvenv.cfg": "home = /usr/bin", f"{prefix}/{python}": ""}


def at(
    files: dict[str, str], more: dict[str, str] | None = None, links: dict[str, str] | None = None
) -> RecordedMachine:
    files = {"/usr/bin/python3": "", f"{HERE}/sub/x.py": "", **ACTIVE, **files}
    variables = {"PATH": "/usr/bin", "HOME": "/home/me", "PWD": HERE, **(more or {})}
    return RecordedMachine(files, links=links or {}, env=variables)


@pytest.mark.parametrize(
    ("files", "more", "expected"),
    [
        (env(f"{HERE}/.venv"), {}, (f"{HERE}/.venv", FOUND)),
        (env("/home/me/code/.venv"), {}, ("/home/me/code/.venv", ABOVE)),
        (env("/home/me/code/.venv") | env(f"{HERE}/.venv"), {}, (f"{HERE}/.venv", FOUND)),
        (env(f"{HERE}/.venv"), {"PWD": f"{HERE}/.venv/lib"}, (f"{HERE}/.venv", INSIDE)),
        # A broken one is found too: what is wrong with it is then said.
        ({f"{HERE}/.venv/pyvenv.cfg": ""}, {}, (f"{HERE}/.venv", FOUND)),
        # conda create --prefix .venv makes no pyvenv.cfg.
        ({f"{HERE}/.venv/bin/python": ""}, {}, (f"{HERE}/.venv", FOUND)),
        # An empty folder, where a container mounts an environment of its own.
        ({f"{HERE}/.venv/.keep": ""} | env("/home/me/.venv"), {}, ("/home/me/.venv", ABOVE)),
        ({f"{HERE}/.venv": "/envs/a\n"} | env("/envs/a"), {}, ("/envs/a", POINTED)),
        ({f"{HERE}/.venv": "../envs/a"} | env("/home/me/code/envs/a"), {}, ("/home/me/code/envs/a", POINTED)),
        ({f"{HERE}/.venv": "/gone"}, {}, None),
        (env(f"{HERE}/venv"), {}, None),
        (env(f"{HERE}/.venv"), {"PWD": ""}, None),
        (env(f"{HERE}/.venv"), {"PWD": "project"}, None),
        (env("/envs/b") | env(f"{HERE}/.venv"), {"UV_PROJECT_ENVIRONMENT": "/envs/b"}, ("/envs/b", PROJECT)),
        (env(f"{HERE}/.venv"), {"UV_PROJECT_ENVIRONMENT": "/envs/b"}, (f"{HERE}/.venv", FOUND)),
        # A relative one begins at the root of the workspace, where the lock is, not at a member's pyproject.toml.
        (
            env("/home/me/code/linux") | {"/home/me/code/uv.lock": "", f"{HERE}/pyproject.toml": ""},
            {"UV_PROJECT_ENVIRONMENT": "linux"},
            ("/home/me/code/linux", PROJECT),
        ),
        (env(f"{HERE}/linux"), {"UV_PROJECT_ENVIRONMENT": "linux"}, None),
    ],
)
def test_the_environment_of_a_directory(
    files: dict[str, str], more: dict[str, str], expected: tuple[str, str] | None
) -> None:
    found = find(at(files, more))
    assert (found and (found.prefix, found.why)) == expected
    assert found is None or found.stranger is None


def test_a_link_leads_to_an_environment() -> None:
    found = find(at(env("/opt/env"), links={f"{HERE}/.venv": "/opt/env"}))
    assert found == Here(f"{HERE}/.venv", f"{HERE}/.venv", FOUND, None)
    assert find(at({}, links={f"{HERE}/.venv": "/deleted"})) is None


@pytest.mark.parametrize("foreign", [".venv", ".venv/bin", ".venv/bin/python", ".venv/pyvenv.cfg", ".venv/lib"])
def test_what_somebody_else_owns_is_not_run(foreign: str) -> None:
    files = env(f"{HERE}/.venv") | {f"{HERE}/.venv/lib/x": ""}
    is_dir = foreign in (".venv", ".venv/bin", ".venv/lib")
    mine, theirs = (Status(0o755, uid, uid, 0, 0, 0, is_dir) for uid in (1000, 1001))
    variables = {"PATH": "/usr/bin", "PWD": HERE}
    for status, stranger in ((mine, None), (theirs, 1001)):
        machine = RecordedMachine(
            {"/usr/bin/python3": "", **files}, env=variables, statuses={f"{HERE}/{foreign}": status}
        )
        found = find(machine)
        assert found is not None
        assert found.stranger == stranger
        path = f"{HERE}/.venv/bin/python" if stranger is None else "/usr/bin/python3"
        assert choose(machine, [])[0][0] == path


@pytest.mark.parametrize(
    ("more", "chosen"),
    [
        ({}, (f"{HERE}/.venv/bin/python", FOUND)),
        ({"VIRTUAL_ENV": "/opt/env"}, ("/opt/env/bin/python", "VIRTUAL_ENV")),
        ({"CONDA_PREFIX": "/opt/conda/envs/gpu"}, ("/opt/conda/envs/gpu/bin/python", "CONDA_PREFIX")),
        ({"CONDA_PREFIX": "/opt/env", "CONDA_DEFAULT_ENV": "/opt/env"}, ("/opt/env/bin/python", "CONDA_PREFIX")),
        # conda's base is active in every shell: it says nothing about this directory.
        ({"CONDA_PREFIX": "/opt/conda"}, (f"{HERE}/.venv/bin/python", FOUND)),
        ({"CONDA_PREFIX": "/opt/conda", "CONDA_DEFAULT_ENV": "base"}, (f"{HERE}/.venv/bin/python", FOUND)),
        ({"CONDA_PREFIX": "/opt/conda", "PWD": "/"}, ("/opt/conda/bin/python", "CONDA_PREFIX")),
    ],
)
def test_what_is_active_comes_first(more: dict[str, str], chosen: tuple[str, str]) -> None:
    assert choose(at(env(f"{HERE}/.venv"), more), []) == [chosen]


def test_the_environment_made_for_gpudoctor_alone_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", f"{HERE}/.venv")
    site = f"{HERE}/.venv/lib/python3.11/site-packages"
    monkeypatch.setattr("sys.path", [site])
    assert choose(at(env(f"{HERE}/.venv")), [])[0][0] == "/usr/bin/python3"
    for name in ("torch/version.py", "torch-2.7.1.dist-info/RECORD", "~orch-2.7.1.dist-info/RECORD"):
        assert choose(at(env(f"{HERE}/.venv") | {f"{site}/{name}": ""}), [])[0][0] == f"{HERE}/.venv/bin/python"
