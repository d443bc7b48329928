"""The manifests, held against Kubernetes' schema, and the rule of node-problem-detector, run on a host's files."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.examples import BIN, EXAMPLES, ILL, WELL, calls, host, stand_in

FOLDER = EXAMPLES / "kubernetes"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
RULE = json.loads((FOLDER / "node-problem-detector.json").read_text())
# node-problem-detector's own words: pkg/custompluginmonitor/types.
CONFIG = {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
PLUGIN = {
    "invoke_interval", "timeout", "max_output_length", "concurrency", "enable_message_change_based_condition_update",
}  # fmt: skip


def may_mount() -> bool:
    """Whether we may make a mount namespace and mount in it."""
    argv = ["unshare", "--mount", "mount", "--bind", "/tmp", "/tmp"]
    return bool(shutil.which("unshare")) and subprocess.run(argv, capture_output=True).returncode == 0


def manifest(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_it_is_as_kubernetes_publishes(path: Path) -> None:
    whole = yaml.safe_load(path.read_text())
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(whole, version, strict=True)
    whole["spec"]["nonsense"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(whole, version, strict=True)


@pytest.mark.parametrize(("machine", "code"), [(WELL, 0), (ILL, 1)])
def test_the_init_container_lets_the_program_start_or_not(machine: str, code: int, tmp_path: Path) -> None:
    (first,) = manifest("init-container.yaml")["spec"]["initContainers"]
    shell, option, line = first["command"]
    line = line.replace(BIN, str(stand_in(tmp_path, machine)))
    assert subprocess.run([shell, option, line], capture_output=True, timeout=60).returncode == code


@pytest.mark.parametrize(("ends", "code"), [(0, 0), (1, 1), (2, 1), (3, 0)])
def test_what_is_unknown_keeps_no_pod_waiting_and_wrong_usage_does(ends: int, code: int, tmp_path: Path) -> None:
    (first,) = manifest("init-container.yaml")["spec"]["initContainers"]
    program = tmp_path / "gpudoctor"
    program.write_text(f"#!/bin/sh\nexit {ends}\n")
    program.chmod(0o755)
    shell, option, line = first["command"]
    assert subprocess.run([shell, option, line.replace(BIN, str(program))], timeout=60).returncode == code


def test_both_containers_get_the_same_gpus() -> None:
    spec = manifest("init-container.yaml")["spec"]
    (one, other) = (box["resources"]["limits"] for box in (*spec["initContainers"], *spec["containers"]))
    assert one == other, "a pod's devices are those of its largest container"


def test_the_daemon_writes_metrics_of_the_host(tmp_path: Path) -> None:
    (box,) = manifest("daemonset.yaml")["spec"]["template"]["spec"]["containers"]
    script = box["command"][2]
    program = f"env PYTHONPATH={EXAMPLES.parent} {sys.executable} -m gpudoctor"
    for theirs, ours in {
        BIN: program, "/host": str(host(tmp_path)), "/textfile/": f"{tmp_path}/", "sleep 300 & wait $!": "exit 0",
    }.items():  # fmt: skip
        assert theirs in script
        script = script.replace(theirs, ours)
    subprocess.run(["/bin/sh", "-c", script], check=True, timeout=60)
    text = (tmp_path / "gpudoctor.prom").read_text()
    assert 'gpudoctor_finding{check="driver.not-installed"' in text


def test_the_daemon_reads_the_host_and_writes_one_folder() -> None:
    spec = manifest("daemonset.yaml")["spec"]["template"]["spec"]
    (box,) = spec["containers"]
    mounts = {one["mountPath"]: one for one in box["volumeMounts"]}
    assert mounts["/host"]["readOnly"]
    assert box["securityContext"]["readOnlyRootFilesystem"]
    paths = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one}
    assert paths["host"] == "/"
    assert {mounts[path]["name"] for path in mounts} == {one["name"] for one in spec["volumes"]}


def test_the_rule_says_what_node_problem_detector_reads() -> None:
    assert set(RULE) == CONFIG
    assert set(RULE["pluginConfig"]) == PLUGIN
    (rule,) = RULE["rules"]
    assert rule["condition"] in [one["type"] for one in RULE["conditions"]]
    assert set(rule) == {"type", "condition", "reason", "path", "args", "timeout"}
    assert _seconds(rule["args"][rule["args"].index("--timeout") + 1] + "s") < _seconds(rule["timeout"])
    assert _seconds(rule["timeout"]) <= _seconds(RULE["pluginConfig"]["timeout"])


def _seconds(text: str) -> int:
    (number,) = re.fullmatch(r"(\d+)s", text).groups()  # type: ignore[union-attr]
    return int(number)


def test_the_rule_tells_a_problem_of_the_host_in_one_short_line(tmp_path: Path) -> None:
    (rule,) = RULE["rules"]
    words = [str(host(tmp_path)) if word == "/host" else word for word in rule["args"]]
    ended = subprocess.run([sys.executable, "-m", "gpudoctor", *words], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stdout.startswith("driver.not-installed: ")
    assert len(ended.stdout.rstrip("\n")) < RULE["pluginConfig"]["max_output_length"]
    assert calls("/gpudoctor " + " ".join(rule["args"])) == [rule["args"]]


@pytest.mark.namespace
@pytest.mark.skipif(not may_mount(), reason="needs the right to make mount namespaces")
def test_the_daemon_reads_this_very_host_mounted_for_reading_alone(tmp_path: Path) -> None:
    (box,) = manifest("daemonset.yaml")["spec"]["template"]["spec"]["containers"]
    (words,) = calls(box["command"][2])
    (tmp_path / "host").mkdir()
    words = [word.replace("/host", f"{tmp_path}/host").replace("/textfile", str(tmp_path)) for word in words]
    mounted = f"mount --rbind / {tmp_path}/host && mount -o remount,ro,bind {tmp_path}/host"
    argv = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'{mounted} && exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "gpudoctor",
        *words,
    ]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=EXAMPLES.parent)
    assert (ended.returncode, ended.stderr) == (0, "")
    text = (tmp_path / "gpudoctor.prom").read_text()
    passed = re.search(r'gpudoctor_checks\{outcome="pass"\} ([0-9.]+)', text)
    assert passed
    assert float(passed[1]) > 0
