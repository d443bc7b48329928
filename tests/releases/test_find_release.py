"""`gpudoctor find-release` with a real pip, over wheels made here."""

import os
import subprocess
import sys

import pytest

from tests.cli import Ran, gpudoctor
from tests.real.test_broken_environments import wheel

real = pytest.mark.realenv  # pip takes half a minute


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables by which pip finds three releases of `pack` alone, the middle one of which is installed."""
    folder = tmp_path_factory.mktemp("releases")
    for version, text in (("1.4.0", "def old(): ..."), ("2.0.0", "x = 1"), ("2.1.0", "def new(size): ...")):
        wheel(folder, "pack", version, {"pack/__init__.py": text, "pack/part.py": ""})
    python = folder / "env" / "bin" / "python"
    of_pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
    found = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHON": str(python), **of_pip}
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True, timeout=120)
    subprocess.run([python, "-m", "pip", "install", "-q", "pack==2.0.0"], check=True, env=found, timeout=120)
    return found


def find(env: dict[str, str], *words: str) -> Ran:
    """Run it for the environment."""
    return gpudoctor("find-release", *words, "--python", env["PYTHON"], env=env)


@real
@pytest.mark.timeout(300)
def test_a_removed_name_is_in_an_older_release_which_is_installed(env: dict[str, str]) -> None:
    done = find(env, "pack", "--with", "pack.old", "--install")
    assert "pack 1.4.0 has it\n" in done.out
    assert done.code == 0, done.err
    try:
        code = "import pack; pack.old()"
        subprocess.run([env["PYTHON"], "-c", code], check=True, timeout=60)
    finally:
        subprocess.run([env["PYTHON"], "-m", "pip", "install", "-q", "pack==2.0.0"], check=True, env=env, timeout=120)


@real
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("pack", "--with", "pack.new"), 0, "-m pip install pack==2.1.0\n"),
        (("pack", "--with", "pack.new", "--argument", "size"), 0, "-m pip install pack==2.1.0\n"),
        (("pack<2.1", "--with", "pack.new"), 1, " releases of pack<2.1 that were looked at has pack.new."),
        (("pack", "--with", "pack.part"), 0, "pack 2.0.0, which is installed, has pack.part in its files"),
        (("nowhere", "--with", "nowhere.x"), 3, "pip found no release of nowhere: "),
    ],
)
def test_what_it_says_and_returns(env: dict[str, str], words: tuple[str, ...], code: int, text: str) -> None:
    done = find(env, *words)
    assert text in done.out + done.err
    assert done.code == code


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("pack", "--with", "pack;x"), '"pack;x" is not a name in Python'),
        (("pack>>1", "--with", "pack.x"), '"pack>>1" is not a package with a specifier'),
        (("pack[all]", "--with", "pack.x"), '"pack[all]" is more than a package'),
        (("pack", "--with", "pack.x", "--python", "/nowhere/python"), "/nowhere/python"),
    ],
)
def test_wrong_usage_is_said_in_one_sentence(words: tuple[str, ...], text: str) -> None:
    assert text in gpudoctor("find-release", *words).sentence
