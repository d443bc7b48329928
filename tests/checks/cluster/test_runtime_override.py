"""containerd's runtime nvidia, whose options name runc."""

import subprocess
from pathlib import Path

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.cluster.runtime_override import runtime_override
from gpudoctor.facts import Facts
from gpudoctor.facts.cluster import RuntimeOverride
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.cluster.test_cluster import node

WHY = Unknown("not to be seen")
CONFIG = "/etc/containerd/config.toml"
BESIDE = RuntimeOverride(path=CONFIG, key="binaryName", program="/usr/local/bin/runc", others=("BinaryName",))
ALONE = RuntimeOverride(path=CONFIG, key="BinaryName", program="runc")


def of(*found: RuntimeOverride, facts: Facts | None = None) -> Facts:
    return change(node(facts or nvidia_host()), "cluster.runtime_overrides", found)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (plain_host(), [("skipped", "")]),
        (of(), [("pass", "")]),
        (of(BESIDE, facts=plain_host()), [("pass", "")]),
        (change(of(), "cluster.runtime_overrides", WHY), [("unknown", "not to be seen")]),
        (
            of(BESIDE),
            [
                (
                    "problem",
                    "The runtime nvidia in /etc/containerd/config.toml has binaryName = /usr/local/bin/runc beside "
                    "BinaryName: its containers are started by runc and get no GPU.",
                )
            ],
        ),
        (
            of(ALONE),
            [
                (
                    "problem",
                    "The runtime nvidia in /etc/containerd/config.toml has BinaryName = runc: its containers are "
                    "started by runc and get no GPU.",
                )
            ],
        ),
    ],
)
def test_the_program_of_the_runtime(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(runtime_override, facts) == verdict


TABLES = """\
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
  runtime_type = 'io.containerd.runc.v2'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.{name}.options]
    BinaryName = '/usr/bin/nvidia-container-runtime'
    binaryName = '/usr/local/bin/runc'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    binaryName = '/usr/local/bin/runc'
"""


@pytest.mark.parametrize("name", ["nvidia", "'nvidia'", '"nvidia"'])
def test_the_line_is_deleted_in_that_runtime_alone(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TABLES.format(name=name))
    (command,) = [one for one in run(runtime_override, of(BESIDE))[0].fixes[0].commands if "sed" in one]
    subprocess.run(["/bin/sh", "-c", command.removeprefix("sudo ").replace(CONFIG, str(file))], check=True)
    wanted = TABLES.format(name=name).replace("    binaryName = '/usr/local/bin/runc'\n", "", 1)
    assert file.read_text() == wanted


def test_where_it_is_the_only_one_the_toolkit_writes_it() -> None:
    commands = run(runtime_override, of(ALONE))[0].fixes[0].commands
    assert any(f"nvidia-ctk runtime configure --runtime=containerd --config={CONFIG}" in one for one in commands)
