"""NVIDIA's runtime ignores the variable by which unprivileged pods ask for GPUs, and the device plugin is one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ALLOCATABLE
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import kubernetes_nodes
from gpudoctor.tasks import Command, as_root

_NAME = "accept-nvidia-visible-devices-envvar-when-unprivileged"
_CONFIG = "/etc/nvidia-container-runtime/config.toml"
_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin"


def _set(value: str) -> Command:
    return as_root("nvidia-ctk", "config", "--in-place", "--set", f"{_NAME}={value}")


_ACCEPT = Fix(
    "Accept the variable again on this node; the device plugin gets the GPU at its next restart. Any image can then "
    "ask for all GPUs of the node. Nodes that are made from an image need the command in their user data too.",
    (_set("true"),),
    "change-environment",
    root=True,
    impact="persistent",
    undo=(_set("false"),),
    verify=ALLOCATABLE,
)
_HARDENED = Fix(
    "Keep the setting: run the device plugin's container privileged (securityContext.privileged: true), and have it "
    "pass GPUs to pods without the variable (deviceListStrategy cdi-cri; or volume-mounts, with "
    f"accept-nvidia-visible-devices-as-volume-mounts = true in {_CONFIG}). {_PLUGIN}#configuration-option-details",
    action="change-environment",
    needs="restart of the device plugin's pods",
    verify=ALLOCATABLE,
    place="outside",
)


@check(
    title="NVIDIA_VISIBLE_DEVICES is ignored in unprivileged pods: the device plugin finds no GPU",
    severity=Severity.ERROR,
    cause=f"With {_NAME} = false NVIDIA's container runtime ignores the variable NVIDIA_VISIBLE_DEVICES in containers "
    "that are not privileged. The device plugin's own pod asks for the GPUs by it, and so do pods to which the plugin "
    "passes GPUs in its default way (deviceListStrategy envvar). Without a GPU the plugin exits, and the node has no "
    "nvidia.com/gpu.",
    fixes=(_ACCEPT, _HARDENED),
    references=(
        "https://github.com/awslabs/amazon-eks-ami/issues/2706",
        "https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/internal/config/image/cuda_image.go",
        _PLUGIN,
    ),
    targets=kubernetes_nodes,
    caused_by=("cluster.runtime-not-configured", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def envvar_refused(facts: Facts) -> Problem | None:
    """The setting is off, and the plugin's log shows that it found no GPU; with CDI or mounts it is hardening."""
    if known(facts.containers.envvar_unprivileged) is not False or not may_serve(facts):
        return None
    said = known(facts.cluster.plugin_blind)
    if said is None:
        return None
    return Problem(
        f"{_NAME} is false in {_CONFIG}, and the device plugin on this node finds no GPU.",
        phrases(said, phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)),
    )
