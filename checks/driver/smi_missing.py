"""The driver works, and the package with nvidia-smi is not installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.knowledge.packages import smi_packages
from gpudoctor.maybe import UnknownFactError, known, phrase
from gpudoctor.queries.driver import own_kernel
from gpudoctor.tasks import query


def _package(facts: Facts) -> str | None:
    """The package to install, by those that are installed to the end; None: of this source it is not known.

    Raises:
        UnknownFactError: it is installed, so nvidia-smi may be where nobody looked.
    """
    there = tuple(name for name, _, state in known(facts.nvidia.kernel.packages) if state == "ii")
    found = smi_packages(there)
    if here := next((name for name in found if name in there), None):
        raise UnknownFactError(f"nvidia-smi is in none of the usual directories, but {here} is installed")
    return next(iter(found), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name = _package(facts)
    message = (
        f"Install {name}, which belongs to this driver. If the package manager upgrades the driver's other packages "
        "with it, reboot."
        if name
        else "Install the driver's nvidia-smi from where the driver came: by the package of that repository that "
        "contains it, or by NVIDIA's .run file. It has to be of the driver's version."
    )
    commands = system.install(facts, name) if name else ()
    return (Fix(message, commands, "reinstall-package", root=True, verify=query("nvidia-smi")),)


@check(
    title="nvidia-smi is not installed",
    severity=Severity.WARNING,
    cause="Distributions have nvidia-smi in a package of its own, on which the packages for machines without a display "
    "(nvidia-headless) do not depend. CUDA works without it; start-up scripts, monitoring and programs that ask "
    "nvidia-smi fail or report that there is no GPU.",
    fixes=_fixes,
    references=(
        "https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/",
        "https://github.com/compiler-explorer/infra/pull/2199",
        "https://github.com/Quansight/open-gpu-server/pull/85",
    ),
    targets=own_kernel,
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def smi_missing(facts: Facts) -> Problem | None:
    """NVML works, and nvidia-smi is nowhere; the package that goes with the driver's others is not among them."""
    nvml = facts.nvidia.nvml
    if known(nvml.smi) is not None or known(nvml.smi_elsewhere) is not None or known(nvml.code) != 0:
        return None
    name = _package(facts)
    why = f": the package {name} is not installed" if name else ""
    return Problem(f"The NVIDIA driver{phrase(' {}', nvml.driver_version)} works, but there is no nvidia-smi{why}.")
