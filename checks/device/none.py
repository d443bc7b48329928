"""NVIDIA's driver is installed and no NVIDIA GPU is on the PCI bus."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
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
    return Problem(message, texts(events(facts, "fallen-off-bus", "xid", "no-device-probed")))
