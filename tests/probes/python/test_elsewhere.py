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
RUNS = Status(0o755, 0, 0, 2, 0, 0, is_dir=False)


def venv(folder: str, *modules: str, minor: str = "3.12") -> dict[str, str]:
    site = f"{folder}/lib/python{minor}/site-packages"
    files = {f"{folder}/bin/python": "", f"{folder}/pyvenv.cfg": ""}
    return files | {f"{site}/{module}/__init__.py": "" for module in modules}


def probe(files: dict[str, str], python: Python = SYSTEM, **env: str) -> tuple[object, object]:
    return elsewhere.probe(RecordedMachine(files, env=ENV | env), python)


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
    others, _ = elsewhere.probe(RecordedMachine({site: "", program: "#!"}, env=ENV, statuses={program: RUNS}), own)
    assert tuple(other.path for other in others) == found  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#!/usr/bin/python3\nimport sys\n", None),
        ("#!/opt/other/bin/python3.11 -sE\n", "/opt/other/bin/python3.11"),
        ("#!/usr/bin/env bash\nexec pyenv\n", None),
        ("\x7fELF", None),
    ],
)
def test_whose_pip_it_is(line: str, expected: str | None) -> None:
    assert probe({"/usr/bin/pip": line})[1] == expected


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
