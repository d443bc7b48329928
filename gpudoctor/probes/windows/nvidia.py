"""NVIDIA's driver on native Windows, as nvidia-smi.exe says: it comes with every driver."""

import re

from gpudoctor.facts import Cuda, Gpu, GpuProcess, Nvidia, Nvml
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import psutil_facts

# Older drivers, and those of data centres, bring it into their own folder.
PLACES = ("C:/Windows/System32/nvidia-smi.exe", "C:/Program Files/NVIDIA Corporation/NVSMI/nvidia-smi.exe")
_FIELDS = ("index", "name", "uuid", "pci.bus_id", "memory.total", "driver_version")
SECONDS = 15.0


def probe(machine: Machine, quick: bool = False) -> tuple[Nvidia, Maybe[tuple[Gpu, ...]]]:
    """Return NVIDIA's driver and GPUs; none where the driver's tool is not there.

    Args:
        machine: the machine.
        quick: a quick check does not ask who computes.
    """
    smi = machine.which("nvidia-smi") or next((path for path in PLACES if machine.exists(path)), None)
    if smi is None:
        return Nvidia(nvml=Nvml(libraries=(), code=None, smi=None), cuda=Cuda(libraries=(), code=None)), ()
    rows = _query(machine, smi, (*_FIELDS, "compute_cap"))
    if isinstance(rows, Unknown):  # drivers before 510 do not know compute_cap
        rows = _query(machine, smi, _FIELDS)
    if isinstance(rows, Unknown):
        return Nvidia(nvml=Nvml(smi=smi, text=rows.unknown)), rows
    head = re.search(r"CUDA Version: (\d+\.\d+)", machine.run([smi], SECONDS).out)
    nvml = Nvml(
        code=0,
        driver_version=rows[0][5] if rows else Unknown("nvidia-smi lists no GPU"),
        cuda_version=head[1] if head else Unknown("nvidia-smi names no CUDA version"),
        count=len(rows),
        smi=smi,
    )
    apps = Unknown("a quick check does not ask for it") if quick else _apps(machine, smi)
    return Nvidia(nvml=nvml), tuple(_gpu(row, _processes(machine, apps, row[2])) for row in rows)


def _apps(machine: Machine, smi: str) -> list[list[str]] | Unknown:
    """Who computes; nothing is printed where nobody does, and a sentence where the driver does not know it."""
    fields = ("gpu_uuid", "pid", "used_gpu_memory")
    rows = _table(machine, smi, "compute-apps", fields)
    odd = [row for row in rows if len(row) != len(fields)] if isinstance(rows, list) else []
    return Unknown(f"nvidia-smi: {', '.join(odd[0])}") if odd else rows


def _processes(machine: Machine, apps: list[list[str]] | Unknown, uuid: str) -> Maybe[tuple[GpuProcess, ...]]:
    """Who computes on a GPU; with the display's driver model (WDDM) nobody knows how much memory each holds."""
    if isinstance(apps, Unknown):
        return apps
    found = (row for row in apps if row[0] == uuid and row[1].isdigit())
    return tuple(psutil_facts.process(machine, int(row[1]), _mebibytes(row[2])) for row in found)


def _mebibytes(text: str) -> Maybe[int]:
    return int(text) << 20 if text.isdigit() else Unknown(f"nvidia-smi reports {text!r}")


def _query(machine: Machine, smi: str, fields: tuple[str, ...]) -> list[list[str]] | Unknown:
    rows = _table(machine, smi, "gpu", fields)
    return rows if isinstance(rows, Unknown) else [row for row in rows if len(row) == len(fields)]


def _table(machine: Machine, smi: str, what: str, fields: tuple[str, ...]) -> list[list[str]] | Unknown:
    ended = machine.run([smi, f"--query-{what}={','.join(fields)}", "--format=csv,noheader,nounits"], SECONDS)
    if not ended.ok:
        said = (ended.out + ended.err).strip().splitlines()
        return Unknown(f"nvidia-smi: {ended.missing or (said[0] if said else 'no response')}")
    return [[cell.strip() for cell in line.split(",")] for line in ended.out.splitlines() if line.strip()]


def _gpu(row: list[str], processes: Maybe[tuple[GpuProcess, ...]]) -> Gpu:
    capability = row[6] if len(row) > 6 and re.fullmatch(r"\d{1,2}\.\d", row[6]) else None
    address = row[3].lower()
    return Gpu(
        vendor="nvidia",
        index=int(row[0]) if row[0].isdigit() else 0,
        name=row[1],
        uuid=row[2],
        address=address[-12:] if re.fullmatch(r"[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d", address) else None,
        memory=_mebibytes(row[4]),
        capability=capability or Unknown("this driver's nvidia-smi does not report it"),
        gfx=None,
        integrated=False,
        status="ok",
        processes=processes,
    )
