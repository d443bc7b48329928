"""The source archive, the wheel, and the wheel from the source archive hold what the tree holds, once."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.toml import tomllib

ROOT = Path(gpudoctor.__file__).parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="not run from a source tree")
NOT_PACKAGED = {"__pycache__"}
SOURCES = [
    "gpudoctor",
    "checks",
    "tests",
    "docs",
    "examples",
    "hatch_build.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    ".gitignore",
]


def _run(*argv: str | Path, cwd: Path = ROOT, **env: str) -> str:
    ended = subprocess.run(argv, capture_output=True, text=True, cwd=cwd, env=os.environ | env, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def _tree() -> set[str]:
    """What has to be installed: every file of gpudoctor, and the checks inside it."""
    found = set()
    for top, inside in (("gpudoctor", "gpudoctor"), ("checks", "gpudoctor/checks")):
        for folder, names, files in os.walk(ROOT / top):  # which does not follow the link
            names[:] = [n for n in names if n not in NOT_PACKAGED]
            where = Path(inside) / Path(folder).relative_to(ROOT / top)
            found |= {str(where / name) for name in files if not name.endswith(".pyc")}
    tables = {name for name in found if Path(name).match("gpudoctor/knowledge/*.toml")}
    return found - tables | {str(Path(name).with_suffix(".json")) for name in tables}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree without environments and caches, whether or not it is under version control."""
    target = tmp_path_factory.mktemp("source") / "gpudoctor"
    target.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(ROOT / name, target)
    return target


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source archive, the wheel of the tree, and the wheel of the source archive."""
    out = tmp_path_factory.mktemp("dist")
    backend = "import sys, hatchling.build as b; print(getattr(b, 'build_' + sys.argv[1])(sys.argv[2]))"

    def build(kind: str, cwd: Path, where: Path) -> Path:
        where.mkdir(exist_ok=True)
        return where / _run(sys.executable, "-c", backend, kind, str(where), cwd=cwd).splitlines()[-1]

    pytest.importorskip("hatchling.build")
    sdist = build("sdist", source, out)
    with tarfile.open(sdist) as archive:
        archive.extractall(out / "unpacked", filter="data")
    (unpacked,) = (out / "unpacked").iterdir()
    return {
        "sdist": sdist,
        "wheel": build("wheel", source, out / "direct"),
        "wheel from sdist": build("wheel", unpacked, out / "indirect"),
    }


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if not name.endswith("/")]


@pytest.mark.parametrize("kind", ["wheel", "wheel from sdist"])
def test_a_wheel_holds_the_tree_and_nothing_else(built: dict[str, Path], kind: str) -> None:
    names = _names(built[kind])
    assert len(names) == len(set(names))
    packaged = {n for n in names if ".dist-info/" not in n}
    assert packaged == _tree()
    assert not [n for n in names if n.startswith(("checks/", "tests/", "docs/"))]
    wanted = {"gpudoctor/py.typed", "gpudoctor/checks/driver/not_loaded.py", "gpudoctor/workers/nvml.py"}
    assert wanted | {"gpudoctor/knowledge/drivers.json"} <= packaged


def test_the_tables_of_a_wheel_are_those_of_the_tree(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        for table in (ROOT / "gpudoctor/knowledge").glob("*.toml"):
            made = json.loads(wheel.read(f"gpudoctor/knowledge/{table.stem}.json"))
            assert made == tomllib.loads(table.read_text()), table.stem


def test_both_wheels_are_the_same(built: dict[str, Path]) -> None:
    assert sorted(_names(built["wheel"])) == sorted(_names(built["wheel from sdist"]))


def test_no_archive_holds_a_link(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        assert [m.name for m in archive.getmembers() if m.issym() or m.islnk()] == []
        names = {m.name.partition("/")[2] for m in archive.getmembers()}
    assert {"checks/driver/not_loaded.py", "tests/test_packaging.py", "LICENSE", "pyproject.toml"} <= names
    for kind in ("wheel", "wheel from sdist"):
        with zipfile.ZipFile(built[kind]) as wheel:
            assert [i.filename for i in wheel.infolist() if (i.external_attr >> 28) == 0xA] == []


def test_the_metadata(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        (folder,) = {n.split("/")[0] for n in wheel.namelist() if ".dist-info/" in n}
        metadata = wheel.read(f"{folder}/METADATA").decode()
        points = ConfigParser()
        points.read_string(wheel.read(f"{folder}/entry_points.txt").decode())
    assert folder == f"gpudoctor_cli-{gpudoctor.__version__}.dist-info"
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "\nRequires-Python: >=3.10\n" in metadata
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", metadata) == []  # the index has no files next to the README
    program = "gpudoctor.__main__:main"
    assert {name: dict(points[name]) for name in points.sections()} == {
        "console_scripts": {"gpudoctor": program, "gpudoctor-cli": program},
        "conda": {"gpudoctor": "gpudoctor.conda_plugin"},
        "pytest11": {"gpudoctor": "gpudoctor.pytest_plugin"},
    }


@pytest.mark.parametrize("kind", ["wheel", "wheel from sdist"])
def test_an_installed_wheel_runs(built: dict[str, Path], kind: str, tmp_path: Path) -> None:
    env = tmp_path / "env"
    _run(sys.executable, "-m", "venv", "--without-pip", env)
    site = next((env / "lib").glob("python3*/site-packages"))
    _run(sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", env, built[kind])
    _borrow_dependencies(site)
    clean = {"PYTHONPATH": "", "VIRTUAL_ENV": "", "PATH": "/usr/bin:/bin"}
    for script in ("gpudoctor", "gpudoctor-cli"):
        report = json.loads(
            _run(env / "bin" / script, "check", "--quick", "--json", "--fail-on", "never", cwd=tmp_path, **clean)
        )
        assert report["schema"] == "gpudoctor.report/1"
    where = _run(env / "bin/python", "-c", "import gpudoctor.checks as c; print(c.__file__)", cwd=tmp_path, **clean)
    assert where.strip() == str(site / "gpudoctor/checks/__init__.py")
    listed = json.loads(_run(env / "bin/python", "-m", "gpudoctor", "checks", "--json", cwd=tmp_path, **clean))
    assert len(listed) == len([n for n in _tree() if n.count("/") == 3 and _is_check(n)])


def test_without_numpy_all_but_our_own_backends_runs(built: dict[str, Path], tmp_path: Path) -> None:
    env = tmp_path / "env"
    _run(sys.executable, "-m", "venv", "--without-pip", env)
    _run(sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", env, built["wheel"])
    _borrow_dependencies(next((env / "lib").glob("python3*/site-packages")))
    gpudoctor_, clean = env / "bin/gpudoctor", {"PYTHONPATH": "", "VIRTUAL_ENV": "", "PATH": "/usr/bin:/bin"}

    def smoke(*words: str) -> tuple[int, str, str]:
        argv: list[str | Path] = [gpudoctor_, "smoke", "matmul", "--python", env / "bin/python", *words]
        ended = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, env=clean, timeout=120)
        return ended.returncode, ended.stdout, ended.stderr

    adds = f"{env / 'bin/python'} -m pip install 'gpudoctor-cli[numpy]'"
    needs = f"he backend cpu needs NumPy, which gpudoctor's own Python lacks: {adds}.\n"
    assert smoke("--backend", "cpu") == (2, "", f"gpudoctor: T{needs}")
    no_framework = f"There is no framework to test in {env}/bin/python, and t"
    assert smoke("--device", "cpu") == (2, "", f"gpudoctor: {no_framework}{needs}")
    assert _run(gpudoctor_, "explain", "driver.not-loaded", cwd=tmp_path, **clean)
    imported = "import gpudoctor, sys; print(sorted({'numpy', 'torch'} & {*sys.modules}))"
    assert _run(env / "bin/python", "-c", imported, cwd=tmp_path, **clean) == "[]\n"


def _is_check(name: str) -> bool:
    return name.startswith("gpudoctor/checks/") and name.endswith(".py") and not name.rpartition("/")[2].startswith("_")


def _borrow_dependencies(site: Path) -> None:
    """Let the fresh environment see our own dependencies, so that nothing has to come over the network."""
    import msgspec

    ours = Path(msgspec.__file__).parent.parent
    for name in ("msgspec", "packaging", "rich", "pygments", "markdown_it", "mdurl", "psutil"):
        if (ours / name).exists():
            (site / name).symlink_to(ours / name)


def test_the_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == gpudoctor.__version__
    assert f"## [{gpudoctor.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_link_to_the_checks_is_relative() -> None:
    assert os.readlink(ROOT / "gpudoctor" / "checks") == "../checks"


# Loaded by the program that they extend, and by nothing else.
PLUGINS = {"conda_plugin.py", "pytest_plugin.py"}


def test_every_import_of_the_package_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]  # loaded by the commands that they are for
    wanted = [
        *project["dependencies"],
        *(one for extra in ("web", "mcp", "fleet", "ray") for one in extras[extra]),
    ]
    declared = {d.split(">")[0].replace("-", "_") for d in wanted}
    used: set[str] = set()
    for path in sorted((ROOT / "gpudoctor").rglob("*.py")):
        if "workers" not in path.parts and path.name not in PLUGINS:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    used |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    used.add(node.module.split(".")[0])
    assert used - set(sys.stdlib_module_names) - {"gpudoctor"} <= declared
