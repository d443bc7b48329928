"""What psutil knows of a machine that is not Linux: its available memory, and who its processes are."""

import sys
from types import ModuleType

from gpudoctor.facts import GpuProcess
from gpudoctor.machine import SYSTEMS, Machine
from gpudoctor.maybe import Maybe, Unknown

NO_NUMBER = Unknown("Windows has no numbers for users")
NO_STATE = Unknown("Windows does not report it")


def available(machine: Machine, quick: bool) -> Maybe[int]:
    """Return the available memory in bytes.

    Args:
        machine: whose memory.
        quick: a quick check does not load psutil.
    """
    if quick:
        return Unknown("a quick check does not ask for it")
    psutil = _psutil(machine)
    if isinstance(psutil, Unknown):
        return psutil
    try:
        return int(psutil.virtual_memory().available)
    except (psutil.Error, OSError, RuntimeError) as error:
        return Unknown(f"psutil: {error}")


def process(machine: Machine, pid: int, memory: Maybe[int]) -> GpuProcess:
    """Return a process of Windows that holds a GPU.

    Args:
        machine: where it runs.
        pid: its number.
        memory: of the GPU, in bytes.
    """
    return GpuProcess(pid=pid, memory=memory, name=_name(machine, pid), user=NO_NUMBER, state=NO_STATE)


def _name(machine: Machine, pid: int) -> Maybe[str]:
    psutil = _psutil(machine)
    if isinstance(psutil, Unknown):
        return psutil
    try:
        return str(psutil.Process(pid).name())
    except (psutil.Error, OSError) as error:
        return Unknown(f"psutil: {error}")


def _psutil(machine: Machine) -> ModuleType | Unknown:
    """The module, where it looks at the machine that is checked."""
    if SYSTEMS.get(sys.platform, "Linux") != machine.system:
        return Unknown("psutil does not run on this machine")
    try:
        import psutil
    except (ImportError, NotImplementedError) as error:
        return Unknown(f"psutil cannot be imported: {error}")
    module: ModuleType = psutil
    return module
