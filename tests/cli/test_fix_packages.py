"""`gpudoctor fix` in real environments, with wheels made here: asked first, installed over, undone to the version."""

import base64
import ensurepip
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli import Ran, gpudoctor

CHECK = """
import glob
from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.pip import pip, replace
from gpudoctor.targets import machine
from gpudoctor.tasks import cmd

BY, PYTHON = "{by}", "{python}"
FIXES = (
    Fix("Take the other build.", replace(BY, PYTHON, "https://index.invalid/whl/cu126", ("alpha",))),
    Fix("Replace the rival.", (
        pip(BY, PYTHON, "uninstall", *(("-y",) if BY == "pip" else ()), "rival"),
        pip(BY, PYTHON, "install", "alpha==2.0+cu126"),
    )),
    Fix("Do half of it.", (pip(BY, PYTHON, "install", "alpha==2.0+cu126"), cmd("false"))),
    Fix("Bring what is gone.", (pip(BY, PYTHON, "install", "alpha==1.0+cpu"),)),
    Fix("Take what nobody has.", (
        pip(BY, PYTHON, "uninstall", *(("-y",) if BY == "pip" else ()), "alpha"),
        pip(BY, PYTHON, "install", "alpha==9.9"),
    )),
)

@check(title="Alpha is for the CPU", severity=Severity.ERROR, cause="It was taken from elsewhere.", fixes=FIXES,
       references=("https://example.org/",), targets=machine)
def wrong_alpha(facts):
    return None if glob.glob("{site}/alpha-2.0+cu126.dist-info") else "It is."
"""


def wheel(folder: Path, name: str, version: str, *requires: str) -> None:
    """Write a wheel of one module, which says its version."""
    info = f"{name}-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    files = {
        f"{name}.py": f"version = '{version}'\n",
        f"{info}/METADATA": "\n".join([*lines, "", ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as out:
        for path, text in files.items():
            out.writestr(path, text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an index would hold."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "alpha", "1.0+cpu", "beta")
    wheel(folder, "alpha", "2.0+cu126", "beta>=2", "gamma")
    for name, version in (("beta", "1.0"), ("beta", "2.0"), ("gamma", "1.0"), ("rival", "3.1"), ("other", "1.0")):
        wheel(folder, name, version)
    wheel(folder, "other", "2.0")
    return folder


class Place:
    """An environment, who installs in it, and a check that is about it."""

    def __init__(self, folder: Path, by: str, wheels: Path) -> None:
        self.folder, self.by, self.wheels = folder, by, wheels
        self.python = str(folder / "env" / "bin" / "python")
        self.empty = folder / "empty"
        self.empty.mkdir(parents=True)

    def env(self, wheels: Path) -> dict[str, str]:
        """Variables by which pip and uv look into a folder and nowhere else."""
        uv = {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels), "UV_CACHE_DIR": str(self.folder / "cache")}
        of_pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_CACHE_DIR": "1"}
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHONPATH": str(self.folder / "lib"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **(uv | of_pip),
        }

    def do(self, *argv: str) -> str:
        env: Mapping[str, str] = {k: v for k, v in self.env(self.wheels).items() if k != "PYTHONPATH"}
        done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fix(self, *words: str, wheels: Path | None = None) -> Ran:
        return gpudoctor("fix", *words, "--quick", "--yes", env=self.env(wheels or self.wheels))

    def there(self) -> dict[str, str]:
        """What is installed, without what installs."""
        code = "from importlib.metadata import distributions as d; print(*(f'{x.name}=={x.version}' for x in d()))"
        said = self.do(self.python, "-I", "-c", code).split()
        return {name: version for name, _, version in (one.partition("==") for one in said) if name not in _OWN}


_OWN = ("pip", "setuptools")
BEFORE = {"alpha": "1.0+cpu", "beta": "1.0", "rival": "3.1", "other": "1.0"}
AFTER = {"alpha": "2.0+cu126", "beta": "2.0", "gamma": "1.0", "rival": "3.1", "other": "1.0"}


@pytest.fixture(
    scope="module", params=[pytest.param("pip", marks=pytest.mark.realenv), "uv"]
)  # pip takes half a minute
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Place:
    """An environment of each installer, with a build that is not the wished one, and others that must stay."""
    by, uv = str(request.param), Path(sys.executable).with_name("uv")
    if by == "uv" and not uv.exists():
        pytest.skip("uv is not installed here (pip install uv)")
    made = Place(tmp_path_factory.mktemp(by), by, wheels)
    env, specs = str(made.folder / "env"), [f"{name}=={version}" for name, version in BEFORE.items()]
    if by == "uv":
        made.do(str(uv), "venv", "--python", sys.executable, env)
        made.do(str(uv), "pip", "install", "--python", made.python, *specs)
    else:
        bundled = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
        made.do(sys.executable, "-m", "venv", *(["--without-pip"] if bundled else []), env)
        if bundled:  # what ensurepip installs, in a tenth of its time
            (site,) = Path(env).glob("lib/python3*/site-packages")
            with zipfile.ZipFile(bundled[-1]) as wheel_of_pip:
                wheel_of_pip.extractall(site)
        made.do(made.python, "-m", "pip", "install", *specs)
    return made


@pytest.fixture
def place(template: Place, tmp_path: Path) -> Place:
    """A copy of the environment, with a check that is about it."""
    shutil.copytree(template.folder / "env", tmp_path / "env", symlinks=True)
    made = Place(tmp_path, template.by, template.wheels)
    site = next((tmp_path / "env" / "lib").glob("python3*")) / "site-packages"
    package, info = tmp_path / "lib" / "plugins" / "acme", tmp_path / "lib" / "acme-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    text = CHECK.replace("{by}", made.by).replace("{python}", made.python).replace("{site}", str(site))
    (package / "wrong_alpha.py").write_text(text)
    rows = ["[gpudoctor.checks]", "wrong_alpha = plugins.acme.wrong_alpha:wrong_alpha", ""]
    (info / "entry_points.txt").write_text("\n".join(rows))
    return made


def test_it_is_installed_over_and_undone_to_the_version(place: Place) -> None:
    ran = place.fix("acme.wrong-alpha")
    assert (ran.code, "Fixed: acme.wrong-alpha passes." in ran.out) == (0, True), ran.err + ran.out
    assert place.there() == AFTER  # what nobody asked for has stayed as it was
    assert " uninstall " not in ran.out
    taken = place.fix("--undo")
    assert (taken.code, place.there()) == (0, BEFORE), taken.err + taken.out
    assert place.fix("--undo").code == 3


def test_without_an_index_nothing_is_changed_and_that_is_said(place: Place) -> None:
    for choice in ("1", "2", "3", "5"):
        ran = place.fix("acme.wrong-alpha", "--choice", choice, wheels=place.empty)
        assert (ran.code, place.there()) == (4, BEFORE)
        assert "Nothing was changed, because this cannot be installed: " in ran.err
        assert "Nothing was changed before it." in ran.err
        assert "Done before" not in ran.err
    assert place.fix("--undo").code == 3


def test_what_has_the_same_files_goes_first_and_comes_back(place: Place) -> None:
    assert place.fix("acme.wrong-alpha", "--choice", "2").code == 0
    assert place.there() == {name: version for name, version in AFTER.items() if name != "rival"}
    assert place.fix("--undo").code == 0
    assert place.there() == BEFORE


def test_half_of_a_fix_is_told_and_undone(place: Place) -> None:
    ran = place.fix("acme.wrong-alpha", "--choice", "3")
    assert ran.code == 4
    assert "`false` exited with code 1." in ran.err
    assert "Done before: " in ran.err
    assert "alpha==2.0+cu126" in ran.err
    assert "Fixed: acme.wrong-alpha passes." in ran.out  # it was asked again
    assert place.fix("--undo").code == 0
    assert place.there() == BEFORE


def test_what_cannot_be_had_back_leaves_things_as_they_are(place: Place) -> None:
    assert place.fix("acme.wrong-alpha").code == 0
    ran = place.fix("--undo", wheels=place.empty)
    assert (ran.code, place.there()) == (4, AFTER)
    assert "Nothing was changed before it." in ran.err
    assert place.fix("--undo").code == 0  # once there is an index again
    assert place.there() == BEFORE


def test_the_version_that_is_there_brings_what_it_requires_and_nothing_else(place: Place) -> None:
    installer = ("uv", "pip", "uninstall", "--python", place.python) if place.by == "uv" else (
        place.python, "-m", "pip", "uninstall", "-y"
    )  # fmt: skip
    place.do(*installer, "beta")
    place.fix("acme.wrong-alpha", "--choice", "4")
    assert place.there() == {**BEFORE, "beta": "2.0"}  # the newest, as alpha 1.0 names no version


def test_a_rule_of_the_operator_is_fixed_as_check_offers_it(place: Place) -> None:
    rules = place.folder / "node rules.toml"
    rules.write_text("[expect.'pythons.0.packages.beta.version']\nversion = '>=2'\n")
    rules.chmod(0o644)
    options = ("--python", place.python, "--expect", str(rules))
    reported = gpudoctor("check", "--quick", "--json", *options, env=place.env(place.wheels))
    (rule,) = (one for one in json.loads(reported.out)["findings"] if one["check"].startswith("expect."))
    line = f"gpudoctor fix {rule['check']} --python {shlex.quote(place.python)} --expect {shlex.quote(str(rules))}"
    assert rule["run"] == line
    ran = place.fix(*shlex.split(line)[2:])
    assert ran.code == 0, ran
    assert ran.out.endswith("Fixed: expect.pythons-0-packages-beta-version passes.\n")
    assert place.there()["beta"] == "2.0"
