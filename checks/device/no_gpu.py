"""No GPU at all: a failure where something asks for one; elsewhere this must not look like a working GPU."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpu_requests import GpuRequest, requests, without_gpu
from gpudoctor.targets import framework_name, in_container, machine, on_wsl
from gpudoctor.tasks import Shell, cmd, filtered, query
from gpudoctor.tasks.placeholders import REST

VIRTUAL = "To give it one: pass a GPU through to this virtual machine, or choose an instance type that has one."
LOOK = (
    "If there is a GPU in this machine: look in the firmware setup (BIOS) for a setting that disables it, then "
    "check its power cables and seating."
)
OTHER_NODE = Fix(
    "Request another node, and report this one to the cluster's administrators: the scheduler gave GPUs to a job on "
    "a node that has none.",
    (
        Shell('scontrol show node "$SLURMD_NODENAME" | grep -i gres', lookup=True),
        Shell('sbatch --exclude="$SLURMD_NODENAME" ...', placeholders=(REST,)),
    ),
    "ask-vendor",
    needs="a new job",
    verify=query("nvidia-smi", "-L"),
)
WITHOUT = Fix(
    "If no GPU is meant to be here: remove what asks for one (for example, install the framework's CPU build), or "
    "skip this check (`gpudoctor check --skip device.no-gpu`).",
    impact="none",
)
_NAMED = 3  # requests that the message names; the evidence has all
# How frameworks report a missing driver or device; anything else that they lack is another problem.
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


def _logged(facts: Facts) -> Iterator[str]:
    """The frameworks' errors about the driver or the device, with the environment where there are several."""
    for python in facts.pythons:
        where = f" in {python.path}" if len(facts.pythons) > 1 else ""
        for framework in python.frameworks:
            error = framework.live.error if framework.live else None
            if isinstance(error, str) and any(word in error.lower() for word in _SPEAKS):
                yield f"{framework_name(framework)}{where}: {error}"


def _message(facts: Facts, asked: tuple[GpuRequest, ...]) -> str:
    """What is missing, what asks for it, and what that means for the frameworks: CuPy has no CPU code."""
    where = "passed to this container" if in_container(facts) else "found on this machine"
    if asked:
        named = list(dict.fromkeys(one.what for one in asked))
        some = f"{', '.join(named[:_NAMED])} and {len(named) - _NAMED} more" if len(named) > _NAMED else _listed(named)
        who = f", but {some} ask{'s' * (len(named) == 1)} for one"
    else:
        who = ", and nothing here shows that one is expected"
    cupy = any(f.name == "cupy" for p in facts.pythons for f in p.frameworks)
    so = "frameworks run on the CPU" + (", and CuPy, which needs a GPU, does not run" if cupy else "")
    return f"No GPU is {where}{who}: {so}."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    asked = requests(facts)
    return (*_give(facts, asked), *((WITHOUT,) if asked else ()))


def _give(facts: Facts, asked: tuple[GpuRequest, ...]) -> tuple[Fix, ...]:
    """How this kind of machine gets a GPU."""
    if facts.host.system == "Windows":
        message = "If there is a GPU in this machine: look for it in Device Manager, under Display adapters."
        return (Fix(message, (cmd("devmgmt.msc"),), impact="none"),)
    if in_container(facts):
        return _passed(facts, {one.vendor for one in asked})
    if known_or(facts.cluster.granted, None):
        return (OTHER_NODE,)
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


def _passed(facts: Facts, vendors: set[str | None]) -> tuple[Fix, ...]:
    """How this container's engine passes GPUs in: those of the vendor that is asked for, else NVIDIA's and AMD's."""
    from gpudoctor.fixes import (  # imported for containers alone: all else reads this check in each run
        amd_container,
        container,
    )

    if "amd" in vendors and "nvidia" not in vendors:
        return amd_container.pass_devices(facts)
    nvidia = container.pass_gpus(facts)
    if "nvidia" in vendors or on_wsl(facts):  # WSL has no /dev/kfd that could be passed
        return nvidia
    return (nvidia[0], *amd_container.pass_devices(facts))


@check(
    title="No GPU found",
    severity=Severity.ERROR,
    cause="Neither the PCI bus nor a driver shows an NVIDIA, AMD or Intel GPU: there is none, or it is switched off, "
    "not seated, or not passed to this virtual machine or container. It is a failure only where something asks for "
    "a GPU.",
    fixes=_fixes,
    references=("https://docs.kernel.org/PCI/sysfs-pci.html",),
    targets=machine,
    caused_by=("device.*", "driver.*", "container.*", "wsl.*", "rocm.*", "cloud.*", "cluster.*"),
    affects=("everything",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    essential=True,
    linux_alone=False,
)
def no_gpu(facts: Facts) -> Problem | None:
    """No GPU on PCI, none that a driver lists, none passed to this container, and none from Windows."""
    if not without_gpu(facts):
        return None
    asked = requests(facts)
    severity = Severity.ERROR if asked else Severity.ADVICE
    return Problem(_message(facts, asked), (*(one.why for one in asked), *_logged(facts)), severity=severity)
