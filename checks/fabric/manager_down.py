"""A board with NVSwitch and no fabric manager that has set the switches up."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import in_runs
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric
from gpudoctor.maybe import Unknown, known, phrase
from gpudoctor.queries.cause_groups import DEAD, VERSIONS
from gpudoctor.queries.driver import CUDA_NOT_READY, not_wsl
from gpudoctor.targets import in_container


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return fabric.start(facts)


@check(
    title="The fabric manager is not running (nvidia-fabricmanager)",
    severity=Severity.ERROR,
    cause="On boards with NVSwitch the GPUs join the NVLink fabric only after nvidia-fabricmanager has set it up. "
    "Until then cuInit returns 802 (system not yet initialized), while nvidia-smi looks healthy.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
        "https://github.com/wilicc/gpu-burn/issues/92",
    ),
    targets=not_wsl,
    caused_by=(
        *DEAD,
        *VERSIONS,
        "driver.not-loaded",
        "fabric.manager-mismatch",
        "fabric.subnet-manager-missing",
        "device.confidential-not-ready",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def manager_down(facts: Facts) -> Problem | None:
    """CUDA waits, the board needs the manager, and systemd reports that it is not active."""
    if not fabric.needs_manager(facts) or fabric.multi_node(facts) or fabric.switches_elsewhere(facts):
        return None  # a controller's or the host's matter: fabric.not-ready reports it
    waits = [g.index for g in fabric.waiting(facts)]
    code = known(facts.nvidia.cuda.code)
    if code in (0, None) or (code != CUDA_NOT_READY and not waits):
        return None
    state = facts.nvidia.kernel.fabric_manager
    if isinstance(state, Unknown) and in_container(facts):
        return None  # the host's, too
    running = known(state)
    if running in ("active", "reloading", "activating"):
        return None
    word = {None: "is not installed", "failed": "has failed"}.get(running, phrase("is {}", running))
    who = f"GPU {waits[0]} waits" if len(waits) == 1 else f"GPUs {in_runs(waits)} wait"
    which = f" {who} for the fabric." if waits else ""
    missing = fabric.missing_modules(facts)
    also = f" The modules {' and '.join(missing)}, which it needs on this board, are not loaded." if missing else ""
    message = f"nvidia-fabricmanager {word}, and this board's GPUs need it (cuInit {code}).{which}{also}"
    return Problem(message, (f"systemctl is-active nvidia-fabricmanager: {running}",) if running else ())
