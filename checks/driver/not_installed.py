"""An NVIDIA GPU without any trace of NVIDIA's driver."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import cloud
from gpudoctor.fixes.driver import install_driver
from gpudoctor.maybe import known
from gpudoctor.queries.cards import card_name, computes_elsewhere, owned_by
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.wanted import chosen
from gpudoctor.targets import cards_of


@check(
    title="NVIDIA's driver is not installed",
    severity=Severity.ERROR,
    cause="CUDA needs NVIDIA's kernel module and libraries; the CUDA wheels for Python contain neither.",
    fixes=lambda facts: cloud.driver(facts, install_driver(facts)),
    references=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",),
    targets=own_kernel,
    caused_by=(
        *DEAD,
        "driver.vfio-in-the-way",
        "driver.repository-of-another-release",
        "driver.vgpu-driver-needed",
    ),
    affects=("everything",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def not_installed(facts: Facts) -> Problem | None:
    """Look for module, libraries, DKMS entries and packages: one trace is enough: it is installed."""
    kernel, cards = facts.nvidia.kernel, cards_of(facts, "nvidia")
    if not cards or known(kernel.loaded) is not None or len(owned_by(facts, "vfio-pci")) == len(cards):
        return None
    libraries = (*known(facts.nvidia.nvml.libraries), *known(facts.nvidia.cuda.libraries))
    if known(kernel.on_disk) or known(kernel.other_kernels) or any(one.kind == "driver" for one in libraries):
        return None
    if known(kernel.dkms) or _module_package(facts):
        return None
    nouveau = " The open-source driver nouveau is in use; it cannot run CUDA." if owned_by(facts, "nouveau") else ""
    message = f"{card_name(cards[0])} is present, but no part of NVIDIA's driver is installed.{nouveau}"
    # Next to another vendor's GPUs that compute, it usually drives the displays.
    if computes_elsewhere(facts):
        return Problem(message, severity=Severity.ADVICE)
    return chosen(facts, message) if nouveau and _drives_displays(facts) else Problem(message)


def _drives_displays(facts: Facts) -> bool:
    """Whether these are a desktop's or laptop's cards; those of servers have no displays (class 3D controller)."""
    return facts.host.platform == "laptop" or all(c.class_code.startswith("0300") for c in cards_of(facts, "nvidia"))


def _module_package(facts: Facts) -> bool:
    found = facts.nvidia.kernel.packages
    return isinstance(found, tuple) and any(state == "installed" for _name, _version, state in found)
