"""Asks NVML in a child process: whether it starts, the driver's versions, and how each GPU does."""

from typing import TYPE_CHECKING, Any

import msgspec

from gpudoctor import workers
from gpudoctor.facts import DriverLibrary, Gpu, Host, Nvml
from gpudoctor.facts.text_types import Gpus, Release, Whole
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.nvidia.libraries import asked_with

if TYPE_CHECKING:
    from gpudoctor.probes.staged_child import StagedOutput

SCRIPT = "nvml.py"
TEXT, NUMBER, RELEASE = str | None | Unknown, Whole | None | Unknown, Release | None | Unknown
COUNT = Gpus | None | Unknown
_SMI_SECONDS = 5.0
_CORRUPTED_CODE = 14  # NVML_ERROR_CORRUPTED_INFOROM
_CORRUPTED = pattern(r"infoROM is corrupted at gpu ([0-9A-Fa-f:.]{12,16})")
FLAG = bool | None | Unknown
# Where nvidia-smi lies beside PATH: WSL, ordinary, GKE, the GPU operator, COS, NixOS.
SMI_FOLDERS = (
    "/usr/lib/wsl/lib",
    "/usr/bin",
    "/usr/local/bin",
    "/opt/bin",
    "/usr/local/nvidia/bin",
    "/run/nvidia/driver/usr/bin",
    "/home/kubernetes/bin/nvidia/bin",
    "/run/current-system/sw/bin",
)


def probe(
    machine: Machine, libraries: Maybe[tuple[DriverLibrary, ...]], host: Host, seconds: float | None = None
) -> tuple[Nvml, Maybe[tuple[Gpu, ...]]]:
    """Ask NVML about the driver and every GPU.

    NVML wakes a laptop's GPU that the kernel has put to sleep (runtime_status "suspended"). That is once a run,
    harmless, and the only way to learn how the GPU does; sysfs is read before by the probe of PCI.

    Args:
        machine: the machine; nothing is asked where it is not the running one.
        libraries: what `libraries.probe` found; where there is no libnvidia-ml, no child is started.
        host: WSL has no PCI devices in sysfs.
        seconds: after which it counts as hung; by default 8 and 2 more for each GPU after the first.

    Returns:
        What NVML said, and the GPUs: Unknown where NVML could not be asked. Whether there is an NVIDIA GPU at
        all is then for the PCI bus to say.
    """
    smi = machine.which("nvidia-smi")
    elsewhere = machine.which("nvidia-smi", SMI_FOLDERS) if smi is None else None
    nvml, found = _asked(machine, libraries, host, seconds)
    if smi and isinstance(found, tuple) and any(_unchecked(gpu) for gpu in found):
        found = _checked_by_smi(machine, found)
    return msgspec.structs.replace(nvml, libraries=libraries, smi=smi, smi_elsewhere=elsewhere), found


def _asked(
    machine: Machine, libraries: Maybe[tuple[DriverLibrary, ...]], host: Host, seconds: float | None
) -> tuple[Nvml, Maybe[tuple[Gpu, ...]]]:
    if not machine.here:
        why = Unknown("libraries are not loaded under another root")
        return Nvml(loaded=why, code=why, text=why, driver_version=why, cuda_version=why, count=why), why
    if libraries == ():
        return _without_library("there is no libnvidia-ml.so.1")
    from gpudoctor.probes.staged_child import ask, patience  # only where there is a library to ask

    limit = patience(machine) if seconds is None else seconds
    ours = workers.script()
    env = asked_with(machine, libraries)
    reported = ask(machine, SCRIPT, [pynvml_folder(), ours], row="gpu", seconds=limit, env=env)
    if "not_loaded" in reported.said:
        return _without_library(str(reported.said["not_loaded"]))
    return _nvml(reported), _gpus(machine, reported, host)


def _unchecked(gpu: Gpu) -> bool:
    """Whether this NVML has no function that validates the InfoROM, and the GPU keeps its broken memory there."""
    return isinstance(gpu.ecc, bool) and isinstance(gpu.inforom, Unknown) and "too old" in gpu.inforom.unknown


def _checked_by_smi(machine: Machine, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """Let nvidia-smi validate the InfoROM: it names corrupted ones and exits with 14 (nvidia-smi(1), return value)."""
    ended = machine.run(["nvidia-smi"], seconds=_SMI_SECONDS)
    named = [address.lower()[-12:] for address in _CORRUPTED.findall(ended.out)]
    if not ended.ok and not (ended.code == _CORRUPTED_CODE and named):
        return gpus
    return tuple(
        msgspec.structs.replace(gpu, inforom=gpu.address not in named) if _unchecked(gpu) else gpu for gpu in gpus
    )


def pynvml_folder() -> str:
    """The directory or zip from which `import pynvml` would come; empty: none."""
    from gpudoctor.probes.staged_child import module_folder

    return module_folder("pynvml")


def _without_library(text: str) -> tuple[Nvml, Maybe[tuple[Gpu, ...]]]:
    nvml = Nvml(loaded=None, code=None, text=text, driver_version=None, cuda_version=None, count=None)
    return nvml, Unknown(text)


def _nvml(reported: "StagedOutput") -> Nvml:
    code = reported.said.get("code")
    why = (
        f"nvmlInit failed with {code}: {reported.said.get('text')}" if isinstance(code, int) and code else reported.why
    )
    why = str(reported.said.get("no_module", why))
    return Nvml(
        loaded=_read(reported, "loaded", TEXT, why),
        code=_read(reported, "code", NUMBER, why),
        text=_read(reported, "text", TEXT, why),
        driver_version=_read(reported, "driver_version", TEXT, why),
        cuda_version=_read(reported, "cuda_version", RELEASE, why),
        count=_read(reported, "count", COUNT, why),
        confidential=_read(reported, "confidential", FLAG, why),
        accepts_work=_read(reported, "accepts_work", FLAG, why),
        hung=reported.hung,
        died=reported.died,
    )


def _gpus(machine: Machine, reported: "StagedOutput", host: Host) -> Maybe[tuple[Gpu, ...]]:
    count = _nvml(reported).count
    if isinstance(count, Unknown):
        return count
    from gpudoctor.probes.nvidia.nvml_gpus import gpus  # only where NVML has answered

    return gpus(machine, reported, count or 0, isinstance(host.wsl, int))


def _read(reported: "StagedOutput", name: str, kind: Any, why: str) -> Any:
    """One fact as its type wants it; Unknown with the reason where the child did not get so far."""
    if name not in reported.said:
        return Unknown(why)
    try:
        return msgspec.convert(reported.said[name], kind)
    except msgspec.ValidationError as error:
        return Unknown(f"invalid output of the child process: {error}")
