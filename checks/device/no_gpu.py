"""No GPU at all: nothing is wrong with a CPU-only server, but nobody should take its silence for a working GPU."""

from collections.abc import Iterator

from gpudoctor.facts import Facts
from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.subjects import asked_for_nvidia, cards_of, framework_name, gpus_of, has_dxg, in_container, machine
from gpudoctor.tasks import cmd, filtered, query
from gpudoctor.tasks.blanks import IMAGE

VIRTUAL = "Pass a GPU through to this virtual machine, or choose an instance type that has one."
LOOK = (
    "If there is a GPU in this machine: look in the firmware's set-up (BIOS) for a setting that disables it, then "
    "check its power cables and seating."
)
# How frameworks say that they miss a driver or a device; what else they lack is a problem of its own.
_SPEAKS = (
    "driver",
    "libcuda.so",
    "no cuda-capable device",
    "no_device",
    "nodevice",
    "no devices",
    "no supported device",
    "no cuda gpus",
    "no hip gpus",
    "cuinit",
)


def _said(facts: Facts) -> Iterator[str]:
    """What frameworks said of the driver or the device, with the environment where there are several."""
    for python in facts.pythons:
        where = f" in {python.path}" if len(facts.pythons) > 1 else ""
        for framework in python.frameworks:
            error = framework.live.error if framework.live else None
            if isinstance(error, str) and any(word in error.lower() for word in _SPEAKS):
                yield f"{framework_name(framework)}{where}: {error}"


def _so(facts: Facts) -> str:
    """What that means for the frameworks: CuPy has no code for CPUs."""
    cupy = any(f.name == "cupy" for p in facts.pythons for f in p.frameworks)
    return "frameworks run on the CPU" + (", and CuPy, which needs a GPU, does not run" if cupy else "")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if facts.host.system == "Windows":
        says = "If there is a GPU in this machine: look for it in the Device Manager, under Display adapters."
        return (Fix(says, (cmd("devmgmt.msc"),), impact="none"),)
    if in_container(facts):
        says = "If the host has a GPU: give it to the container when it starts."
        commands = (
            cmd("docker", "run", "--gpus", "all", IMAGE, note="NVIDIA"),
            cmd("docker", "run", "--device", "/dev/kfd", "--device", "/dev/dri", IMAGE, note="AMD"),
        )
        return (Fix(says, commands, "change-environment", needs="a new container"),)
    if isinstance(facts.host.virtual, str):
        return (Fix(VIRTUAL, (), "ask-vendor", needs="reboot"),)
    return (
        Fix(
            LOOK,
            (filtered(query("lspci", "-nn"), query("grep", "-Ei", "vga|3d|display")),),
            "power-cycle",
            needs="reboot",
        ),
    )


@check(
    title="No GPU was found",
    severity=Severity.ADVICE,
    cause="Neither the PCI bus nor a driver shows an NVIDIA, AMD or Intel GPU: there is none, or it is switched off, "
    "not seated, or not passed to this virtual machine or container. Frameworks then run on the CPU; CuPy does not.",
    fixes=_fixes,
    references=("https://docs.kernel.org/PCI/sysfs-pci.html",),
    each=machine,
    because=("device.*", "driver.*", "container.*", "wsl.*", "rocm.*", "cloud.*", "cluster.*"),
    affects=("everything",),
    seen=("hardware 2026-11: a server without a GPU",),
    essential=True,
)
def no_gpu(facts: Facts) -> Problem | None:
    """No GPU on PCI, none that a driver lists, and none that comes from a Windows host; every Mac has one."""
    if facts.host.system == "Darwin":
        return None
    if gpus_of(facts) or has_dxg(facts) or facts.nvidia.cuda.code == 0 or facts.host.platform == "jetson":
        return None
    known(facts.pci)
    if any(cards_of(facts, vendor) for vendor in ("nvidia", "amd", "intel")) or asked_for_nvidia(facts):
        return None
    where = "passed to this container" if in_container(facts) else "found on this machine"
    return Problem(f"No GPU is {where}, so {_so(facts)}.", tuple(_said(facts)))
