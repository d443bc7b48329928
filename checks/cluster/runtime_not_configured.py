"""A Kubernetes node with NVIDIA's toolkit, whose container runtime is not configured for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.cards import any_works
from gpudoctor.queries.clusters import kubernetes_nodes
from gpudoctor.tasks import as_root, query

_FIX = Fix(
    "Configure containerd for the nvidia runtime (for CRI-O: --runtime=crio, and restart crio), then restart the "
    "device plugin's pods.",
    (
        as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", "--set-as-default"),
        as_root("systemctl", "restart", "containerd"),
    ),
    "change-environment",
    root=True,
    needs="restart of containerd",
    verify=query(
        "kubectl", "get", "nodes", "-o", "custom-columns=NAME:.metadata.name,GPU:.status.allocatable.nvidia\\.com/gpu"
    ),
)


@check(
    title="containerd or CRI-O is not configured for the nvidia runtime",
    severity=Severity.WARNING,
    cause="Pods get the GPU from containerd or CRI-O, through NVIDIA's runtime or a CDI specification. Without either "
    "the device plugin's own pod sees no driver, and the node reports no nvidia.com/gpu.",
    fixes=(_FIX,),
    references=(container.GUIDE, "https://github.com/NVIDIA/k8s-device-plugin#configure-containerd"),
    targets=kubernetes_nodes,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def runtime_not_configured(facts: Facts) -> Problem | None:
    """The toolkit is installed, no file of the runtime names it, and there is no CDI specification."""
    if not any_works(facts) or known(facts.containers.toolkit) is None:
        return None
    if known(facts.cluster.runtime_configured) is not False or known(facts.containers.cdi):
        return None
    if "nvidia" in (known_or(facts.containers.docker_runtimes, None) or ()):
        return None  # pods run by Docker
    return Problem(
        "Kubernetes runs pods on this node, but neither the configuration of containerd or CRI-O nor a CDI "
        "specification names NVIDIA's runtime: no pod gets the GPU.",
        phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)),
    )
