"""NVIDIA's driver is installed and no NVIDIA GPU is on the PCI bus."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.maybe import known
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.wanted import left_over
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import Edit, filtered, query

_CARD_CHANGED = (
    "The card was replaced and NVIDIA's packages stayed. They disturb nothing as long as no module is loaded."
)


# A laptop's tool that powers the GPU on does not always have the kernel look for it
# (https://github.com/utajum/g-helper-linux/issues/32; the file: Documentation/ABI/testing/sysfs-bus-pci).
_RESCAN = Fix(
    "Rescan the PCI bus: after a switch from integrated graphics the GPU can have power and not be detected yet.",
    (Edit("/sys/bus/pci/rescan", text="1\n", root=True),),
    "reload-module",
    root=True,
    verify=query("lspci", "-d", "10de:"),
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if left_over(facts):
        return (_removed(facts, "Remove NVIDIA's packages, if no NVIDIA GPU is missing here."),)
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
    if facts.host.platform == "laptop":
        return (_RESCAN, look)
    gone = _removed(facts, "If the NVIDIA GPU was removed for good: remove NVIDIA's packages.")
    return (look, *((give,) if facts.host.virtual is not None else ()), *((gone,) if gone.commands else ()))


def _removed(facts: Facts, message: str) -> Fix:
    names = tuple(dict.fromkeys(system.driver_packages(facts)))
    return Fix(
        message,
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
    validated_on=("environment 2026-11", "simulated 2026-11"),
    bearable=False,
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
    if left_over(facts):
        message += " The GPU here is another vendor's, and no program is built for CUDA: the packages are left over."
        return Problem(message, lines, _CARD_CHANGED, severity=Severity.ADVICE)
    return Problem(message, lines)
