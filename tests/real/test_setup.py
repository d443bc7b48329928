"""Plans that are truly carried out, and plans for GPUs that the package index resolves to what was planned."""

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from gpudoctor.knowledge.kernels import version
from gpudoctor.setup.executor import argv_of
from gpudoctor.setup.exporters import render
from gpudoctor.setup.plan import Plan, Wheel
from gpudoctor.setup.planner import plan
from gpudoctor.setup.request import SetupRequest
from gpudoctor.setup.verification import step as proof
from tests.builders import change, plain_host, python
from tests.setup.grounds import distribution, machine

pytestmark = pytest.mark.realenv
_UV = Path(sys.executable).with_name("uv")
# Another Python would be fetched from where nothing of the package index lies.
MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
OWN = python(path=sys.executable, version=f"{MINOR}.0")
ALL = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


def _setup(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`gpudoctor setup --run --yes` with a new environment, with uv on PATH."""
    own = {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": f"{_UV.parent}:{os.environ['PATH']}", "PIP_RETRIES": "0"}
    own |= {"PIP_NO_COMPILE": "1"}  # thousands of files, of which the proof imports a tenth
    env = os.environ | own
    argv = [sys.executable, "-m", "gpudoctor", "setup", *words, "--cpu", "--run", "--yes"]
    return subprocess.run(argv, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=1200)


# -- carried out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", ["uv", "pip"])
def test_a_plan_for_the_cpu_is_installed_and_proven(manager: str, tmp_path: Path) -> None:
    done = _setup(tmp_path, "jax", "onnxruntime", "--manager", manager, "--env", "my env")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "gpudoctor: Done: environment, wheels, proof." in done.stderr
    inside = [f"{tmp_path}/my env/bin/python", "-c", "import jax, onnxruntime; print(jax.devices())"]
    assert "CpuDevice" in subprocess.run(inside, capture_output=True, text=True, timeout=120).stdout
    more = _setup(tmp_path, "onnxruntime", "--into", "my env")
    assert more.returncode == 0, more.stderr[-2000:]  # what is there fits


def test_an_index_that_does_not_respond_leaves_nothing_behind(tmp_path: Path) -> None:
    """A proxy that is not there stands for a firewall; pip's and uv's other settings do not help."""
    own = {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "PIP_NO_INDEX": "1"}
    argv = [sys.executable, "-m", "gpudoctor", "setup", "torchvision", "--cpu", "--run", "--yes", "--manager", "pip"]
    env = os.environ | own | {"XDG_STATE_HOME": str(tmp_path / "state")}
    env = {name: value for name, value in env.items() if name not in ("PIP_FIND_LINKS", "no_proxy", "NO_PROXY")}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=300)
    assert done.returncode == 4, done.stderr[-2000:]
    said = [
        line for line in done.stderr.splitlines() if line.startswith("gpudoctor: Nothing was run: the package index")
    ]
    assert len(said) == 1
    assert "https://download.pytorch.org/whl/cpu cannot be reached (Connection refused)" in said[0]
    assert not (tmp_path / "gpu-env").exists()


@pytest.mark.nightly
def test_companions_of_pytorch_are_proven_by_what_they_load(tmp_path: Path) -> None:
    """The pair of PyPI, which is for CUDA, computes on the CPU."""
    env = tmp_path / "env"
    words = [
        ["venv", "-q", str(env)],
        ["pip", "install", "-q", "--python", str(env), "torch==2.14.*", "torchvision==0.29.*"],
    ]
    for one in words:
        done = subprocess.run([_UV, *one], capture_output=True, text=True, timeout=1200)
        if done.returncode:
            pytest.skip(f"PyTorch cannot be installed here: {done.stderr[-200:]}")
    pair = tuple(Wheel(framework=name, requirement=name, variant="cpu") for name in ("torch", "torchvision"))
    for task in proof(f"{env}/bin/python", pair).commands:
        ended = subprocess.run(argv_of(task, sudo=False), capture_output=True, text=True, timeout=300)
        assert ended.returncode == 0, ended.stderr[-1000:]


def test_pytorch_for_the_cpu_is_installed_from_its_own_index(tmp_path: Path) -> None:
    done = _setup(tmp_path, "pytorch", "jax", "--manager", "pip", "--env", "env")
    if done.returncode == 4 and "download.pytorch.org" in done.stderr:
        pytest.skip("the package index of PyTorch cannot be reached")
    assert done.returncode == 0, done.stderr[-2000:]
    inside = [f"{tmp_path}/env/bin/python", "-c", "import torch; print(torch.__version__)"]
    said = subprocess.run(inside, capture_output=True, text=True, timeout=120).stdout
    assert said.strip().endswith("+cpu")  # the second command left it as it was


def test_the_script_makes_the_environment_too(tmp_path: Path) -> None:
    facts = change(plain_host(), "pythons", (OWN,))
    found = plan(facts, SetupRequest(frameworks=("onnxruntime",), manager="pip", place=str(tmp_path / "env")))
    (tmp_path / "setup.sh").write_text(render("shell", found))
    own = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", tmp_path / "setup.sh"], capture_output=True, text=True, timeout=900, env=os.environ | {"PATH": own}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "[array([2.], dtype=float32)]" in done.stdout  # what the session of its proof computed


# -- resolved ------------------------------------------------------------------------------------------------


def _resolved(found: Plan, folder: Path) -> dict[str, str]:
    """What the Python Package Index gives for the plan, by name.

    The builds of PyTorch's own index stand there by what they pin of NVIDIA's packages.
    """
    wanted: list[str] = []
    for wheel in found.wheels:
        pin = re.search(r"it includes cuDNN ([0-9.]+)\.", wheel.why)
        if wheel.index and pin:
            wanted.append(f"nvidia-cudnn-cu{found.cuda}=={pin[1]}")
        else:
            wanted.append(wheel.requirement)
    (folder / "wanted.in").write_text("\n".join(wanted))
    platform = "aarch64" if found.machine.architecture == "aarch64" else "x86_64"
    argv = [str(_UV), "pip", "compile", "-q", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    argv += ["--python-version", found.python or "", "--python-platform", f"{platform}-manylinux_2_34", "wanted.in"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=folder, timeout=300)
    if done.returncode and re.search(r"error sending request|Failed to fetch|dns error", done.stderr):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, (wanted, done.stderr[-3000:])
    return dict(line.partition("==")[::2] for line in done.stdout.split() if "==" in line)


@pytest.mark.parametrize(
    ("kind", "branch", "minor", "names"),
    [
        ("ada", 580, "3.12", ("torch", "jax", "cupy", "onnxruntime")),
        ("ada", 580, "3.12", ALL),
        ("ada", 580, "3.13", ALL),
        ("ada", 550, "3.11", ALL),
        ("pascal", 580, "3.12", ALL),
        ("volta", 535, "3.12", ("tensorflow", "jax")),
        ("hopper", 580, "3.14", ("torch", "jax", "cupy", "onnxruntime")),
        ("blackwell", 580, "3.12", ALL),
        ("blackwell", None, "3.13", ("torch", "jax")),
        ("ampere", 470, "3.12", ("tensorflow", "cupy")),
    ],
)
def test_the_index_gives_what_was_planned(
    kind: str, branch: int | None, minor: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    found = plan(machine(kind, branch=branch, minor=minor), SetupRequest(frameworks=names))
    given = _resolved(found, tmp_path)
    majors = {name.rpartition("-cu")[2] for name in given if re.fullmatch(r"nvidia-.*-cu\d+", name)}
    assert majors <= {found.cuda}  # one CUDA major, and no second copy of its libraries
    for wheel in found.wheels:
        if wheel.framework == "jax":
            plugin = f"jax-cuda{found.cuda}-plugin"
            assert given[plugin] == given["jax"] == given["jaxlib"]
        if wheel.framework == "tensorflow":
            assert version(given["tensorflow"]) >= (2, 18)
            assert "nvidia-cudnn-cu12" in given
        if wheel.framework == "torch" and not wheel.index:
            assert given["torch"].startswith(wheel.requirement.removeprefix("torch==").removesuffix("*"))


def test_uv_installs_the_plan_in_one_go(tmp_path: Path) -> None:
    found = plan(
        machine("hopper", minor=MINOR),
        SetupRequest(frameworks=("torch", "jax", "cupy"), manager="uv", place=str(tmp_path / "env")),
    )
    made, filled = (step.commands for step in found.steps if step.group == "environment")
    words = [str(_UV), *argv_of(made[0], sudo=False)[1:]]
    assert subprocess.run(words, capture_output=True, timeout=300).returncode == 0
    more = ["--dry-run", "--python-platform", "x86_64-manylinux_2_28"]
    done = subprocess.run(
        [str(_UV), *argv_of(filled[0], sudo=False)[1:], *more], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "torch==2.14" in done.stderr


# -- other tools ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ansible(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with ansible-core from the package index."""
    folder = tmp_path_factory.mktemp("ansible")
    for words in (
        ("venv", "-q", str(folder / "env")),
        ("pip", "install", "-q", "--python", str(folder / "env"), "ansible-core"),
    ):
        if subprocess.run([_UV, *words], capture_output=True, timeout=600).returncode:
            pytest.skip("ansible-core cannot be installed here")
    return folder / "env" / "bin"


def _play(
    ansible: Path, folder: Path, tasks: str, *words: str, path: str = "/usr/bin"
) -> subprocess.CompletedProcess[str]:
    (folder / "tasks.yml").write_text(tasks)
    (folder / "play.yml").write_text(
        "- hosts: localhost\n  connection: local\n  tasks:\n    - ansible.builtin.import_tasks: tasks.yml\n"
    )
    own = {"PATH": f"{path}:{ansible}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    env = os.environ | own
    argv = [str(ansible / "ansible-playbook"), "-i", "localhost,", *words, "play.yml"]
    return subprocess.run(argv, capture_output=True, text=True, cwd=folder, env=env, timeout=600)


@pytest.mark.parametrize("kind", ["new", "blackwell", "none"])
def test_ansible_reads_the_tasks(ansible: Path, kind: str, tmp_path: Path) -> None:
    facts = {
        "new": machine("ada", branch=None),
        "blackwell": machine("blackwell", branch=570),
        "none": change(plain_host(), "pythons", (python(version="3.12.4"),)),
    }[kind]
    found = plan(facts, SetupRequest(frameworks=ALL, manager="uv", container=True, base="python3"))
    done = _play(ansible, tmp_path, render("ansible", found), "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_ansible_carries_out_the_environments_tasks(ansible: Path, tmp_path: Path) -> None:
    """As this user: become, the packages and /opt are left out."""
    facts = change(plain_host(), "pythons", (OWN,))
    found = plan(facts, SetupRequest(frameworks=("onnxruntime",), manager="uv", place=str(tmp_path / "env")))
    tasks = render("ansible", found).replace("become: true", "become: false").replace("/opt/uv", f"{tmp_path}/uv")
    tasks = tasks.replace("ansible_facts['os_family'] == 'Debian'", "false")
    done = _play(ansible, tmp_path, tasks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "env" / "bin" / "python").exists()


def _program(folder: Path, name: str, message: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{message}'\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("driver", "needed"), [("580.95.05", False), ("570.86.10", True), (None, True)])
def test_ansible_leaves_a_machine_that_has_driver_and_toolkit(
    ansible: Path, driver: str | None, needed: bool, tmp_path: Path
) -> None:
    """Played by --check: nothing is changed, and what would be is told."""
    if driver:
        _program(tmp_path, "nvidia-smi", driver)
        _program(tmp_path, "nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.17.8")
    found = plan(
        machine("ada", branch=None), SetupRequest(frameworks=("torch",), manager="uv", container=True, base="python3")
    )
    tasks = render("ansible", found).replace("become: true", "become: false")
    tasks = tasks.replace("ansible.builtin.reboot: {}", "ansible.builtin.debug: {msg: now}")  # this very machine
    done = _play(ansible, tmp_path, tasks, "--check", path=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    restart = done.stdout.partition("TASK [Reboot]")[2].partition("TASK [")[0]
    assert ("skipping" in restart) is not needed
    assert ('"now"' in restart) is needed


# -- each form by what reads it ------------------------------------------------------------------------------

GROUNDS = {
    "new": machine("ada", branch=None),
    "fedora": distribution(machine("blackwell", branch=None), "fedora", "43"),
    "rhel": distribution(machine("pascal", branch=None), "rhel", "9.4", "fedora"),
    "suse": distribution(machine("hopper", branch=None), "opensuse-leap", "15.6", "suse"),
    "arch": distribution(machine("ada", branch=None), "arch", None),
    "debian": distribution(machine("blackwell", branch=None), "debian", "13"),
    "none": change(plain_host(), "pythons", (python(version="3.12.4"),)),
}


def _written(kind: str, form: str, folder: Path) -> Path:
    found = plan(GROUNDS[kind], SetupRequest(frameworks=ALL, manager="uv", container=True, base="python3"))
    (folder / "part").write_text(render(form, found))
    return folder / "part"


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="needs shellcheck")
@pytest.mark.parametrize("kind", GROUNDS)
def test_shellcheck_finds_nothing(kind: str, tmp_path: Path) -> None:
    script = _written(kind, "shell", tmp_path)
    done = subprocess.run(["shellcheck", "--shell=sh", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(not shutil.which("cloud-init"), reason="needs cloud-init")
@pytest.mark.parametrize("kind", GROUNDS)
def test_cloud_init_takes_the_user_data(kind: str, tmp_path: Path) -> None:
    argv = ["cloud-init", "schema", "--config-file", str(_written(kind, "cloud-init", tmp_path))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", GROUNDS)
def test_the_dockerfile_is_parsed(kind: str, tmp_path: Path) -> None:
    parser = DockerfileParser(fileobj=io.BytesIO())
    parser.content = "FROM ubuntu:24.04\n" + _written(kind, "dockerfile", tmp_path).read_text()
    used = [one["instruction"] for one in parser.structure if one["instruction"] != "COMMENT"]
    assert set(used) <= {"FROM", "ARG", "ENV", "RUN"}
    assert parser.envs["PATH"].startswith("/opt/gpu-env/bin:")


def test_poetry_finds_nothing_to_say_of_its_project(tmp_path: Path) -> None:
    own = tmp_path / "poetry"
    for words in (("venv", "-q", str(own)), ("pip", "install", "-q", "--python", str(own), "poetry")):
        if subprocess.run([_UV, *words], capture_output=True, timeout=600).returncode:
            pytest.skip("poetry cannot be installed here")
    found = plan(
        machine("pascal"), SetupRequest(frameworks=("torch", "jax"), manager="poetry", place=str(tmp_path / "env"))
    )
    (tmp_path / "env").mkdir()
    for file in found.steps[0].files:
        Path(file.path).write_text(file.text or "")
    argv = [str(own / "bin" / "poetry"), "-C", str(tmp_path / "env"), "check", "--strict"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
