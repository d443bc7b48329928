"""A Kubernetes node with NVIDIA's toolkit, whose container runtime is not configured for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.cluster import IgnoredDropIn
from gpudoctor.fixes import container
from gpudoctor.fixes.cluster import ALLOCATABLE
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import kubernetes_nodes
from gpudoctor.tasks import Edit, Tasks, as_root

_CONFIGURE = Fix(
    "Configure containerd for the nvidia runtime (for CRI-O: --runtime=crio, and restart crio), then restart the "
    "device plugin's pods.",
    (
        as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", "--set-as-default"),
        as_root("systemctl", "restart", "containerd"),
    ),
    "change-environment",
    root=True,
    needs="restart of containerd",
    verify=ALLOCATABLE,
)
# Distributions of Kubernetes that bring their containerd, and how each takes up NVIDIA's runtime.
_K0S_DROP_IN = "/etc/k0s/containerd.d/nvidia.toml"
_K0S_TEXT = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
  BinaryName = "/usr/bin/nvidia-container-runtime"
"""
_FOUND_AT_START = (
    "Restart {}: it looks for NVIDIA's runtime only when it starts, and adds it to its containerd's configuration. "
    "Then let the device plugin and the pods name the RuntimeClass nvidia."
)
_OWN: dict[str, tuple[str, Tasks]] = {
    "k3s": (_FOUND_AT_START.format("k3s"), (as_root("systemctl", "restart", "k3s*"),)),
    "rke2": (_FOUND_AT_START.format("RKE2"), (as_root("systemctl", "restart", "rke2-*"),)),
    "k0s": (
        "Define the runtime nvidia in a file of k0s's containerd, and restart k0s.",
        (Edit(_K0S_DROP_IN, text=_K0S_TEXT, root=True), as_root("systemctl", "restart", "k0s*")),
    ),
    "microk8s": (
        "Enable MicroK8s's addon, which configures its containerd (releases before 1.29 call it gpu).",
        (as_root("microk8s", "enable", "nvidia"),),
    ),
}
_NAMES = {"k3s": "k3s", "rke2": "RKE2", "k0s": "k0s", "microk8s": "MicroK8s"}
_OWN_WHY = (
    "k3s, RKE2, k0s and MicroK8s bring a containerd of their own, which does not read /etc/containerd: `nvidia-ctk "
    "runtime configure` alone changes nothing there. Without NVIDIA's runtime, pods of the RuntimeClass nvidia fail "
    "with 'no "
    'runtime for "nvidia" is configured\', and the device plugin finds no GPU.'
)
_CONFIG = "/etc/containerd/config.toml"
_WHY = (
    "containerd reads config.toml and the files that its `imports` names, CRI-O those of /etc/crio/crio.conf.d. "
    "nvidia-ctk 1.18.0 wrote its drop-in for containerd to config.d instead of conf.d, and until 1.19 the one for "
    "CRI-O to /etc/crio/conf.d. Pods with the RuntimeClass nvidia fail with 'no runtime for \"nvidia\" is configured'."
)


def _runtime(file: IgnoredDropIn) -> str:
    return "crio" if file.path.startswith("/etc/crio/") else "containerd"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    own = facts.cluster.own_runtime
    if own in _OWN:
        message, tasks = _OWN[own]
        return (Fix(message, tasks, "change-environment", root=True, needs="restart of pods", verify=ALLOCATABLE),)
    if not facts.cluster.ignored_drop_ins:
        return (_CONFIGURE,)
    file = facts.cluster.ignored_drop_ins[0]
    folder, _, name = file.path.rpartition("/")
    restart = as_root("systemctl", "restart", _runtime(file))
    if file.reads is not None:
        message = f"Move the drop-in to {file.reads}, which {_runtime(file)} reads, and restart {_runtime(file)}."
        commands: Tasks = (as_root("mkdir", "-p", file.reads), as_root("mv", file.path, f"{file.reads}/"), restart)
        undo = as_root("mv", f"{file.reads}/{name}", file.path)
    else:
        message = f"Import the drop-in: add `imports` above all tables of {_CONFIG}, and restart containerd."
        line = f'imports = ["{folder}/*.toml"]'
        commands = (as_root("sed", "-i", f"1i {line}", _CONFIG), restart)
        undo = as_root("sed", "-i", "1d", _CONFIG)
    needs = f"restart of {_runtime(file)}"
    return (
        Fix(message, commands, "change-environment", root=True, needs=needs, undo=(undo, restart), verify=ALLOCATABLE),
    )


@check(
    title="containerd or CRI-O is not configured for the nvidia runtime",
    severity=Severity.WARNING,
    cause="Pods get the GPU from containerd or CRI-O, through NVIDIA's runtime or a CDI specification. Without either "
    "the device plugin's own pod sees no driver, and the node reports no nvidia.com/gpu.",
    fixes=_fixes,
    references=(
        container.GUIDE,
        "https://github.com/NVIDIA/k8s-device-plugin#configure-containerd",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1404",
        "https://github.com/NVIDIA/nvidia-container-toolkit/pull/1829",
        "https://docs.k3s.io/add-ons/gpu-operators",
        "https://docs.k0sproject.io/stable/runtime/",
    ),
    targets=kubernetes_nodes,
    caused_by=("cluster.cri-disabled", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def runtime_not_configured(facts: Facts) -> Problem | None:
    """The toolkit is installed, no file that the runtime reads names it, and there is no CDI specification."""
    if not may_serve(facts) or known(facts.containers.toolkit) is None:
        return None
    if known(facts.cluster.runtime_configured) is not False:
        return None
    if "nvidia" in (known_or(facts.containers.docker_runtimes, None) or ()):
        return None  # pods run by Docker
    if facts.cluster.ignored_drop_ins:
        return _not_read(facts, facts.cluster.ignored_drop_ins[0])
    # A specification is enough for a device plugin that has found the GPUs.
    if known(facts.containers.cdi) and not isinstance(facts.cluster.plugin_blind, str):
        return None
    own = facts.cluster.own_runtime
    if own in _NAMES:
        message = f"{_NAMES[own]} runs pods on this node, and its containerd is not configured for NVIDIA's runtime."
        toolkit = phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit))
        return Problem(message, toolkit, _OWN_WHY, severity=Severity.ERROR)
    return Problem(
        "Kubernetes runs pods on this node, but neither the configuration of containerd or CRI-O nor a CDI "
        "specification names NVIDIA's runtime: no pod gets the GPU.",
        phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)),
        severity=Severity.ERROR,
    )


def _not_read(facts: Facts, file: IgnoredDropIn) -> Problem:
    how = f"{_CONFIG} " + (phrase("only imports {}/*.toml", file.reads) or "has no `imports`")
    if _runtime(file) == "crio":
        how = phrase("CRI-O only reads {}", file.reads)
    message = f"The nvidia runtime is configured in {file.path}, but {how}: {_runtime(file)} does not read that file."
    return Problem(message, phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)), _WHY)
