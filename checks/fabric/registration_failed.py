"""GPUs tried to join the NVLink fabric, and were rejected."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric
from gpudoctor.fixes.reset import reset
from gpudoctor.knowledge.errors import nvml_error
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import not_wsl
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = (
        "Find the cause in the fabric manager's log; after a reset of these GPUs, or a reboot of the node, they "
        "register again."
    )
    log, status = query("journalctl", "-u", fabric.UNIT, "-n", "30"), query("nvidia-smi", "-q")
    joined = filtered(status, query("grep", "-A6", "Fabric"))
    return (Fix(message, (log, joined, *reset(facts)), "reset-gpu", root=True, verify=joined),)


@check(
    title="GPUs failed to register with the NVLink fabric",
    severity=Severity.ERROR,
    cause="Each GPU of a board with NVSwitch registers with the fabric. For these the registration ended with an "
    "error, so they cannot use NVLink; CUDA may refuse to start on them.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/structnvmlGpuFabricInfo__v3__t.html",
        "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
    ),
    targets=not_wsl,
    caused_by=(*DEAD, "device.nvlink-fault", "fabric.manager-down", "fabric.manager-mismatch"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def registration_failed(facts: Facts) -> Problem | None:
    """The status counts only where the registration is completed (NVML)."""
    refused = {
        g.index: status
        for g in gpus_of(facts, "nvidia")
        if known_or(g.fabric_state, None) == "completed" and (status := known(g.fabric_status))
    }
    if not refused:
        return None
    status = next(iter(refused.values()))
    found = nvml_error(status)
    why = f"{status}, {found.meaning}" if found else str(status)
    message = f"The registration of GPU {', '.join(map(str, refused))} with the NVLink fabric failed (NVML {why})."
    return Problem(message, severity=Severity.WARNING if facts.nvidia.cuda.code == 0 else None)
