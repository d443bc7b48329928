"""A Kubernetes node with NVIDIA's toolkit, whose container runtime is not configured for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.cluster import IgnoredDropIn
from gpudoctor.fixes import container, toolkit_install
from gpudoctor.fixes.cluster import ALLOCATABLE, by_operator
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, known_or, phrase, phrases, text_of
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import kubernetes_nodes
from gpudoctor.queries.packages import numbers
from gpudoctor.tasks import Edit, Manual, Shell, Tasks, as_root, cmd
from gpudoctor.tasks.placeholders import CHART

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
# docs.rke2.io/add-ons/gpu_operators; the operator's own values lead to /run/containerd (NVIDIA/gpu-operator#406).
_TO_OWN_SOCKET = Fix(
    "With the GPU Operator: tell its toolkit where this containerd is, since its own values are those of the system's. "
    "Releases of k3s and RKE2 that do not look for the runtime themselves need CONTAINERD_CONFIG too: config.toml.tmpl "
    "in the directory of their config.toml.",
    (
        cmd(
            *("helm", "upgrade", "gpu-operator", "nvidia/gpu-operator", "-n", "gpu-operator", "--reuse-values"),
            *("--set", "toolkit.env[0].name=CONTAINERD_SOCKET"),
            *("--set", "toolkit.env[0].value=/run/k3s/containerd/containerd.sock"),
        ),
    ),
    "change-environment",
    needs="new pods of the operator",
    verify=ALLOCATABLE,
)
_NO_RUNTIME = "k8s-no-runtime"  # the row of symptoms*.toml
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
_UNREAD = 3  # the first version of the configuration that some releases of the toolkit cannot read
_TOO_OLD_WHY = (
    "From 2.0 on, containerd writes its configuration as version 3, with other names of plugins. The toolkit adds the "
    "nvidia runtime to that file; a release that does not know the version stops with 'unsupported config version', "
    "in the toolkit's pod as in `nvidia-ctk runtime configure`. The GPU Operator deploys the toolkit of its own "
    "release, unless its values name another (toolkit.version)."
)


def _runtime(file: IgnoredDropIn) -> str:
    return "crio" if file.path.startswith("/etc/crio/") else "containerd"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _too_old(facts):
        return (_newer_toolkit(facts),)
    own = facts.cluster.own_runtime
    if own in _OWN:
        message, tasks = _OWN[own]
        fix = Fix(message, tasks, "change-environment", root=True, needs="restart of pods", verify=ALLOCATABLE)
        return (fix, _TO_OWN_SOCKET) if own in ("k3s", "rke2") else (fix,)
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


def _too_old(facts: Facts) -> bool:
    """Whether the toolkit cannot read containerd's configuration, as its pod's log says, or else its release."""
    if isinstance(facts.cluster.toolkit_refused, str):
        return True
    first, written = container_toolkit().containerd.reads_version_3, facts.cluster.config_version
    is_newer = written is not None and written >= _UNREAD
    return is_newer and () < numbers(text_of(facts.containers.toolkit)) < numbers(first)


def _newer_toolkit(facts: Facts) -> Fix:
    first = container_toolkit().containerd.reads_version_3
    if isinstance(facts.cluster.toolkit_refused, str) or by_operator(facts):
        message = (
            "Remove toolkit.version from the GPU Operator's values, which overrides the toolkit that the operator "
            f"deploys. If they do not name it, the operator itself deploys a toolkit before {first}: upgrade it, by a "
            "newer --version."
        )
        commands: Tasks = (
            Shell("helm get values gpu-operator -n gpu-operator -o yaml > values.yaml"),
            Manual("Delete the line `version:` under `toolkit:` from values.yaml."),
            cmd(
                *("helm", "upgrade", "gpu-operator", "nvidia/gpu-operator", "-n", "gpu-operator"),
                *("--version", CHART, "-f", "values.yaml"),
            ),
        )
        return Fix(message, commands, "change-environment", needs="new pods of the operator", verify=ALLOCATABLE)
    message = f"Upgrade the NVIDIA Container Toolkit to {first} or newer, and configure containerd with it."
    upgrade = toolkit_install.toolkit_commands(facts)
    if not upgrade:
        message += f" NVIDIA's guide has this distribution's commands: {container.GUIDE}"
    return Fix(
        message,
        (*upgrade, *_CONFIGURE.tasks),
        "reinstall-package",
        root=True,
        needs="restart of containerd",
        verify=ALLOCATABLE,
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
        "https://github.com/NVIDIA/nvidia-container-toolkit/pull/862",
        "https://github.com/NVIDIA/gpu-operator/issues/2060",
        "https://github.com/NVIDIA/gpu-operator/issues/406",
        "https://docs.k3s.io/add-ons/gpu-operators",
        "https://docs.rke2.io/add-ons/gpu_operators",
        "https://docs.k0sproject.io/stable/runtime/",
    ),
    targets=kubernetes_nodes,
    caused_by=("cluster.cri-disabled", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def runtime_not_configured(facts: Facts) -> Problem | None:
    """The toolkit is installed, no file that the runtime reads names it, and there is no CDI specification."""
    log = facts.cluster.toolkit_refused
    if not may_serve(facts):
        return None
    asked = _asked_for(facts) if facts.cluster.own_runtime in _NAMES else ""
    if not isinstance(log, str) and not asked and known(facts.containers.toolkit) is None:
        return None
    if known(facts.cluster.runtime_configured) is not False:
        return None
    if "nvidia" in (known_or(facts.containers.docker_runtimes, None) or ()):
        return None  # pods run by Docker
    if isinstance(log, str):
        return _unreadable(facts)
    if facts.cluster.ignored_drop_ins:
        return _not_read(facts, facts.cluster.ignored_drop_ins[0])
    # A specification is enough for a device plugin that has found the GPUs.
    if known(facts.containers.cdi) and not isinstance(facts.cluster.plugin_blind, str):
        return None
    if _too_old(facts):
        return _unreadable(facts)
    own = facts.cluster.own_runtime
    if own in _NAMES:
        message = f"{_NAMES[own]} runs pods on this node, and its containerd is not configured for NVIDIA's runtime."
        seen = phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit), asked)
        return Problem(message, seen, _OWN_WHY, severity=Severity.ERROR)
    return Problem(
        "Kubernetes runs pods on this node, but neither the configuration of containerd or CRI-O nor a CDI "
        "specification names NVIDIA's runtime: no pod gets the GPU.",
        phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)),
        severity=Severity.ERROR,
    )


def _asked_for(facts: Facts) -> str:
    """What the kubelet logged of a pod that asks for the runtime; "" where nothing did."""
    lines = known_or(facts.services.lines, ())
    return next((one.text for one in lines if one.symptom == _NO_RUNTIME), "")


def _unreadable(facts: Facts) -> Problem:
    log, written = known_or(facts.cluster.toolkit_refused, None), facts.cluster.config_version
    is_its_own = log is None or by_operator(facts)
    release = (
        phrase(" {}", facts.containers.toolkit) if is_its_own and numbers(text_of(facts.containers.toolkit)) else ""
    )
    version = f" (version = {written})" if written is not None and written >= _UNREAD else ""
    message = (
        f"Kubernetes runs pods on this node, and the NVIDIA Container Toolkit{release} is too old to read containerd's "
        f"configuration{version}, which needs {container_toolkit().containerd.reads_version_3} or newer: it cannot add "
        "NVIDIA's runtime to it, and no pod gets the GPU."
    )
    evidence = phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit), log or "")
    return Problem(message, evidence, _TOO_OLD_WHY, severity=Severity.ERROR)


def _not_read(facts: Facts, file: IgnoredDropIn) -> Problem:
    how = f"{_CONFIG} " + (phrase("only imports {}/*.toml", file.reads) or "has no `imports`")
    if _runtime(file) == "crio":
        how = phrase("CRI-O only reads {}", file.reads)
    message = f"The nvidia runtime is configured in {file.path}, but {how}: {_runtime(file)} does not read that file."
    return Problem(message, phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)), _WHY)
