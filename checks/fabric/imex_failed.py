"""The daemon that lets machines of one NVLink rack share memory has failed."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import own_kernel
from gpudoctor.tasks import as_root, query

_FIXES = (
    Fix(
        "Find the cause in its log: wrong node addresses in /etc/nvidia-imex/nodes_config.cfg, another driver "
        "version on another node, or a closed port are the usual ones. Then start it again on all nodes.",
        (
            query("journalctl", "-u", "nvidia-imex", "-n", "30"),
            query("tail", "-n", "30", "/var/log/nvidia-imex.log", root=True),
            query("cat", "/etc/nvidia-imex/nodes_config.cfg"),
            as_root("systemctl", "restart", "nvidia-imex"),
        ),
        "restart-process",
        root=True,
        verify=query("nvidia-imex-ctl", "-N"),
    ),
)


@check(
    title="nvidia-imex has failed (multi-node NVLink)",
    severity=Severity.WARNING,
    cause="On racks with NVLink between machines (GB200 NVL72) nvidia-imex passes memory handles from node to node. "
    "Without it programs on one node run; NCCL over NVLink between nodes fails or falls back to the network.",
    fixes=_FIXES,
    references=("https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/gettingstarted.html",),
    targets=own_kernel,
    caused_by=(*DEAD, "driver.not-loaded", "fabric.not-ready"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def imex_failed(facts: Facts) -> str | None:
    """The service has failed; one that does not run at all may run in a pod (Kubernetes' DRA driver)."""
    if not fabric.multi_node(facts) or known(facts.nvidia.kernel.imex) != "failed":
        return None
    return "The service nvidia-imex has failed, so memory cannot be shared over NVLink with the rack's other machines."
