"""Which interpreter is examined."""

import sys

import pytest

from gpudoctor.machine import Status
from gpudoctor.probes.python.choice import InterpreterError, choose
from gpudoctor.recorded_machine import RecordedMachine

FILES = {
    "/opt/env/bin/python": "",
    "/opt/conda/bin/python": "",
    "/usr/bin/python3": "",
    "/usr/bin/ls": "",
    "/home/me/.venv/bin/python": "",
    "/home/me/bin/python3": "",
    "/home/me/notes.txt": "",
    "/empty/readme": "",
}
GONE = "which does not exist or cannot be accessed by this user."
LINKS = {"/gone/bin/python": "/uninstalled/python3.9"}


def host(**env: str) -> RecordedMachine:
    return RecordedMachine(FILES, links=LINKS, env={"PATH": "/usr/bin:/bin", "HOME": "/home/me", **env})


@pytest.mark.parametrize(
    ("env", "chosen"),
    [
        ({"VIRTUAL_ENV": "/opt/env", "CONDA_PREFIX": "/opt/conda"}, ("/opt/env/bin/python", "VIRTUAL_ENV")),
        ({"CONDA_PREFIX": "/opt/conda"}, ("/opt/conda/bin/python", "CONDA_PREFIX")),
        ({"VIRTUAL_ENV": "/deleted", "CONDA_PREFIX": "/opt/conda"}, ("/opt/conda/bin/python", "CONDA_PREFIX")),
        ({"VIRTUAL_ENV": "/gone"}, ("/gone/bin/python", "VIRTUAL_ENV")),
        ({}, ("/usr/bin/python3", "the first Python on PATH")),
        ({"PATH": "/nowhere"}, (sys.executable, "this interpreter")),
    ],
)
def test_without_a_word_the_active_environment_counts(env: dict[str, str], chosen: tuple[str, str]) -> None:
    assert choose(host(**env), []) == [chosen]


def test_our_own_environment_counts_where_it_holds_a_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/own/lib/python3.11/site-packages"])
    machine = RecordedMachine(
        {**FILES, "/own/lib/python3.11/site-packages/torch/version.py": ""}, env={"PATH": "/usr/bin"}
    )
    assert choose(machine, []) == [(sys.executable, "this interpreter")]


@pytest.mark.parametrize("tool", ["/home/me/.local/share/uv/tools/gpudoctor-cli", "/home/me/.cache/uv/archive-v0/xyz"])
def test_from_a_tools_own_environment_the_first_python_on_path_counts(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", tool)
    machine = RecordedMachine({**FILES, f"{tool}/bin/python": ""}, env={"PATH": f"{tool}/bin:/home/me/bin:/usr/bin"})
    assert choose(machine, []) == [("/home/me/bin/python3", "the first Python on PATH")]
    machine = RecordedMachine({f"{tool}/bin/python": ""}, env={"PATH": f"{tool}/bin", "VIRTUAL_ENV": tool})
    assert choose(machine, []) == [(sys.executable, "this interpreter")]


OWN = {
    "gpudoctor_cli-0.1.0": "Name: gpudoctor-cli\nRequires-Dist: msgspec<1\nRequires-Dist: numpy; extra == 'numpy'\n",
    "msgspec-0.19.0": "Name: msgspec\n",
    "numpy-2.3.0": "Name: numpy\n",
    "pip-25.0": "Name: pip\n",
}


@pytest.mark.parametrize(
    ("more", "chosen"),
    [
        ((), ("/usr/bin/python3", "the first Python on PATH")),
        (("transformers-4.57.0",), ("/home/me/own/bin/python", "VIRTUAL_ENV")),
    ],
)
def test_the_active_environment_does_not_count_where_it_holds_gpudoctor_alone(
    more: tuple[str, ...], chosen: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """README: `source .venv/bin/activate` makes the commands shorter, and checks no other Python."""
    prefix = "/home/me/own"
    site = f"{prefix}/lib/python3.11/site-packages"
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "path", [site])
    packages = {**OWN, **dict.fromkeys(more, "Name: transformers\n")}
    files = {f"{site}/{name}.dist-info/METADATA": text for name, text in packages.items()}
    env = {"PATH": f"{prefix}/bin:/usr/bin", "VIRTUAL_ENV": prefix, "PWD": prefix}
    machine = RecordedMachine({**FILES, f"{prefix}/bin/python": "", f"{prefix}/pyvenv.cfg": "", **files}, env=env)
    listed: list[str] = []
    names = machine.names

    def listing(path: str) -> list[str]:
        listed.append(path)
        return names(path)

    monkeypatch.setattr(machine, "names", listing)
    assert choose(machine, []) == [chosen]
    assert listed.count(site) == 2  # once for frameworks, once for what else is there: it is also that of the directory


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/opt/env", "/opt/env/bin/python"),
        ("/opt/env/", "/opt/env/bin/python"),
        ("/opt/env/bin/python", "/opt/env/bin/python"),
        ("~/.venv", "/home/me/.venv/bin/python"),
        ("python3", "/usr/bin/python3"),
    ],
)
def test_a_file_a_folder_or_a_program_may_be_given(given: str, path: str) -> None:
    assert choose(host(VIRTUAL_ENV="/opt/conda"), [given]) == [(path, "--python")]


def test_an_interpreter_given_twice_is_examined_once() -> None:
    assert choose(host(), ["/opt/env", "/opt/env/bin/python", "/opt/conda"]) == [
        ("/opt/env/bin/python", "--python"),
        ("/opt/conda/bin/python", "--python"),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/nowhere/python", "/nowhere/python: no such file or directory."),
        ("python3.99", "python3.99: no such file, directory or program on PATH."),
        ("/empty", "Not a Python environment: the directory /empty contains no bin/python."),
        ("/home/me/notes.txt", "Not a Python interpreter: /home/me/notes.txt is not executable."),
        ("/usr/bin/ls", "/usr/bin/ls is not named like a Python interpreter."),
        ("/gone", f"/gone/bin/python is a link to /uninstalled/python3.9, {GONE}"),
    ],
)
def test_what_is_no_interpreter_is_refused_in_one_sentence(given: str, message: str) -> None:
    with pytest.raises(InterpreterError) as caught:
        choose(host(), [given])
    assert str(caught.value) == message


def test_a_folder_of_the_users_is_not_executable_as_a_file() -> None:
    machine = RecordedMachine(statuses={"/x/python": Status(0o644, 0, 0, 1, 0, 0, False)})
    with pytest.raises(InterpreterError, match="not executable"):
        choose(machine, ["/x/python"])
