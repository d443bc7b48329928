"""A fabric manager of another version than the driver."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric, hold
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.driver import not_wsl
from gpudoctor.tasks import as_root, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    version = fabric.version_of_driver(facts)
    commands = (*fabric.install(facts), as_root("systemctl", "restart", fabric.UNIT))
    message = f"Install {fabric.UNIT} in exactly the driver's version, {version}, and restart it."
    fix = Fix(message, commands, "reinstall-package", root=True, verify=query("systemctl", "status", fabric.UNIT))
    name = fabric.package(facts, version)
    return (fix, *(hold.keep_together(facts, name) if name else ()))


@check(
    title="Fabric manager and driver versions do not match",
    severity=Severity.ERROR,
    cause="nvidia-fabricmanager works only with a driver of exactly its own version; after an upgrade of one of them "
    "it refuses to start, and CUDA waits for the fabric (802).",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",),
    targets=not_wsl,
    caused_by=("driver.library-mismatch", "driver.half-upgraded"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def manager_mismatch(facts: Facts) -> str | None:
    """Compare the two versions where the board needs the manager; one that works anyway is not reported."""
    if not fabric.needs_manager(facts) or fabric.multi_node(facts) or facts.nvidia.cuda.code == 0:
        return None
    if known_or(facts.nvidia.kernel.fabric_manager, "unknown") is None:
        return None
    version, loaded = known(fabric.version_of_manager(facts)), known(facts.nvidia.kernel.loaded)
    if version is None or loaded is None or version == loaded:
        return None
    return f"nvidia-fabricmanager is {version}, the driver is {loaded}: the versions do not match."
