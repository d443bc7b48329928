"""Device nodes are read from CDI specifications, as nvidia-ctk writes them and as JSON."""

import json

import pytest

from gpudoctor.parsers.cdi import SpecNode, device_nodes, kind

YAML = """---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - fileMode: 438
    major: 510
    path: /dev/nvidia-uvm
    permissions: rw
  - path: /dev/nvidiactl
  hooks:
  - args:
    - nvidia-ctk
    hookName: createContainer
    path: /usr/bin/nvidia-ctk
  mounts:
  - containerPath: /usr/lib/libcuda.so.1
    hostPath: /usr/lib/libcuda.so.1
    options:
    - ro
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      hostPath: "/dev/nvidia1"
      major: 195
      minor: 1
  name: "0"
kind: nvidia.com/gpu
"""
NODES = {SpecNode("/dev/nvidia-uvm", 510), SpecNode("/dev/nvidiactl", None), SpecNode("/dev/nvidia1", 195)}
JSON = json.dumps(
    {
        "kind": "nvidia.com/gpu",
        "containerEdits": {
            "deviceNodes": [{"path": "/dev/nvidia-uvm", "major": 510}, {"path": "/dev/nvidiactl"}],
            "hooks": [{"path": "/usr/bin/nvidia-ctk"}],
        },
        "devices": [
            {"containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/dev/nvidia1", "major": 195}]}}
        ],
    }
)


OTHER_STYLE = (
    YAML.replace("  path:", '  "path":')
    .replace("major: 510", "'major': 510 # of the host")
    .replace("-uvm", "-uvm  # c")
)


@pytest.mark.parametrize("text", [YAML, JSON, OTHER_STYLE], ids=["YAML", "JSON", "other style"])
def test_device_nodes(text: str) -> None:
    assert set(device_nodes(text) or ()) == NODES
    assert kind(text) == "nvidia.com/gpu"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "a: [", '{"deviceNodes": []}', "- path: /dev/nvidia0x\n  major: 99999999999999999999999"]
)
def test_what_is_no_specification(text: str) -> None:
    nodes = device_nodes(text)
    assert nodes is not None
    assert [node.major for node in nodes if node.major] == []
    assert kind(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a":' * 100_000,
        "deviceNodes:\n- {path: /dev/nvidia-uvm, major: 511}\n",
        "deviceNodes: [{path: /dev/nvidia-uvm}]\n",
        "{deviceNodes: [{path: /dev/nvidia-uvm}]}\n",
    ],
)
def test_nodes_that_cannot_be_read_are_not_none(text: str) -> None:
    assert device_nodes(text) is None
