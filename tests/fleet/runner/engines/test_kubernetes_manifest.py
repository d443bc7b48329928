"""The manifests, held against Kubernetes' schema, and what they let a pod see."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest
import yaml

from gpudoctor.fleet.runner.engine import EngineError
from gpudoctor.fleet.runner.engines.kubernetes_manifest import INSTANCE, JOB, job, manifest
from gpudoctor.fleet.runner.engines.kubernetes_objects import KubernetesNode
from tests.fleet.runner.engines.pods import node

ARGV = ("gpudoctor", "fleet", "node", "--name", "a b")
SHOWN = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


def made(gpus: int = 8, **how: Any) -> dict[str, Any]:
    one = msgspec.convert(node("gpu-1", gpus=gpus), KubernetesNode)
    return job("gpudoctor-1", "gpudoctor-ab", one, ARGV, image="image:1", seconds=99.5, **how)


def pod(whole: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pod's specification, and its container's."""
    spec = whole["spec"]["template"]["spec"]
    (box,) = spec["containers"]
    return spec, box


def valid(whole: Any) -> None:
    """Held against the schema, which can fail."""
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(whole, version, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**whole, "nonsense": 1}, version, strict=True)


@pytest.mark.parametrize(
    "how",
    [{}, {"gpus": 0}, {"runtime_class": "nvidia"}, {"exclusive": True}, {"gpus": 0, "exclusive": True}],
    ids=str,
)
def test_a_job_is_as_kubernetes_publishes(how: dict[str, Any]) -> None:
    valid(made(**how))


def test_a_job_is_one_pod_on_one_node_tried_once() -> None:
    whole = made()
    spec, box = pod(whole)
    assert (whole["spec"]["backoffLimit"], spec["restartPolicy"]) == (0, "Never")
    assert whole["spec"]["activeDeadlineSeconds"] == 100, "whoever started it may be gone"
    assert whole["spec"]["ttlSecondsAfterFinished"] > 0
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]
    assert box["command"] == list(ARGV), "no shell has a part in it"
    labels = whole["spec"]["template"]["metadata"]["labels"]
    assert (labels[INSTANCE], labels[JOB]) == ("gpudoctor-ab", "gpudoctor-1")


def test_a_pod_has_room_for_what_processes_share() -> None:
    spec, box = pod(made())
    (mounted,) = [one["name"] for one in box["volumeMounts"] if one["mountPath"] == "/dev/shm"]
    assert {"name": mounted, "emptyDir": {"medium": "Memory"}} in spec["volumes"]


def test_a_pod_looks_at_the_gpus_beside_others_or_takes_them() -> None:
    spec, looks = pod(made(runtime_class="nvidia"))
    assert looks["securityContext"] == {"privileged": True}
    assert {one["name"]: one["value"] for one in looks["env"]} == SHOWN
    assert ("resources" in looks, spec["runtimeClassName"]) == (False, "nvidia")
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "Default"), "neighbours know the nodes' names alone"

    spec, takes = pod(made(runtime_class="nvidia", exclusive=True))
    assert takes["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert ("securityContext" in takes, "env" in takes, "hostNetwork" in spec) == (False, False, False)

    spec, alone = pod(made(gpus=0, runtime_class="nvidia"))
    assert ("runtimeClassName" in spec, "env" in alone) == (False, False), "no GPU of NVIDIA's is offered there"


def test_a_pod_that_needs_no_gpu_is_not_privileged() -> None:
    one = msgspec.convert(node("gpu-1", gpus=8), KubernetesNode)
    spec, box = pod(job("j", "i", one, ARGV, image="x", seconds=1, runtime_class="nvidia", gpus=False))
    assert set(box) == {"name", "image", "command", "volumeMounts"}
    assert "hostNetwork" not in spec
    assert "runtimeClassName" not in spec


@pytest.mark.parametrize(
    "how",
    [{}, {"namespace": "gpu", "runtime_class": "crun", "selector": {"nvidia.com/gpu.count": "8"}}],
    ids=str,
)
def test_the_manifest_to_apply_by_hand_is_as_kubernetes_publishes(how: dict[str, Any]) -> None:
    claim, pods = yaml.safe_load_all(manifest("image:1", **how))
    valid(claim)
    valid(pods)
    spec = pods["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == how.get("selector", {"nvidia.com/gpu.present": "true"})
    assert spec["runtimeClassName"] == how.get("runtime_class", "nvidia")
    assert {one["metadata"].get("namespace") for one in (claim, pods)} == {how.get("namespace")}
    assert spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_on_nodes_of_another_vendor_the_manifest_asks_for_no_runtime_of_nvidia() -> None:
    text = manifest("image:1", selector={"feature.node.kubernetes.io/amd-gpu": "true"})
    _, pods = yaml.safe_load_all(text)
    assert "runtimeClassName" not in pods["spec"]["template"]["spec"]
    head = " ".join(line.strip("# ") for line in text.splitlines() if line.startswith("#"))
    assert "`kubectl get nodes -l feature.node.kubernetes.io/amd-gpu=true` lists." in head
    assert "runtimeclass" not in head
    assert "kubectl get runtimeclass nvidia" in manifest("image:1").replace("\n# ", " ")


@pytest.mark.parametrize(("ends", "code"), [(0, 0), (3, 0), (2, 1)])
def test_each_node_writes_a_report_of_its_name(ends: int, code: int, tmp_path: Path) -> None:
    program = tmp_path / "it's gpudoctor"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@"\nexit {ends}\n')
    program.chmod(0o755)
    _, pods = yaml.safe_load_all(manifest("image:1", program=(str(program),), seconds=77))
    (box,) = pods["spec"]["template"]["spec"]["initContainers"]
    names = {one["name"] for one in box["env"]}
    command = [word.replace("$(NODE_NAME)", "gpu-1") for word in box["command"]]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert ended.returncode == code
    words = ended.stdout.splitlines()
    assert words[words.index("--output") + 1] == "/reports/gpu-1.json"
    assert words[words.index("--timeout") + 1] == "77"
    assert "NODE_NAME" in names


def test_gpudoctor_takes_the_options_that_the_manifest_gives(tmp_path: Path) -> None:
    _, pods = yaml.safe_load_all(manifest("image:1", program=(sys.executable, "-m", "gpudoctor")))
    (box,) = pods["spec"]["template"]["spec"]["initContainers"]
    command = [word.replace("/reports/$(NODE_NAME)", f"{tmp_path}/gpu-1") for word in box["command"]]
    command[command.index("check") + 1 : command.index("check") + 1] = ["--quick", "--only", "driver"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "gpu-1.json").read_text().startswith("{")


def test_an_image_is_a_value_whatever_it_says() -> None:
    _, pods = yaml.safe_load_all(manifest("image:1\n  privileged: true"))
    assert pods["spec"]["template"]["spec"]["containers"][0]["image"] == "image:1\n  privileged: true"


@pytest.mark.parametrize(
    "how",
    [{"namespace": "a: b\n- c"}, {"claim": "Reports"}, {"runtime_class": "-x"}, {"selector": {"a b": "c"}}],
    ids=str,
)
def test_a_name_that_kubernetes_does_not_take_is_one_sentence(how: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match=r"^'[^\n]+' is not a valid Kubernetes (name|label)\.$"):
        manifest("image:1", **how)
