"""A toolkit that a library of this driver ends when it generates a CDI specification."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import RESTART_DOCKER
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.fixes.toolkit_install import older_toolkit
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, present
from gpudoctor.queries.containers import container_host
from gpudoctor.queries.driver import branch, user_version
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import Edit, as_root, query

_ENV = "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"
_FLAG = "disable-nvsandboxutils"
_SETTING = f"nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags={_FLAG}"
_PROOF = query("nvidia-ctk", "cdi", "list")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    rows = container_toolkit().sandboxutils
    best = best_branch(facts, at_least=rows.fixed)
    newer = (install_driver(facts, best),) if best is not None else ()
    if numbers(present(facts.containers.toolkit)) < numbers(rows.settable):
        message = f"Or go back to toolkit {rows.before}, which does not call that library, and hold it."
        return (*newer, *older_toolkit(facts, rows.before, message, RESTART_DOCKER))
    tasks = (
        as_root("nvidia-ctk", "config", "--in-place", "--set", _SETTING),
        Edit(_ENV, add=(f"NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS={_FLAG}",), root=True),
        as_root("systemctl", "restart", "nvidia-cdi-refresh.service"),
    )
    message = "Or tell the toolkit's runtime and its service not to use that library."
    return (*newer, Fix(message, tasks, "change-environment", root=True, verify=_PROOF))


@check(
    title="NVIDIA Container Toolkit crashes with this driver (libnvidia-sandboxutils): containers do not start",
    severity=Severity.WARNING,
    cause="From 1.18 on the toolkit asks libnvidia-sandboxutils for the driver's files. That library of driver 565 "
    "ends the program (free(): invalid pointer; segmentation fault in nvSandboxUtilsShutdown): `nvidia-ctk cdi "
    "generate`, the service nvidia-cdi-refresh and the runtime nvidia all fail. 570 has a good one.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1398",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1517",
        "https://github.com/NVIDIA/k8s-device-plugin/issues/1555",
    ),
    targets=container_host,
    only_with=("containers.cdi_service",),
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_generation_crashes(facts: Facts) -> Problem | None:
    """The toolkit and the driver's branch, and a service that should have generated a specification and did not."""
    rows = container_toolkit().sandboxutils
    version, driver = known(facts.containers.toolkit), user_version(facts)
    if (
        on_wsl(facts)
        or version is None
        or driver is None
        or numbers(version) < numbers(rows.since)
        or branch(driver) not in rows.branches
    ):
        return None
    if known(facts.containers.cdi_service) is not True or any("nvidia" in path for path in known(facts.containers.cdi)):
        return None
    message = (
        f"NVIDIA Container Toolkit {version} crashes with the libnvidia-sandboxutils of driver {driver}: the service "
        "nvidia-cdi-refresh is installed, and there is no CDI specification."
    )
    return Problem(message, (f"NVIDIA Container Toolkit {version}", f"driver {driver}"))
