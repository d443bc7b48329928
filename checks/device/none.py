"""NVIDIA's driver is installed and no NVIDIA GPU is on the PCI bus."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.maybe import known
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.intel import discrete
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import filtered, query

_CARD_CHANGED = (
    "The card was replaced and NVIDIA's packages stayed. They disturb nothing as long as no module is loaded."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _left_over(facts):
        return (_removed(facts),)
    switch = "the firmware setup (BIOS) for a setting that disables it, or a graphics mode such as integrated only"
    message = f"Check {switch}; then check power cables and seating, shut down, and cold-boot."
    look = Fix(
        message,
        (filtered(query("lspci", "-nn"), query("grep", "-i", "nvidia")),),
        "power-cycle",
        needs="reboot",
        verify=query("lspci", "-d", "10de:"),
    )
    message = "Pass a GPU through to this virtual machine (or choose an instance type with one), and start it again."
    give = Fix(message, (), "ask-vendor", needs="reboot", verify=query("lspci", "-d", "10de:"))
    if hypervisor(facts):
        return (give,)
    return (look,) if facts.host.virtual is None or facts.host.platform == "laptop" else (look, give)


def _removed(facts: Facts) -> Fix:
    names = tuple(dict.fromkeys(system.driver_packages(facts)))
    return Fix(
        "Remove NVIDIA's packages, if no NVIDIA GPU is missing here.",
        system.remove(facts, *names) if names else (),
        "reinstall-package",
        root=True,
        undo=system.install(facts, *names) if names else (),
        verify=query("lspci", "-nn"),
    )


@check(
    title="No NVIDIA GPU on the PCI bus",
    severity=Severity.WARNING,
    cause="The driver is installed, but no NVIDIA device responds on the bus: there is none, the firmware disables "
    "it, it has no power, it fell off, or the hypervisor passes none through.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",),
    targets=own_kernel,
    caused_by=(
        "device.switched-off",
        "device.fallen-off-the-bus",
        "device.thunderbolt-unauthorized",
        "cloud.fewer-gpus",
        "cloud.instance-without-gpu",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def none(facts: Facts) -> Problem | None:
    """No NVIDIA card on PCI and none that the driver lists; boards whose GPU is no PCI device do not count."""
    if known(facts.pci) and cards_of(facts, "nvidia"):
        return None
    if gpus_of(facts, "nvidia") or facts.host.platform == "jetson" or facts.nvidia.cuda.code == 0:
        return None
    if known(facts.nvidia.kernel.loaded) is not None:
        return None
    message = "NVIDIA's driver is installed, but no NVIDIA GPU is on the PCI bus."
    lines = texts(events(facts, "fallen-off-bus", "xid", "no-device-probed"))
    if _left_over(facts):
        message += " The GPU here is another vendor's, and no program is built for CUDA: the packages are left over."
        return Problem(message, lines, _CARD_CHANGED, severity=Severity.ADVICE)
    return Problem(message, lines)


def _left_over(facts: Facts) -> bool:
    """Whether a discrete GPU of another vendor is driven here, and neither the log nor a framework asks for NVIDIA's.

    An integrated GPU says nothing: next to it, the NVIDIA card may be what is missing.
    """
    amd = any(card.integrated is False and card.driver == "amdgpu" for card in cards_of(facts, "amd"))
    driven = amd or any(card.driver in ("i915", "xe") for card in discrete(facts))
    laptop = facts.host.platform == "laptop"  # whose NVIDIA GPU is switched off, or cut from power
    return driven and not laptop and not has_cuda_wheel(facts) and not events(facts, "fallen-off-bus", "xid")
