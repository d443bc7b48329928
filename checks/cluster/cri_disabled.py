"""containerd's CRI plugin is off: the kubelet cannot talk to it, and nothing that is configured in it has an effect."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or, present
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import nodes_to_be
from gpudoctor.tasks import Tasks, as_root, pipe, query

_PROOF = query("crictl", "info")
_CGROUPS = "s/SystemdCgroup = false/SystemdCgroup = true/"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    path = present(facts.cluster.cri_disabled)
    kept = f"{path}.before-cri"
    toolkit = isinstance(known_or(facts.containers.toolkit, None), str)
    configure: Tasks = (
        (as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", "--set-as-default"),) if toolkit else ()
    )
    restart = as_root("systemctl", "restart", "containerd", "kubelet")
    also = ", and configure NVIDIA's runtime in it" if toolkit else ""
    message = (
        "Write containerd's default configuration, in which CRI is on, with systemd's cgroup driver, which the kubelet "
        f"uses{also}."
    )
    write = pipe(query("containerd", "config", "default"), as_root("tee", path))
    return (
        Fix(
            message,
            (as_root("cp", path, kept), write, as_root("sed", "-i", _CGROUPS, path), *configure, restart),
            "change-environment",
            root=True,
            needs="restart of containerd",
            undo=(as_root("mv", kept, path), restart),
            verify=_PROOF,
        ),
    )


@check(
    title="CRI is disabled in containerd: Kubernetes cannot start pods on this node",
    severity=Severity.ERROR,
    cause="The file that Docker's package containerd.io brings is for Docker: it turns CRI off and imports nothing. "
    "The kubelet fails with 'unknown service runtime.v1.RuntimeService', and the drop-in of `nvidia-ctk runtime "
    "configure` is not read.",
    fixes=_fixes,
    references=(
        "https://kubernetes.io/docs/setup/production-environment/container-runtimes/#containerd",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1430",
    ),
    targets=nodes_to_be,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cri_disabled(facts: Facts) -> Problem | None:
    """A kubelet is installed on a machine with a GPU, and the runtime that it would use has CRI turned off."""
    path = facts.cluster.cri_disabled
    if path is None or not may_serve(facts):
        return None
    message = f"{path} turns CRI off (disabled_plugins), and the kubelet is installed here: it finds no runtime."
    return Problem(message, severity=None if facts.cluster.kubelet is True else Severity.WARNING)  # perhaps unused
