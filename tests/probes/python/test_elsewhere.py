"""Frameworks in other interpreters than the examined one."""

from threading import Event

import pytest

from gpudoctor.facts import Python
from gpudoctor.facts.python import Elsewhere
from gpudoctor.machine import Machine, Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes.python import elsewhere
from gpudoctor.probes.python.discovery import FoundInterpreter
from gpudoctor.recorded_machine import RecordedMachine

SYSTEM = Python(path="/usr/bin/python3", prefix="/usr", version="3.12.3")
ENV = {"HOME": "/home/me", "PATH": "/usr/bin", "PWD": "/code"}
FOLDER = "/code/.venv"
UNNAMED = Unknown("/usr/bin/pip does not name its interpreter")
RUNS = Status(0o755, 0, 0, 2, 0, 0, is_dir=False)


def venv(folder: str, *modules: str, minor: str = "3.12") -> dict[str, str]:
    site = f"{folder}/lib/python{minor}/site-packages"
    files = {f"{folder}/bin/python": "", f"{folder}/pyvenv.cfg": ""}
    return files | {f"{site}/{module}/__init__.py": "" for module in modules}


def probe(files: dict[str, str], python: Python = SYSTEM, **env: str) -> tuple[object, object]:
    return elsewhere.probe(RecordedMachine(files, env=ENV | env), python)[:2]


def test_a_venv_with_a_framework() -> None:
    files = venv(FOLDER, "torch", "jax", "numpy") | venv("/home/me/.venvs/empty", "numpy")
    assert probe(files) == ((Elsewhere(path=f"{FOLDER}/bin/python", frameworks=("torch", "jax")),), None)


def test_the_examined_one_is_not_another() -> None:
    own = Python(path=f"{FOLDER}/bin/python3", prefix=FOLDER, version="3.12.3")
    assert probe(venv(FOLDER, "torch"), own) == ((), None)


def test_the_user_site_of_another_release() -> None:
    site = "/home/me/.local/lib/python3.10/site-packages/torch/__init__.py"
    program = {"/usr/bin/python3.10": ""}
    assert probe({site: ""}) == ((), None)  # its interpreter is gone
    found, _ = probe({site: ""} | program)
    assert found == (Elsewhere(path="/usr/bin/python3.10", frameworks=("torch",)),)
    own, _ = probe({site.replace("3.10", "3.12"): "", "/usr/bin/python3.12": ""})
    assert own == ()  # in the examined one it takes part, or is left out on purpose


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("/usr/bin/python3.12", ("/usr/bin/python3.12",)),
        ("/usr/bin/python3.11", ()),  # reads the directory of its own release
        ("/usr/local/bin/python3.11", ()),
    ],
)
def test_what_pip_installed_for_debians_python(program: str, found: tuple[str, ...]) -> None:
    own = Python(path="/opt/env/bin/python", prefix="/opt/env", version="3.11.7")
    site = "/usr/local/lib/python3.12/dist-packages/torch/__init__.py"
    others = elsewhere.probe(RecordedMachine({site: "", program: "#!"}, env=ENV, statuses={program: RUNS}), own)[0]
    assert tuple(other.path for other in others) == found  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#!/usr/bin/python3\nimport sys\n", None),
        ("#!/opt/other/bin/python3.11 -sE\n", "/opt/other/bin/python3.11"),
        ("#!/usr/bin/env python3\nimport sys\n", None),
        ("#!/usr/bin/env python3.11\nimport sys\n", "/usr/bin/python3.11"),
        ("#!/usr/bin/python3.11\nimport sys\n", "/usr/bin/python3.11"),  # the same folder, another release
        ('#!/bin/sh\nexec /opt/other/bin/python -m pip "$@"\n', "/opt/other/bin/python"),
        ('#!/usr/bin/env bash\nset -e\n"/opt/other/bin/python3" -W ignore -m pip "$@"\n', "/opt/other/bin/python3"),
        ('#!/bin/bash\nexec /usr/bin/python3.12 -m pip "$@"\n', None),
        ('#!/bin/bash\n# exec /opt/other/bin/python -m pip "$@"\nexec "$ROOT/bin/python" -m pip\n', UNNAMED),
        ("#!/usr/bin/env bash\nexec pyenv\n", UNNAMED),
        ("\x7fELF", UNNAMED),
    ],
)
def test_whose_pip_it_is(line: str, expected: object) -> None:
    files = {"/usr/bin/pip": line, "/usr/bin/python3.11": "", "/usr/bin/python3.12": ""}
    links = {"/usr/bin/python3": "/usr/bin/python3.12"}
    assert elsewhere.probe(RecordedMachine(files, env=ENV, links=links), SYSTEM).pip == expected


USERS = "/home/me/.local/lib/python3.11/site-packages/torch/__init__.py"
OLD = {"/usr/bin/python3.11": ""}


@pytest.mark.parametrize(
    ("files", "interpreter", "found"),
    [
        (venv("/opt/other", "torch"), "/opt/other/bin/python", ("torch",)),
        (venv("/opt/other", "numpy"), "/opt/other/bin/python", None),
        ({}, "/opt/gone/bin/python", None),
        ({USERS: ""} | OLD, "/usr/bin/python3.11", ("torch",)),
        ({USERS: ""} | venv("/opt/other") | OLD, "/opt/other/bin/python", None),  # an environment ignores ~/.local
        ({"/opt/conda/lib/python3.11/site-packages/torch/__init__.py": ""}, "/opt/conda/bin/python3.11", ("torch",)),
        ({"/usr/local/lib/python3.11/dist-packages/torch/__init__.py": ""}, "/usr/bin/python3.11", ("torch",)),
        ({"/usr/local/lib/python3.10/dist-packages/torch/__init__.py": ""}, "/usr/bin/python3.11", None),
    ],
)
def test_what_pip_on_path_installed(files: dict[str, str], interpreter: str, found: tuple[str, ...] | None) -> None:
    machine = RecordedMachine(files | {"/usr/bin/pip": f"#!{interpreter}\n"}, env=ENV)
    own = Python(path="/opt/env/bin/python", prefix="/opt/env", version="3.11.7")
    around = elsewhere.probe(machine, own)
    assert around.pip == interpreter
    others = {one.path: one.frameworks for one in around.elsewhere}  # type: ignore[union-attr]
    assert others.get(interpreter) == found


def test_the_environment_of_pip_comes_first_and_once() -> None:
    files = venv(FOLDER, "torch") | venv("/code/env", "jax") | {"/opt/bin/pip": "#!/code/env/bin/python3\n"}
    others, _ = probe(files, PATH="/opt/bin:/usr/bin")
    assert [one.path for one in others] == ["/code/env/bin/python3", f"{FOLDER}/bin/python"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "files", "expected"),
    [
        ("/opt/env/bin:/usr/bin", {"/usr/bin/python3": ""}, True),
        ("/usr/bin:/opt/env/bin", {"/usr/bin/python3": ""}, False),
        ("/usr/bin:/opt/env/bin", {}, True),
        ("/usr/bin", {}, False),
    ],
)
def test_whether_path_starts_it(path: str, files: dict[str, str], expected: bool) -> None:
    own = Python(path="/opt/env/bin/python", prefix="/opt/env", version="3.12.3")
    machine = RecordedMachine(venv("/opt/env") | files | {"/opt/env/bin/python3": ""}, env=ENV | {"PATH": path})
    assert elsewhere.probe(machine, own).first_on_path is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/opt/env/bin/python\nimport sys\n", None),
        ("#!/opt/env/bin/python3.11 -sE\n", None),
        ("#!/old/env/bin/python\nimport sys\n", "/old/env/bin/python"),
        ("#!/bin/sh\n'''exec' \"/old/my env/bin/python3\" \"$0\" \"$@\"\n' '''\n", "/old/my env/bin/python3"),
        ("#!/bin/sh\n'''exec' /opt/env/bin/python3 \"$0\" \"$@\"\n' '''\n", None),
        ("#!/usr/bin/env bash\n", None),
        ("", None),
    ],
)
def test_whose_a_venvs_own_pip_is(text: str, expected: str | None) -> None:
    machine = RecordedMachine({"/opt/env/bin/pip": text, "/opt/env/bin/python": "", "/old/x": ""})
    assert elsewhere.own_pip(machine, "/opt/env") == expected


def test_a_venv_behind_a_link_has_its_own_pip() -> None:
    machine = RecordedMachine({"/data/env/bin/pip": "#!/opt/env/bin/python\n"}, links={"/opt/env": "/data/env"})
    assert elsewhere.own_pip(machine, "/opt/env") is None
    assert elsewhere.own_pip(machine, "/data/env") is None


def test_folders_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "SECONDS", 0.05)
    come_back = Event()

    def hanging(_: Machine) -> list[FoundInterpreter]:
        come_back.wait(5)
        return []

    monkeypatch.setattr("gpudoctor.probes.python.discovery.probe", hanging)
    found, pip = probe({})
    come_back.set()
    assert isinstance(found, Unknown)
    assert isinstance(pip, Unknown)
