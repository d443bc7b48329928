"""The plan as files for other tools, each read by what such files are read by, as far as that is here."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.facts import Facts
from gpudoctor.setup.exporters import FORMS, render
from gpudoctor.setup.exporters.common import isolated, unattended, yaml
from gpudoctor.setup.exporters.common import line as shell_line
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.setup.planner import plan
from gpudoctor.setup.projects import split
from gpudoctor.setup.request import SetupRequest
from gpudoctor.tasks import Command, Edit, as_root, cmd
from tests.builders import change, plain_host, python
from tests.setup.grounds import distribution, machine

ALL = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


def plans() -> dict[str, Plan]:
    bare, gpu = machine("ada", branch=None), machine("blackwell", branch=570)
    none = change(plain_host(), "pythons", (python(version="3.12.4"),))
    every: dict[str, tuple[Facts, dict[str, Any]]] = {
        "new machine": (bare, {"container": True, "manager": "uv", "base": "python3"}),
        "blackwell": (gpu, {"manager": "uv"}),
        "pip": (bare, {"manager": "pip", "base": "python3"}),
        "pixi": (bare, {"manager": "pixi"}),
        "poetry": (bare, {"manager": "poetry"}),
        "no gpu": (none, {"manager": "uv"}),
    }
    return {name: plan(facts, SetupRequest(frameworks=ALL, **more)) for name, (facts, more) in every.items()}


PLANS = plans()


def loaded(text: str) -> Any:
    return msgspec.yaml.decode(text.encode())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PLANS)
def test_every_form_names_every_wheel_and_every_refusal(name: str, form: str) -> None:
    text = render(form, PLANS[name])
    assert all(split(wheel.requirement)[0] in text for wheel in PLANS[name].wheels)
    assert all(refused.requested in text for refused in PLANS[name].refused)
    assert text.endswith("\n")


# -- shell ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("name", PLANS)
def test_the_script_is_one(name: str, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "setup.sh"
    script.write_text(render("shell", PLANS[name]))
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def _steps(folder: Path) -> Plan:
    """A plan of harmless commands: a file, a command, and one that would need root."""
    note = Edit(f"{folder}/a folder/note.txt", "it's $HOME\nEND_OF_FILE\n")
    words = ("sh", "-c", f"cat {shlex.quote(note.path)} > {folder}/copy")
    root = SetupStep(
        id="r", group="driver", title="As root", why="w", root=True, reboot=True, commands=(_touch(folder),)
    )
    own = SetupStep(id="o", group="environment", title="It's ours", why="w", files=(note,), commands=(cmd(*words),))
    return Plan(steps=(root, own))


def _touch(folder: Path) -> Command:
    return cmd("touch", f"{folder}/root")


def test_the_script_runs_and_leaves_out_what_needs_root(tmp_path: Path) -> None:
    script = tmp_path / "setup.sh"
    script.write_text(render("shell", _steps(tmp_path)))
    done = subprocess.run(["sh", script], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "copy").read_text() == "it's $HOME\nEND_OF_FILE\n"
    assert not (tmp_path / "root").exists()
    assert "Skipped without --with-root: As root" in done.stdout


def test_the_script_imports_nothing_of_the_directory_in_which_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "venv.py").write_text("print('not the real one')")
    words = (sys.executable, "-m", "venv", "--help")
    own = SetupStep(id="o", group="environment", title="Make it", why="w", commands=(cmd(*words),))
    text = render("shell", Plan(steps=(own,)))
    done = subprocess.run(["sh"], input=text, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "usage: venv" in done.stdout
    assert "not the real one" not in done.stdout
    for one in PLANS.values():
        assert re.findall(r"python[\d.]* -m ", render("shell", one)) == []


@pytest.mark.parametrize("words", [("useradd", "-m", "x"), ("kubectl", "-m", "x"), ("uv", "venv", "x")])
def test_only_a_python_is_isolated(words: tuple[str, ...]) -> None:
    assert isolated(cmd(*words)) == cmd(*words)
    assert isolated(as_root("python3.9", "-m", "pip")) == as_root("python3.9", "-I", "-m", "pip")


def test_with_root_the_script_ends_where_a_restart_is_needed(tmp_path: Path) -> None:
    script = tmp_path / "setup.sh"
    script.write_text(render("shell", _steps(tmp_path)))
    done = subprocess.run(["sh", script, "--with-root"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert (tmp_path / "root").exists()
    assert not (tmp_path / "copy").exists()
    assert "Reboot" in done.stdout


def test_the_script_stops_at_the_first_failure(tmp_path: Path) -> None:
    one = SetupStep(id="a", group="environment", title="a", why="w", commands=(cmd("false"), _touch(tmp_path)))
    done = subprocess.run(["sh"], input=render("shell", Plan(steps=(one,))), capture_output=True, text=True)
    assert done.returncode == 1
    assert not (tmp_path / "root").exists()


# -- Dockerfile ----------------------------------------------------------------------------------------------

_INSTRUCTIONS = ("RUN", "ENV", "COPY", "ARG")


@pytest.mark.parametrize("name", PLANS)
def test_the_dockerfile_holds_instructions_and_no_driver(name: str) -> None:
    lines = iter(render("dockerfile", PLANS[name]).splitlines())
    for line in lines:
        if not line or line.startswith("#"):
            continue
        assert line.startswith(_INSTRUCTIONS), line
        assert "nvidia-driver" not in line
        assert "sudo" not in line
        if line.startswith("COPY <<'"):
            mark = line.split("'")[1]
            while next(lines) != mark:
                pass
        while line.endswith("\\"):
            line = next(lines)


def test_the_dockerfile_says_what_belongs_to_the_host() -> None:
    text = render("dockerfile", PLANS["new machine"])
    assert "# On the host, not here: Install NVIDIA's driver of branch 580" in text
    assert "ENV PATH=/opt/gpu-env/bin:$PATH" in text
    assert "RUN /opt/uv/bin/uv venv --python 3.12 /opt/gpu-env" in text
    assert "NVIDIA_VISIBLE_DEVICES" not in render("dockerfile", PLANS["no gpu"])


# -- YAML ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_ansible_gets_a_list_of_tasks(name: str) -> None:
    tasks = loaded(render("ansible", PLANS[name]))
    for task in tasks:
        modules = [key for key in task if key.startswith("ansible.builtin.")]
        assert len(modules) == 1
        assert task["name"]
        what = task[modules[0]]
        if modules[0] == "ansible.builtin.command":
            assert all(isinstance(word, str) for word in what["argv"])
            assert "sudo" not in what["argv"]
        if modules[0] == "ansible.builtin.shell":
            assert "sudo" not in what["cmd"]


def test_ansible_restarts_after_the_driver_and_asks_nothing() -> None:
    tasks = loaded(render("ansible", PLANS["new machine"]))
    names = [task["name"] for task in tasks]
    words = [t["ansible.builtin.command"]["argv"] for t in tasks if "ansible.builtin.command" in t]
    assert ["apt-get", "--yes", "install", "nvidia-driver-580-open"] in words
    assert names.index("Reboot") < names.index("Install the venv module")
    made = next(t for t in tasks if t["name"].startswith("Create an environment with Python"))
    assert made["ansible.builtin.command"]["creates"] == "/opt/gpu-env/bin/python"


@pytest.mark.parametrize("name", PLANS)
def test_cloud_init_gets_user_data(name: str) -> None:
    text = render("cloud-init", PLANS[name])
    assert text.startswith("#cloud-config\n")
    data = loaded(text)
    assert set(data) <= {"package_update", "packages", "write_files", "runcmd", "power_state"}
    for command in data["runcmd"]:
        assert isinstance(command, str) or all(isinstance(word, str) for word in command)
        assert "sudo" not in command
    assert ("power_state" in data) is any(s.reboot for s in PLANS[name].steps)


@pytest.mark.parametrize("name", PLANS)
def test_environment_yml_has_python_by_conda_and_wheels_by_pip(name: str) -> None:
    found = PLANS[name]
    data = loaded(render("environment.yml", found))
    assert set(data) == {"name", "channels", "dependencies"}
    assert data["dependencies"][:2] == [f"python={found.python}", "pip"]
    lines = data["dependencies"][2]["pip"]
    assert [line for line in lines if not line.startswith("--")] == [w.requirement for w in found.wheels]
    assert [line for line in lines if line.startswith("--")] == [
        f"--extra-index-url {w.index}" for w in found.wheels if w.index
    ]


def test_yaml_reads_back_what_was_written() -> None:
    value = {"a": ["x: y", "- z", "#", "'\"\n", "é", "yes", "1.0"], "b": {"c": [["d", "e"], {"f": True, "g": 3}]}}
    assert loaded("\n".join(yaml(value))) == value


@pytest.mark.parametrize(
    ("words", "quiet"),
    [
        ("apt-get install a", "apt-get --yes install a"),
        ("apt-get update", "apt-get update"),
        ("conda install -p /e a", "conda install --yes -p /e a"),
        ("dnf module enable a:580-open", "dnf --assumeyes module enable a:580-open"),
        ("yum install a", "yum --assumeyes install a"),
        ("pacman -Syu a", "pacman --noconfirm -Syu a"),
        (
            "zypper install a",
            "zypper --non-interactive --gpg-auto-import-keys install --auto-agree-with-licenses a",
        ),
        ("zypper refresh", "zypper --non-interactive --gpg-auto-import-keys refresh"),
        ("uv venv a", "uv venv a"),
    ],
)
def test_commands_that_ask_nothing(words: str, quiet: str) -> None:
    assert unattended(cmd(*words.split())) == cmd(*quiet.split())


def test_who_is_not_root_keeps_sudo() -> None:
    assert shell_line(as_root("apt-get", "remove", "a")) == "sudo apt-get --yes remove a"
    assert shell_line(as_root("apt-get", "remove", "a"), sudo=False) == "apt-get --yes remove a"


# -- other distributions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id_", "version", "program", "names"),
    [
        ("ubuntu", "24.04", "python3", ["python3-venv", "python3-pip"]),
        ("fedora", "43", "python3", ["python3", "python3-pip"]),
        ("rocky", "8.10", "python3.11", ["python3.11"]),
        ("opensuse-leap", "15.6", "python3.11", ["python311"]),
        ("arch", None, "python3", ["python", "python-pip"]),
    ],
)
def test_the_python_that_brings_uv_is_one_that_uv_runs_on(
    id_: str, version: str | None, program: str, names: list[str]
) -> None:
    facts = distribution(machine("ada"), id_, version)
    found = plan(facts, SetupRequest(frameworks=("torch",), manager="uv", base="python3"))
    data = loaded(render("cloud-init", found))
    assert data["packages"] == names
    assert data["runcmd"][0] == [program, "-m", "venv", "/opt/uv"]
    tasks = loaded(render("ansible", found))
    assert tasks[0]["ansible.builtin.package"]["name"] == names
    assert "RUN python3 -m venv /opt/uv" in render("dockerfile", found)  # the image is Debian's or Ubuntu's


def test_ansible_changes_no_machine_that_has_driver_and_toolkit() -> None:
    tasks = loaded(render("ansible", PLANS["new machine"]))
    conditions = {t["name"]: t.get("when") for t in tasks}
    assert conditions["Reboot"] == (
        "gpudoctor_driver.rc | default(1) != 0 or "
        "(gpudoctor_driver.stdout_lines | first | default('0')) is version('580', '<')"
    )
    toolkit = [when for name, when in conditions.items() if name.startswith("Install the NVIDIA Container Toolkit")]
    assert set(toolkit) == {"gpudoctor_toolkit.rc | default(1) != 0"}
    asked = [t["register"] for t in tasks if t.get("failed_when") is False]
    assert asked == ["gpudoctor_driver", "gpudoctor_toolkit"]


def test_with_root_the_script_brings_the_toolkit_before_the_restart() -> None:
    text = render("shell", PLANS["new machine"])
    assert text.index("install nvidia-container-toolkit") < text.index("Reboot, then run") < text.index("uv venv")


def test_what_environment_yml_cannot_bring_is_told() -> None:
    assert "# First, on the machine: Install NVIDIA's driver" in render("environment.yml", PLANS["new machine"])
