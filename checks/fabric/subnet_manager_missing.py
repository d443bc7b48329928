"""The fabric manager's helper on HGX B200 and newer is not installed."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric, system
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import DEAD, VERSIONS
from gpudoctor.queries.driver import own_kernel
from gpudoctor.tasks import as_root, filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    modules = fabric.load_modules(facts)
    also = ", load the InfiniBand modules through which it reaches the switches," if modules else ""
    restart = as_root("systemctl", "restart", fabric.UNIT)
    return (
        Fix(
            f"Install {fabric.SUBNET_MANAGER} from NVIDIA's repository{also or ','} and restart the fabric manager, "
            "which starts it.",
            (*system.install(facts, fabric.SUBNET_MANAGER), *modules, restart),
            "reinstall-package",
            root=True,
            verify=filtered(query("nvidia-smi", "-q"), query("grep", "-A2", "Fabric")),
        ),
    )


@check(
    title="NVLink subnet manager (nvlsm) is missing",
    severity=Severity.ERROR,
    cause="From HGX B200 on the fabric manager reaches the NVSwitches through NVLink's subnet manager (nvlsm), a "
    "separate package. Without it the fabric is never set up, and cuInit returns 802.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
        "https://github.com/siderolabs/extensions/pull/717",
    ),
    targets=own_kernel,
    caused_by=(*DEAD, *VERSIONS, "driver.not-loaded"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def subnet_manager_missing(facts: Facts) -> str | None:
    """Where CUDA fails on such a board, with a fabric manager and without its subnet manager."""
    if not fabric.needs_subnet_manager(facts) or known(facts.nvidia.cuda.code) in (0, None):
        return None
    if facts.nvidia.kernel.fabric_manager is None:
        return None  # then the fabric manager itself is missing first
    if not isinstance(facts.nvidia.kernel.fabric_manager_version, str):
        known(facts.nvidia.kernel.fabric_manager)  # no systemd to ask, and no program
    if known(facts.nvidia.kernel.subnet_manager) is not None:
        return None
    modules = " and ".join(fabric.missing_modules(facts))
    also = f" The modules through which it reaches them ({modules}) are not loaded either." if modules else ""
    return f"nvlsm is not installed; without it {fabric.UNIT} cannot reach this board's NVSwitches.{also}"
