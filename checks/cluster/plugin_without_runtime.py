"""The device plugin's pod runs without NVIDIA's runtime, which the node has."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ALLOCATABLE
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import kubernetes_nodes
from gpudoctor.tasks import Shell, Tasks, as_root, cmd

_CLASS = """kubectl apply -f - <<'EOF'
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata:
  name: nvidia
handler: nvidia
EOF"""
_BY_CLASS: Tasks = (
    Shell(_CLASS),
    cmd(
        *("helm", "upgrade", "--install", "nvdp", "nvdp/nvidia-device-plugin", "-n", "nvidia-device-plugin"),
        *("--create-namespace", "--set", "runtimeClassName=nvidia"),
    ),
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    by_class = Fix(
        "Make a RuntimeClass for the runtime nvidia, and name it in the pods that need a GPU, the device plugin's "
        "first (runtimeClassName: nvidia; the commands are for its Helm chart, from the repository nvdp).",
        _BY_CLASS,
        "change-environment",
        needs="new pods of the device plugin",
        verify=ALLOCATABLE,
    )
    if facts.cluster.own_runtime:  # its files are written anew at each start
        return (by_class,)
    default = Fix(
        "Make NVIDIA's runtime the default one of containerd (for CRI-O: --runtime=crio, and restart crio), restart "
        "it, then delete the device plugin's pod, which starts again.",
        (
            as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", "--set-as-default"),
            as_root("systemctl", "restart", "containerd"),
        ),
        "change-environment",
        root=True,
        needs="restart of containerd",
        verify=ALLOCATABLE,
    )
    return default, by_class


@check(
    title="The device plugin's pod runs without NVIDIA's runtime",
    severity=Severity.ERROR,
    cause="containerd and CRI-O start a pod with their default runtime, mostly runc, unless the pod names a "
    "RuntimeClass. That the runtime nvidia is configured is not enough: it has to be the default one, or the device "
    "plugin and each pod with a GPU have to name it (runtimeClassName: nvidia). A runtime that was configured after "
    "containerd started is known to it only after a restart. The plugin then sees no driver, and the node offers no "
    "nvidia.com/gpu.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/k8s-device-plugin#prerequisites",
        "https://github.com/NVIDIA/k8s-device-plugin/issues/1220",
        "https://github.com/NVIDIA/k8s-device-plugin/issues/314",
        "https://kubernetes.io/docs/concepts/containers/runtime-class/",
    ),
    targets=kubernetes_nodes,
    caused_by=("cluster.*", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def plugin_without_runtime(facts: Facts) -> Problem | None:
    """The runtime is configured and the driver works, and the plugin's newest log says that it finds no GPU."""
    said = known(facts.cluster.plugin_blind)
    if said is None or not may_serve(facts) or known(facts.cluster.runtime_configured) is not True:
        return None
    return Problem(
        "The device plugin on this node finds no GPU, although the runtime nvidia is configured: its pod was started "
        "without it.",
        phrases(said, phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)),
    )
