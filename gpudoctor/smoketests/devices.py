"""The devices on which smoke tests can run: every GPU that programs see here, and the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpudoctor.facts import CudaDevice, Facts, Gpu
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import as_gpus, cards_of, gpu_key, gpus_of


class SmokeDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device, or all GPUs of a kind.

    Attributes:
        kind: cuda, rocm, cpu.
        label: for people: "GPU 0", "GPUs 0, 1", "CPU".
        gpu: the GPU's key in the facts (gpudoctor.targets.gpu_key); None: the CPU, or several GPUs.
        name: the product's name.
        uuid: what shows this GPU alone, or these GPUs, as CUDA_VISIBLE_DEVICES; None: the environment stays as it is.
        device: its number among those that the process sees.
        count: how many devices the process may use.
        numbers: of several GPUs what each is called, in the order in which the process sees them.
        address: its PCI address.
        mig: it is a slice of a GPU.
        integrated: it is part of the CPU.
    """

    kind: str
    label: str
    gpu: str | None = None
    name: str | None = None
    uuid: str | None = None
    device: int = 0
    count: int = 1
    numbers: tuple[str, ...] = ()
    address: str | None = None
    mig: bool = False
    integrated: bool = False

    @classmethod
    def all_of(cls, targets: Sequence[SmokeDevice]) -> SmokeDevice:
        """Several devices as one; one device as it is."""
        if len(targets) == 1:
            return targets[0]
        uuids = [target.uuid for target in targets if target.uuid]
        numbers = tuple(target.label.removeprefix("GPU ") for target in targets)
        return cls(
            kind=targets[0].kind,
            label=f"GPUs {', '.join(numbers)}",
            name=targets[0].name,
            uuid=",".join(uuids) if len(uuids) == len(targets) else None,
            count=len(targets),
            numbers=numbers,
        )


def cpu() -> SmokeDevice:
    """The CPU."""
    return SmokeDevice(kind="cpu", label="CPU")


def targets(facts: Facts, chosen: Sequence[str] = ()) -> tuple[SmokeDevice, ...] | str:
    """The devices to test, or the one sentence why a chosen one cannot be.

    Args:
        facts: of the machine.
        chosen: indices, UUIDs, PCI addresses, or "cpu"; empty or "all": every GPU, without one the CPU.
    """
    gpus = (*_nvidia(facts), *_amd(facts))
    if not chosen or tuple(chosen) == ("all",):
        return tuple(_worth_it(gpus)) or (cpu(),)
    found: list[SmokeDevice] = []
    for word in chosen:
        one = cpu() if word.lower() == "cpu" else _named(gpus, word)
        if one is None:
            return f'No such GPU: "{word}". {_there(gpus)}'
        if one not in found:
            found.append(one)
    return tuple(found)


def _worth_it(gpus: Sequence[SmokeDevice]) -> Sequence[SmokeDevice]:
    """Without integrated GPUs where others are there: frameworks are seldom built for them. Chosen, they are tested."""
    return [gpu for gpu in gpus if not gpu.integrated] or gpus


def _named(gpus: Sequence[SmokeDevice], word: str) -> SmokeDevice | None:
    low = word.lower()
    for gpu in gpus:
        number = gpu.label.removeprefix("GPU ").lower()
        if low in (number, gpu.gpu, gpu.address) or (gpu.uuid and len(word) > 6 and gpu.uuid.lower().startswith(low)):
            return gpu
    return None


def _there(gpus: Sequence[SmokeDevice]) -> str:
    if not gpus:
        return "No GPU found; `--device cpu` tests the CPU."
    return f"There are {', '.join(f'{gpu.label} ({gpu.name or gpu.gpu})' for gpu in gpus)}."


# -- NVIDIA --------------------------------------------------------------------------------------------------


def _nvidia(facts: Facts) -> tuple[SmokeDevice, ...]:
    """What libcuda shows, which follows CUDA_VISIBLE_DEVICES; where it shows nothing, the first GPU there is.

    That one is tested all the same: the framework then says in its own words what it misses.
    """
    devices = facts.nvidia.cuda.devices
    listed = gpus_of(facts, "nvidia") or as_gpus("nvidia", cards_of(facts, "nvidia"))
    if isinstance(devices, tuple) and devices:
        return tuple(_cuda(device, _same(device, devices, listed)) for device in devices)
    return tuple(_silent(gpu, "cuda") for gpu in listed[:1])


def _same(device: CudaDevice, devices: Sequence[CudaDevice], gpus: Sequence[Gpu]) -> Gpu | None:
    """The GPU as NVML lists it: by address, by UUID, else by its place where both list equally many."""
    for name in ("address", "uuid"):
        found = [g for g in gpus if isinstance(getattr(g, name), str) and getattr(g, name) == getattr(device, name)]
        if found:
            return found[0]
    known = isinstance(device.address, str) or len(devices) != len(gpus)
    return None if known or not 0 <= device.index < len(gpus) else gpus[device.index]


def _cuda(device: CudaDevice, gpu: Gpu | None) -> SmokeDevice:
    uuid = device.uuid if isinstance(device.uuid, str) else None
    mig = bool(uuid and uuid.startswith("MIG-"))
    return SmokeDevice(
        kind="cuda",
        label=f"GPU {gpu.index if gpu else device.index}" + (" (MIG)" if mig else ""),
        gpu=gpu_key(gpu) if gpu else None,
        name=device.name if isinstance(device.name, str) else None,
        uuid=uuid,
        device=0 if uuid else device.index,
        address=device.address if isinstance(device.address, str) else None,
        mig=mig,
    )


def _silent(gpu: Gpu, kind: str) -> SmokeDevice:
    name, address = (fact if isinstance(fact, str) else None for fact in (gpu.name, gpu.address))
    return SmokeDevice(
        kind=kind,
        label=f"GPU {gpu.index}",
        gpu=gpu_key(gpu),
        name=name,
        address=address,
        integrated=gpu.integrated is True,
    )


# -- AMD -----------------------------------------------------------------------------------------------------


def _amd(facts: Facts) -> tuple[SmokeDevice, ...]:
    """What KFD lists and the masks leave, as HIP numbers them; where that is nothing, the first GPU there is."""
    shown = visible_amd(facts) or gpus_of(facts, "amd")[:1] or as_gpus("amd", cards_of(facts, "amd"))[:1]
    return tuple(msgspec.structs.replace(_silent(gpu, "rocm"), device=place) for place, gpu in enumerate(shown))
