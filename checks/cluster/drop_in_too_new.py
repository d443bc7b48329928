"""A drop-in of a newer version than containerd's own configuration: containerd does not start."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ALLOCATABLE, by_operator
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, phrase, phrases, present
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.clusters import importing_newer
from gpudoctor.queries.packages import numbers
from gpudoctor.tasks import Tasks, as_root, cmd

_CONFIG = "/etc/containerd/config.toml"
_OPERATOR = cmd(
    *("helm", "upgrade", "gpu-operator", "nvidia/gpu-operator", "-n", "gpu-operator", "--reuse-values"),
    *("--set", "toolkit.env[0].name=RUNTIME_CONFIG_SOURCE", "--set", "toolkit.env[0].value=file"),
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    path = present(facts.cluster.newer_drop_in).path
    away, restart = as_root("mv", path, f"{path}.disabled"), as_root("systemctl", "restart", "containerd")
    configure = as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", f"--config={_CONFIG}")
    with_operator = _fix(
        "With the GPU Operator: have its toolkit read the version from the file, and not from the running containerd "
        "(where the operator's values have no toolkit.env yet); then take the drop-in away on the node, and restart.",
        (_OPERATOR, away, restart),
    )
    alone = _fix(
        "Take the drop-in away, have nvidia-ctk write one of the configuration's version, and restart.",
        (away, configure, restart),
    )
    return (with_operator, alone) if by_operator(facts) else (alone, with_operator)


def _fix(message: str, tasks: Tasks) -> Fix:
    return Fix(
        message,
        tasks,
        "change-environment",
        root=True,
        needs="restart of containerd",
        impact="persistent",
        verify=ALLOCATABLE,
    )


@check(
    title="containerd rejects a drop-in of a newer version than its configuration",
    severity=Severity.ERROR,
    cause="NVIDIA's toolkit takes the version from `containerd config dump`, which shows the configuration as migrated "
    "to the newest version, and writes its drop-in in that one. containerd 2.3 merges no file that is newer than "
    "config.toml: it exits, the kubelet loses it, and the node becomes NotReady.",
    fixes=_fixes,
    references=(
        "https://github.com/containerd/containerd/pull/12891",
        "https://github.com/containerd/containerd/pull/13939",
        "https://github.com/NVIDIA/aicr/issues/1688",
    ),
    targets=importing_newer,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def drop_in_too_new(facts: Facts) -> Problem | None:
    """An import of containerd's file is of a newer version, and this release of containerd refuses that."""
    found, written = facts.cluster.newer_drop_in, facts.cluster.config_version
    if found is None or written is None or not may_serve(facts):
        return None
    first, after = container_toolkit().containerd.refuses_newer
    release = known(found.containerd)
    if not numbers(first) <= numbers(release) < numbers(after):
        return None
    message = (
        f"{found.path} is of version {found.version}, and {_CONFIG}, which imports it, is of version {written}: "
        f"containerd {release} refuses that and does not start."
    )
    return Problem(message, phrases(phrase("NVIDIA Container Toolkit {}", facts.containers.toolkit)))
