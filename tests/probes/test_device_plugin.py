"""What the log of Kubernetes' device plugin says."""

import pytest

from gpudoctor.facts import Host
from gpudoctor.maybe import Unknown
from gpudoctor.probes import cluster
from gpudoctor.probes.device_plugin import blind, refused
from gpudoctor.recorded_machine import RecordedMachine

POD = "/var/log/pods/kube-system_nvidia-device-plugin-hx6qk_7f0b/nvidia-device-plugin-ctr"
OTHER = "/var/log/pods/kube-system_nvidia-device-plugin-ab12c_8c11/nvidia-device-plugin-ctr"
HEAD = "2026-05-06T19:35:17.044392Z stderr F "
SAID = "E0506 19:35:17.052201    9467 factory.go:113] Incompatible strategy detected auto"
BLIND = (
    f"{HEAD}I0506 19:35:17.044421    9467 main.go:332] Loading configuration.\n{HEAD}{SAID}\n"
    f"{HEAD}E0506 19:35:17.052240 main.go:177] unable to create plugin manager: invalid device discovery strategy\n"
)
WORKS = f"{HEAD}I0506 19:35:17.044421 server.go:151] Registered device plugin for 'nvidia.com/gpu' with Kubelet\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({f"{POD}/14.log": BLIND}, SAID),
        ({f"{POD}/9.log": WORKS, f"{POD}/14.log": BLIND}, SAID),  # numbers, not texts
        ({f"{POD}/9.log": BLIND, f"{POD}/14.log": WORKS}, None),
        ({f"{POD}/9.log": BLIND, f"{OTHER}/0.log": WORKS}, None),  # a pod of before that is not removed yet
        ({f"{POD}/0.log": f"{HEAD}Loading configuration.\n"}, None),
        ({f"{POD}/0.log.gz": BLIND}, None),
        ({f"{POD}/0.log": BLIND, f"{POD}/\u00b2.log": WORKS}, SAID),  # str.isdigit takes it, int does not
        ({POD.replace("nvidia-device-plugin-ctr", "toolkit-validation") + "/0.log": BLIND}, None),
        ({"/var/log/pods/amd_amdgpu-device-plugin-x_1/amdgpu-device-plugin/0.log": BLIND}, None),
        ({"/var/log/pods/ml_train-0_1/nvidia-device-plugin-ctr/0.log": BLIND}, None),
    ],
)
def test_how_the_plugin_ended(files: dict[str, str], found: str | None) -> None:
    assert blind(RecordedMachine(files)) == found


TOOLKIT = "/var/log/pods/gpu-operator_nvidia-container-toolkit-daemonset-m4t9z_6f0c/nvidia-container-toolkit-ctr"
NEXT = TOOLKIT.replace("m4t9z_6f0c", "x7k2p_8e11")
LINE = 'time="2026-01-21T12:32:09Z" level=fatal msg="Error: unable to load config: unsupported config version: 3"'
START = f'{HEAD}time="2026-01-21T12:32:09Z" level=info msg="Starting \'setup\' for containerd"\n'
REFUSED = f"{START}{HEAD}{LINE}\n"
SET_UP = f'{START}{HEAD}time="2026-01-21T12:40:09Z" level=info msg="Completed \'setup\' for containerd"\n'


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({f"{TOOLKIT}/6.log": REFUSED}, LINE),
        ({f"{TOOLKIT}/6.log": START}, None),
        ({f"{TOOLKIT}/6.log": REFUSED, f"{TOOLKIT}/7.log": SET_UP}, None),
        ({f"{TOOLKIT}/6.log": REFUSED, f"{NEXT}/0.log": SET_UP}, None),
        ({f"{TOOLKIT.replace('nvidia-container-toolkit-ctr', 'driver-validation')}/0.log": REFUSED}, None),
    ],
)
def test_how_the_toolkits_pod_ended(files: dict[str, str], found: str | None) -> None:
    assert refused(RecordedMachine(files)) == found
    host = Host(container=None, wsl=None)
    assert cluster.probe(RecordedMachine(files | {"/var/lib/kubelet/kubeconfig": ""}), host).toolkit_refused == found


def test_logs_that_cannot_be_read_are_unknown() -> None:
    path = f"{POD}/0.log"
    assert blind(RecordedMachine({path: ""}, errors={path: "EACCES"})) == Unknown(f"{path}: Permission denied")
    for folder in ("/var/log/pods", POD.rpartition("/")[0], POD):
        closed = RecordedMachine({path: BLIND}, errors={folder: "EACCES"})
        assert blind(closed) == Unknown(f"{folder} may not be listed")
    assert blind(RecordedMachine(folders=("/var/log/pods",))) is None


def test_only_a_node_is_looked_at() -> None:
    files = {f"{POD}/0.log": BLIND}
    host = Host(container=None, wsl=None)
    assert cluster.probe(RecordedMachine(files), host).plugin_blind is None
    node = RecordedMachine(files | {"/etc/kubernetes/kubelet/config.json": "{}"})
    assert cluster.probe(node, host).plugin_blind == SAID
