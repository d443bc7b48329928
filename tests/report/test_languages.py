"""What is typed names its language: YAML in a fence for shells would be pasted into one."""

import re

import pytest
import yaml

from gpudoctor.pipeline import check
from gpudoctor.report.fixes import TypedBlock, blocks
from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.report.renderers import markdown, nagios, text
from gpudoctor.tasks import Edit, FileSection, Manual, Task, Tasks, cmd, code, export, lines, query
from gpudoctor.tasks.as_typed import in_powershell, language, typed
from gpudoctor.toml import tomllib
from tests.machines.registry import machines

POD = "spec:\n  containers:\n    - name: ..."
UV = Edit("/srv/app/pyproject.toml", sections=(FileSection("[tool.uv.sources]", ('torch = { index = "a" }',)),))


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (cmd("sudo", "reboot"), "sh"),
        (export("CUDA_HOME", "/usr/local/cuda"), "sh"),
        (Edit("/etc/modules-load.d/a.conf", text="nvidia"), "sh"),
        (Manual("cd ~"), "sh"),
        (UV, "toml"),
        (Edit("/etc/a.conf", sections=(FileSection("[gpu]", ("a=1",)),)), "ini"),
        (lines(POD), "yaml"),
        (lines("runtimeClassName: nvidia"), "yaml"),
        (lines("IgnorePkg = nvidia"), "ini"),
        (lines("<rom file='a'/>"), "xml"),
        (lines('"runArgs": ["--gpus", "all"]'), "json"),
        (lines("# /etc/nixos/configuration.nix\nhardware.nvidia.open = true;"), "nix"),
        (lines('# in pixi.toml:\n[system-requirements]\ncuda = "12"'), "toml"),
        (lines("Above 4G Decoding"), "text"),
        (code("torch.backends.cuda.matmul.allow_tf32 = True"), "python"),
        (Manual("wsl --update", "PowerShell"), "powershell"),
    ],
)
def test_the_language_of_each_task(task: Task, name: str) -> None:
    assert language(task, typed((task,))[0]) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torch.load(path, weights_only=False)", "python"),
        ("torch.backends.cudnn.enabled = False", "python"),
        ("state = {k.removeprefix('module.'): v for k, v in state.items()}", "python"),
        ('with torch.autocast("cuda", dtype=torch.bfloat16):', "python"),
        ("import tf_keras", "python"),
        ("boot.kernelPackages = pkgs.linuxPackages;", "sh"),
        ("export CUDA_HOME=$(dirname $(which nvcc))", "sh"),
        ("pip install 'tensorflow[and-cuda]'", "sh"),
        ('python -c "import torch; print(torch.ones(1))"', "sh"),
    ],
)
def test_lines_of_a_program_among_the_steps_of_a_message(line: str, name: str) -> None:
    assert language(Manual(line), line) == language(None, line) == name


def test_a_line_of_a_program_is_said_to_be_one() -> None:
    fixes = (FixEntry("Load it as before.", ("ls", "torch.load(path, weights_only=False)", "print(model.training)")),)
    entry = FindingEntry(check="a.b", status="fail", subject="s", title="T", message="M.", cause="C.", fixes=fixes)
    shown = text.render(Report(status="fail", findings=(entry,)))
    assert shown.count("In the program:") == 1
    assert re.search(r"ls\n +In the program:\n +torch\.load\(path, weights_only=False\)\n +print\(model", shown)


def test_a_command_of_windows_is_one_of_powershell() -> None:
    tasks = (cmd("C:/env/bin/python", "-m", "pip", "check"), query("nvidia-smi"))
    written = tuple(map(in_powershell, tasks))
    assert blocks(written, tasks) == [TypedBlock("powershell", "", written)]
    assert blocks(typed(tasks), tasks)[0].language == "sh"


def test_the_lines_of_a_file_stand_below_its_name() -> None:
    tasks: Tasks = (UV, cmd("uv", "lock"), cmd("uv", "sync"))
    entry = FindingEntry(
        check="a.b", status="fail", subject="s", title="T", message="M.", cause="C.",
        fixes=(FixEntry("Pin it.", typed(tasks), tasks=tasks),),
    )  # fmt: skip
    report = Report(status="fail", findings=(entry,))
    expected = (
        "In `/srv/app/pyproject.toml`:\n\n```toml\n[tool.uv.sources]\ntorch = { index = \"a\" }\n```\n\n"
        "```sh\nuv lock\nuv sync\n```"
    )  # fmt: skip
    assert expected in markdown.render(report)
    assert "  Pin it. `gpudoctor check` shows the lines.\n" in nagios.render(report)


@pytest.mark.parametrize("machine", machines(), ids=lambda machine: machine.name)
def test_every_fence_holds_what_it_names(machine: object) -> None:
    text = markdown.render(check(None, facts=machine.make()))  # type: ignore[attr-defined]
    for name, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if name == "yaml":
            assert isinstance(yaml.safe_load(body), dict)
        elif name == "toml":
            assert tomllib.loads(body)
        elif name == "sh":
            assert not re.search(r"^(spec|services):$|^\[\[?[\w.]+\]\]?$", body, re.MULTILINE)
