"""What runs while a machine is made: the part for cloud-init and the provisioner for Packer, read by their parsers."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest
import yaml

from tests.examples import BIN, EXAMPLES, ILL, stand_in

CLOUD = EXAMPLES / "cloud-init" / "gpudoctor.yaml"
PACKER = EXAMPLES / "packer" / "gpudoctor.pkr.hcl"


@pytest.mark.skipif(not shutil.which("cloud-init"), reason="needs cloud-init")
def test_cloud_init_takes_it() -> None:
    ended = subprocess.run(["cloud-init", "schema", "--config-file", CLOUD], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_first_start_ends_well_and_leaves_the_diagnosis(tmp_path: Path) -> None:
    text = CLOUD.read_text()
    assert text.startswith("#cloud-config\n"), "cloud-init takes it for something else otherwise"
    commands = yaml.safe_load(text)["runcmd"]
    assert all(isinstance(word, str) for words in commands for word in words)
    program = str(stand_in(tmp_path, ILL))
    log = str(tmp_path / "log")
    for words in commands[-2:]:
        argv = [{BIN: program, "/var/log/gpudoctor.txt": log}.get(word, word) for word in words]
        ended = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("gpudoctor")
    assert "driver.library-mismatch" in ended.stdout


def plain(value: Any) -> Any:
    """What python-hcl2 read, without the quotation marks that newer releases keep."""
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.strip('"') if isinstance(value, str) else value


def provisioners() -> list[Any]:
    with PACKER.open() as file:
        (build,) = plain(hcl2.load(file))["build"]
    return [one["shell"] for one in build["provisioner"]]


def test_packer_stops_at_a_problem_alone(tmp_path: Path) -> None:
    last = provisioners()[-1]
    (line,) = last["inline"]
    line = line.replace(BIN, str(stand_in(tmp_path, ILL)))
    code = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=60).returncode
    assert code == 1
    assert last["valid_exit_codes"] == [0, 3]


def test_packer_installs_before_it_asks() -> None:
    first = provisioners()[0]["inline"]
    assert [line.split()[1] for line in first] == ["python3", "/opt/gpudoctor/bin/pip"]
    assert "${var.gpudoctor}" in first[-1]
