"""containerd's runtime nvidia, whose options name another program than NVIDIA's."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ALLOCATABLE
from gpudoctor.maybe import known, present
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import kubernetes_nodes
from gpudoctor.tasks import Tasks, as_root

_RESTART = as_root("systemctl", "restart", "containerd")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = present(facts.cluster.runtime_overrides)[0]
    back = as_root("mv", f"{found.path}.before", found.path)
    if found.others:
        line = rf"/^ *{re.escape(found.key)} *=/d"
        message = (
            f"Delete the line {found.key} from the runtime's options, and restart containerd. Delete it where the file "
            "is made too, or it comes back: Kubespray's containerd_additional_runtimes, the template of a node."
        )
        within = rf"/runtimes\..\?nvidia.\?\.options/,/^ *\[/{{{line}}}"  # the name may stand in quotes
        tasks: Tasks = (as_root("sed", "-i.before", within, found.path),)
    else:
        message = "Configure the runtime again, and restart containerd."
        tasks = (
            as_root("cp", found.path, f"{found.path}.before"),
            as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", f"--config={found.path}"),
        )
    return (
        Fix(
            message,
            (*tasks, _RESTART),
            "change-environment",
            root=True,
            needs="restart of containerd",
            undo=(back, _RESTART),
            verify=ALLOCATABLE,
        ),
    )


@check(
    title="The runtime nvidia of containerd runs another program than NVIDIA's",
    severity=Severity.WARNING,
    cause="The option BinaryName of a runtime says which program starts its containers. containerd takes the names of "
    "options in any letters, so of BinaryName and binaryName only one counts. Where it is runc, pods of the "
    "RuntimeClass nvidia start without the driver: 'exec: \"nvidia-smi\": executable file not found in $PATH', and "
    "the operator's toolkit-validation and device plugin fail. Only pods that get their GPUs by CDI do without it.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/gpu-operator/issues/1374",
        "https://github.com/containerd/containerd/blob/main/docs/cri/config.md",
    ),
    targets=kubernetes_nodes,
    caused_by=("cluster.cri-disabled", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def runtime_override(facts: Facts) -> Problem | None:
    """An option BinaryName of the runtime nvidia, in any letters, names a program without nvidia in its name."""
    if not may_serve(facts):
        return None
    found = next(iter(known(facts.cluster.runtime_overrides)), None)
    if found is None:
        return None
    beside = f" beside {' and '.join(found.others)}" if found.others else ""
    message = (
        f"The runtime nvidia in {found.path} has {found.key} = {found.program}{beside}: its containers are started by "
        f"{found.program.rpartition('/')[2]} and get no GPU."
    )
    return Problem(message)
