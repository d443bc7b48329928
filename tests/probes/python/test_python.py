"""Whole environments, looked at from outside."""

import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Extension, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown, known
from gpudoctor.probes import frameworks, python
from gpudoctor.probes.python import extensions, probe
from gpudoctor.recorded_machine import RecordedMachine
from tests.probes.environments import HERE, distribution, machine, script, venv


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that no test changes."""
    folder = tmp_path_factory.mktemp("bare") / ".venv"
    venv(folder)
    return folder


def look(folder: Path, **env: str) -> Python:
    return probe(machine(**env), str(folder / "bin/python"), "--python")


def test_a_virtual_environment(bare: Path) -> None:
    python = look(bare)
    assert python.error is None
    assert python.found_by == "--python"
    assert python.version == sys.version.split()[0].rstrip("+")
    assert python.prefix == str(bare)
    assert python.kind == "venv"
    assert python.manager == "pip"
    assert python.project is None
    assert python.externally_managed is False
    assert python.site_packages == f"{bare}/lib/{HERE}/site-packages"
    assert python.user_site is None
    assert python.packages == ()
    assert python.conda is None
    assert python.real == os.path.realpath(sys.executable)
    assert isinstance(python.startup, float)
    assert 0 < python.startup < 10


def test_an_interpreter_that_says_nothing_leaves_every_fact_unknown_with_its_words(tmp_path: Path) -> None:
    path = script(tmp_path / "python", "kill -ABRT $$")
    python = probe(machine(), path, "--python")
    assert python.error == f"{path} was killed by SIGABRT at startup."
    assert python.packages == Unknown(python.error)
    assert python.headers == Unknown(python.error)


def test_packages_conflicts_and_requirements_of_one_environment(tmp_path: Path) -> None:
    library = "nvidia/nccl/lib/libnccl.so.2"
    packages = venv(tmp_path / ".venv")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "uv.lock").write_text("")
    torch = ("torch/__init__.py", "torch/lib/libc10.so")
    distribution(packages, "torch", "2.12.0", torch, ("nvidia-nccl-cu13==2.29.7; platform_system == 'Linux'",), "uv")
    distribution(packages, "nvidia-nccl-cu12", "2.29.3", (library,), installer="uv")
    distribution(packages, "nvidia-nccl-cu13", "2.29.8", (library,), installer="uv")
    (packages / "~umpy").mkdir()
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "torch.py").write_text("raise SystemExit('never imported')")
    python = look(tmp_path / ".venv", PYTHONPATH=str(lab))
    assert (python.manager, python.project) == ("uv", str(tmp_path))
    assert [shadow.wins for shadow in python.shadows] == [f"{lab}/torch.py"]
    assert python.shadows[0].origin == "PYTHONPATH"
    assert [remnant.reason for remnant in python.remnants] == ["~umpy"]
    assert [overlap.packages for overlap in python.overlaps] == [("nvidia-nccl-cu12", "nvidia-nccl-cu13")]
    assert [(unmet.requires, unmet.found) for unmet in python.unmet] == [("nvidia-nccl-cu13==2.29.7", "2.29.8")]
    assert python == msgspec.json.decode(msgspec.json.encode(python), type=Python)


def test_where_one_is_for_another_architecture_all_are_looked_at(tmp_path: Path) -> None:
    site, tag = venv(tmp_path), "".join(HERE.removeprefix("python").split("."))
    distribution(site, "numpy", "2.2.6", (f"numpy/_core/x.cpython-{tag}-riscv64-linux-gnu.so",))
    distribution(site, "pandas", "2.3.3", (f"pandas/_libs/x.cpython-{tag}-riscv64-linux-gnu.so",))
    libraries = {one.name: len(one.libraries) for one in known(look(tmp_path).packages)}
    assert libraries == {"numpy": 1, "pandas": 1}


def test_a_venv_ignores_the_user_site_and_its_base_does_not(bare: Path, tmp_path: Path) -> None:
    user = tmp_path / f".local/lib/{HERE}/site-packages"
    distribution(user, "torch", "2.0.1", ("torch/__init__.py",))
    assert look(bare, HOME=str(tmp_path)).packages == ()
    base = probe(machine(HOME=str(tmp_path)), f"{sys.base_prefix}/bin/{HERE}", "--python")
    if base.user_site is None:
        pytest.skip("this Python's base has user sites switched off")
    assert base.user_site == str(user)
    assert isinstance(base.packages, tuple)
    assert ("torch", "2.0.1", str(user)) in [(p.name, p.version, p.directory) for p in base.packages]
    off = probe(machine(HOME=str(tmp_path), PYTHONNOUSERSITE="1"), f"{sys.base_prefix}/bin/{HERE}", "--python")
    assert off.user_site is None


def test_a_pth_file_brings_a_folder(tmp_path: Path) -> None:
    packages = venv(tmp_path / "env")
    checkout = tmp_path / "checkout"
    (checkout / "torch").mkdir(parents=True)
    (checkout / "torch/__init__.py").write_text("")
    (packages / "dev.pth").write_text(f"{checkout}\n")
    distribution(packages, "torch", "2.8.0", ("torch/__init__.py",))
    (shadow,) = look(tmp_path / "env").shadows
    assert (shadow.wins, shadow.loses, shadow.origin) == (f"{packages}/torch", (f"{checkout}/torch",), "")


def test_a_folder_named_like_a_package_that_programs_use(tmp_path: Path) -> None:
    packages = venv(tmp_path / "env")
    distribution(packages, "datasets", "5.0.1", ("datasets/__init__.py",))
    (tmp_path / "datasets").mkdir()
    assert look(tmp_path / "env", PWD=str(tmp_path)).shadows == ()  # without __init__.py it hides nothing
    (tmp_path / "datasets/__init__.py").write_text("")
    (shadow,) = look(tmp_path / "env", PWD=str(tmp_path)).shadows
    assert (shadow.module, shadow.wins, shadow.origin) == ("datasets", f"{tmp_path}/datasets", "working directory")
    # A checkout that somebody works on.
    assert look(tmp_path / "env", PYTHONPATH=str(tmp_path)).shadows == ()


def test_the_shells_folder_counts_first_unless_the_user_switched_that_off(tmp_path: Path) -> None:
    packages = venv(tmp_path / "env")
    distribution(packages, "torch", "2.8.0", ("torch/__init__.py",))
    (tmp_path / "torch.py").write_text("")
    (shadow,) = look(tmp_path / "env", PWD=str(tmp_path)).shadows
    assert (shadow.wins, shadow.origin) == (f"{tmp_path}/torch.py", "working directory")
    assert look(tmp_path / "env", PWD=str(tmp_path), PYTHONSAFEPATH="1").shadows == ()
    assert look(tmp_path / "env", PWD=str(packages)).shadows == ()
    assert look(tmp_path / "env").shadows == ()


def standard(place: Path, **env: str) -> list[tuple[str, str, str]]:
    return [(s.module, s.wins, s.origin) for s in look(place, **env).shadows if s.standard]


def test_files_that_hide_the_standard_library(tmp_path: Path) -> None:
    venv(tmp_path / "env")
    lab, path = tmp_path / "lab", tmp_path / "path"
    (path / "json").mkdir(parents=True)
    (path / "json/__init__.py").write_text("")
    lab.mkdir()
    # Nothing hides sys and os: they are there before Python looks into any directory. The rest is no module.
    for name in ("random.py", "sys.py", "os.py", "string.txt", "train.py"):
        (lab / name).write_text("")
    (lab / "queue").mkdir()
    here = ("random", f"{lab}/random.py", "working directory")
    assert standard(tmp_path / "env", PWD=str(lab)) == [here]
    there = ("json", f"{path}/json", "PYTHONPATH")
    assert standard(tmp_path / "env", PWD=str(lab), PYTHONPATH=str(path)) == [here, there]
    assert standard(tmp_path / "env", PWD=str(lab), PYTHONSAFEPATH="1") == []
    assert standard(tmp_path / "env", PWD=os.path.dirname(random.__file__)) == []
    (lab / "__init__.py").write_text("")  # the folder of a package, in which nobody starts a program
    assert standard(tmp_path / "env", PWD=str(lab)) == []


def test_a_framework_tells_which_of_them_it_imports(tmp_path: Path) -> None:
    packages = venv(tmp_path / "env")
    distribution(packages, "torch", "2.8.0", ("torch/__init__.py",))
    (packages / "torch/__init__.py").write_text("import random\n__version__ = '2.8.0'\n")
    for name in ("random.py", "turtle.py"):
        (tmp_path / name).write_text("raise SystemExit('never imported')")
    for env, failed in (({"PWD": str(tmp_path)}, False), ({"PYTHONPATH": str(tmp_path)}, True)):
        around = machine(**env)
        found = probe(around, f"{tmp_path}/env/bin/python", "--python", quick=True)
        (framework,) = frameworks.probe(around, found, live=True)
        assert framework.live is not None
        assert bool(framework.live.import_error) is failed
        assert framework.live.standard == (() if failed else ("random",))


def test_headers_and_the_mark_of_an_externally_managed_python_are_looked_for() -> None:
    answer = {
        "executable": "/usr/bin/python3",
        "version": "3.12.3",
        "full_version": "3.12.3",
        "implementation": "cpython",
        "implementation_version": "3.12.3",
        "bits": 64,
        "prefix": "/usr",
        "base_prefix": "/usr",
        "sys_path": ["/usr/lib/python3.12", "/usr/lib/python3/dist-packages"],
        "user_site": None,
        "sites": ["/usr/lib/python3/dist-packages"],
        "include": "/usr/include/python3.12",
        "purelib": "/usr/local/lib/python3.12/dist-packages",
        "libraries": ["/usr/lib/python3.12", "/usr/lib/python3.12"],
        "system": ["Linux", "6.8.0", "#1", "x86_64"],
    }
    said = f"gpudoctor-interpreter {msgspec.json.encode(answer).decode()}\n"
    marked = {"/usr/lib/python3.12/EXTERNALLY-MANAGED": "", "/usr/lib/python3/dist-packages/numpy-1.26.4.egg-info": ""}
    python = probe(RecordedMachine(marked, commands={"python3": said}), "/usr/bin/python3")
    assert python.externally_managed is True
    assert python.headers is False
    assert python.kind == "system"
    assert python.site_packages == "/usr/lib/python3/dist-packages"
    assert isinstance(python.packages, tuple)
    assert [(p.name, p.version) for p in python.packages] == [("numpy", "1.26.4")]
    with_headers = {"/usr/include/python3.12/Python.h": ""}
    assert probe(RecordedMachine(with_headers, commands={"python3": said}), "/usr/bin/python3").headers is True


def test_a_shim_is_replaced_by_what_it_runs(tmp_path: Path) -> None:
    shim = script(tmp_path / "shims/python", f'exec {sys.executable} "$@"')
    assert probe(machine(), shim).path == sys.executable


def test_our_own_interpreter_costs_no_child_and_no_heavy_import(tmp_path: Path) -> None:
    packages = venv(tmp_path / "env")
    for number in range(200):
        distribution(packages, f"package-{number}", "1.0")
    (packages / "gpudoctor.pth").write_text("".join(f"{entry}\n" for entry in sys.path if "packages" in entry))
    code = (
        "import sys\n"
        "from gpudoctor.machine import Machine\n"
        "from gpudoctor.probes.python import probe\n"
        "python = probe(Machine(), sys.executable, quick=True)\n"
        "print(repr(python.startup), 'packaging.requirements' in sys.modules)"
    )
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[3])}
    out = subprocess.run(
        [str(tmp_path / "env/bin/python"), "-c", code], env=env, capture_output=True, text=True, check=True, timeout=30
    ).stdout.split()
    assert out[-1] == "False"
    assert "runs" in out


def test_quick_reads_no_symbols(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Extension(package="vllm", version="1", path="/x.so"),)
    monkeypatch.setattr(extensions, "probe", lambda *_: found)
    assert probe(machine(), str(bare / "bin/python"), quick=True).extensions == ()
    site = bare / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    distribution(site, "torch", "2.9.0", ())
    distribution(site, "vllm", "1", ())
    assert probe(machine(), str(bare / "bin/python"), quick=True).extensions == Unknown(
        "symbols of extensions were not read (--quick)"
    )
    assert probe(machine(), str(bare / "bin/python")).extensions == found


def test_in_an_empty_working_directory_no_name_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    here = Machine(env={"PWD": str(tmp_path)})
    monkeypatch.setattr(Machine, "exists", lambda self, path: looked.append(path))
    assert python._here(here, [], ["torch"], ("", ".py"))[0].names == frozenset()
    assert looked == []
    monkeypatch.setattr(Machine, "listed", lambda self, folder: None)  # it may not be read
    python._here(here, [], ["torch"], ("", ".py"))
    assert sorted(looked) == [f"{tmp_path}/torch", f"{tmp_path}/torch.py"]
