"""gres.conf has this node's GPUs, and slurm.conf does not give them to the node."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.cluster import SlurmNode
from gpudoctor.maybe import known, known_or, phrase, phrases, present
from gpudoctor.queries.clusters import slurm_nodes
from gpudoctor.targets import cards_of, gpus_of, in_container
from gpudoctor.tasks import Manual, Tasks, as_root, cmd, query
from gpudoctor.tasks.placeholders import NODE

_PROOF = query("scontrol", "show", "node")
# Whose GPUs AutoDetect finds; gres.conf is often one for all nodes, of which some have a CPU's own graphics alone.
_VENDORS = {"nvml": "nvidia", "nvidia": "nvidia", "rsmi": "amd"}


def _count(facts: Facts) -> int:
    """How many GPUs of the vendor that gres.conf means are here."""
    node = present(facts.cluster.slurm_node)
    vendor = _VENDORS.get(known_or(node.autodetect, None) or "nvidia")
    return len(gpus_of(facts, vendor) or cards_of(facts, vendor)) if vendor else 0


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    node, gres = present(facts.cluster.slurm_node), f"Gres=gpu:{_count(facts)}"
    pod = in_container(facts)
    types = "GresTypes=gpu" if node.gres_types is False else ""
    if pod:
        message = f"Have the pod's slurmd announce its GPUs: {gres} of its NodeSet"
        says = (
            f'In the values of Slinky\'s Helm chart give the NodeSet extraConfMap: {{Gres: ["gpu:{_count(facts)}"]}}, '
            "and its slurmd as many of the GPUs in resources.limits"
            + (', and the controller extraConfMap: {GresTypes: "gpu"}.' if types else ".")
        )
        upgrade = cmd("helm", "upgrade", "slurm", "oci://ghcr.io/slinkyproject/charts/slurm", "-n", "slurm")
        tasks: Tasks = (Manual(says), cmd(*upgrade.argv, "--reuse-values", "-f", "values.yaml"))
    elif node.dynamic:
        message = f"Add {gres} to slurmd's --conf"
        tasks = (
            Manual(
                f"Add {gres} to what --conf holds, in slurmd's options (/etc/default/slurmd, /etc/sysconfig/slurmd)."
            ),
            as_root("systemctl", "restart", "slurmd"),
        )
    else:
        message = f"Give this node {gres} in slurm.conf"
        says = f"In slurm.conf add {gres} to this node's line (NodeName=...), on every node and the controller."
        tasks = (
            Manual(says),
            as_root("systemctl", "restart", "slurmctld"),
            as_root("systemctl", "restart", "slurmd"),
            cmd("scontrol", "update", f"nodename={NODE.name}", "state=resume", placeholders=(NODE,)),
        )
    if types and not pod:
        tasks = (Manual(f"In slurm.conf add the line {types}, on every node and the controller."), *tasks)
    then = ", and slurm.conf GresTypes=gpu." if types else "."
    return (
        Fix(
            f"{message}{then} The number is that of the GPUs that slurmd finds; a type, as in gpu:h100:8, is optional.",
            tasks,
            "change-environment",
            root=not pod,
            needs="restart of the pod" if pod else "restart of slurmd",
            verify=_PROOF,
            place="outside" if pod else "here",
        ),
    )


@check(
    title="This node's GPUs are not in Slurm's configuration",
    severity=Severity.WARNING,
    cause="Slurm offers the GPUs that a node's Gres in slurm.conf names (a dynamic node's: slurmd's --conf), of the "
    "types in GresTypes. gres.conf and AutoDetect only say which devices these are: what they find beyond that is "
    "dropped, 'The following autodetected GPUs are being ignored', `scontrol show node` shows Gres=(null), and jobs "
    "with --gpus are refused: 'Requested node configuration is not available', 'Invalid generic resource (gres) "
    "specification'.",
    fixes=_fixes,
    references=(
        "https://slurm.schedmd.com/gres.html",
        "https://slurm.schedmd.com/gres.conf.html#OPT_AutoDetect",
        "https://github.com/SlinkyProject/slurm-operator/issues/57",
        "https://github.com/SlinkyProject/slurm-operator/issues/101",
        "https://github.com/SlinkyProject/slurm-operator/issues/111",
    ),
    targets=slurm_nodes,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gres_not_declared(facts: Facts) -> Problem | None:
    """gres.conf detects or lists GPUs, this machine has some, and neither GresTypes nor the node's Gres names gpu."""
    node = facts.cluster.slurm_node
    if node is None or not _count(facts) or not (node.lists_gpus or known(node.autodetect)):
        return None
    if known(node.gres_types) is False:
        return Problem(
            f"{_offers(node)}, but slurm.conf has no GresTypes=gpu: Slurm knows no GPUs, and refuses jobs that ask for "
            "them.",
            _evidence(node),
        )
    gres = known(node.gres)
    if gres is not None and "gpu" in gres.lower():
        return None
    where = "slurmd's --conf" if node.dynamic else "this node's line in slurm.conf"
    return Problem(
        f"{_offers(node)}, but {where} has no Gres=gpu: Slurm ignores the {_count(facts)} GPUs of this node, and gives "
        "them to no job.",
        _evidence(node),
    )


def _offers(node: SlurmNode) -> str:
    return "gres.conf lists this node's GPUs" if node.lists_gpus else "gres.conf has slurmd detect this node's GPUs"


def _evidence(node: SlurmNode) -> tuple[str, ...]:
    return phrases(
        phrase("{}: AutoDetect={}", node.gres_conf, node.autodetect),
        phrase("Gres={}", node.gres) or "Gres: not set",
    )
