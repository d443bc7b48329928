"""Asks libcuda.so.1 in a child process: whether cuInit succeeds, and which devices a CUDA program would see."""

from collections.abc import Mapping
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec

from gpudoctor.facts import Cuda, CudaDevice, DriverLibrary
from gpudoctor.facts.text_types import Gpus, Release, Whole
from gpudoctor.facts.validation import of_child
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.nvidia.libraries import asked_with

if TYPE_CHECKING:
    from gpudoctor.probes.staged_child import StagedOutput

SCRIPT = "cuda_driver.py"
MASK = "CUDA_VISIBLE_DEVICES"
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
TEXT, NUMBER, RELEASE = str | None | Unknown, Whole | None | Unknown, Release | None | Unknown


def probe(machine: Machine, libraries: Maybe[tuple[DriverLibrary, ...]], seconds: float | None = None) -> Cuda:
    """Ask libcuda in the examined environment, and at the same time without CUDA_VISIBLE_DEVICES where it is set.

    Args:
        machine: the machine; nothing is asked where it is not the running one.
        libraries: what `libraries.probe` found; where there is no libcuda, no child is started.
        seconds: after which it counts as hung; by default 8 and 2 more for each GPU after the first.
    """
    if not machine.here:
        return _unasked(libraries)
    if libraries == ():
        return _without_library("there is no libcuda.so.1", libraries)
    from gpudoctor.probes.staged_child import ask, patience  # only where there is a library to ask

    limit = patience(machine) if seconds is None else seconds
    env = asked_with(machine, libraries)
    unmasked: list[Maybe[int | None]] = []
    second = Thread(target=lambda: unmasked.append(_unmasked(machine, env, limit)), daemon=True)
    second.start()
    answer = _answer(ask(machine, SCRIPT, row="device", seconds=limit, env=env), libraries)
    second.join()
    return msgspec.structs.replace(answer, unmasked_code=unmasked[0] if unmasked else Unknown("the probe failed"))


def _unasked(libraries: Maybe[tuple[DriverLibrary, ...]]) -> Cuda:
    why = Unknown("libraries are not loaded under another root")
    return Cuda(
        libraries=libraries, loaded=why, code=why, name=why, text=why, version=why, devices=why, unmasked_code=why
    )


def _without_library(text: str, libraries: Maybe[tuple[DriverLibrary, ...]]) -> Cuda:
    return Cuda(
        libraries=libraries,
        loaded=None,
        code=None,
        name=None,
        text=text,
        version=None,
        devices=(),
        unmasked_code=None,
    )


def _answer(reported: "StagedOutput", libraries: Maybe[tuple[DriverLibrary, ...]]) -> Cuda:
    if "not_loaded" in reported.said:
        return _without_library(str(reported.said["not_loaded"]), libraries)
    return Cuda(
        libraries=libraries,
        loaded=_read(reported, "loaded", TEXT),
        code=_read(reported, "code", NUMBER),
        name=_read(reported, "name", TEXT),
        text=_read(reported, "text", TEXT),
        version=_read(reported, "version", RELEASE),
        devices=_devices(reported),
        hung=reported.hung,
        died=reported.died,
    )


def _unmasked(machine: Machine, env: Mapping[str, str], seconds: float) -> Maybe[int | None]:
    """The code of cuInit without the mask; a process can initialise only once, so another child asks."""
    if MASK not in env:
        return None
    from gpudoctor.probes.staged_child import ask

    bare = {name: value for name, value in env.items() if name != MASK}
    reported = ask(machine, SCRIPT, ["init"], row="device", seconds=seconds, env=bare)
    code: Maybe[int | None] = None if "not_loaded" in reported.said else _read(reported, "code", NUMBER)
    return code


def _devices(reported: "StagedOutput") -> Maybe[tuple[CudaDevice, ...]]:
    """The devices that were told of before the child ended; a list that may be cut short is unknown."""
    code, count = reported.said.get("code"), _read(reported, "count", Gpus)
    if code == NO_DEVICE:
        return ()
    if isinstance(code, int) and code != 0:
        return Unknown(f"cuInit failed with {reported.said.get('name')} ({code})")
    if isinstance(count, Unknown):
        return count
    reported_of = {row["index"]: row for row in reported.rows}
    return tuple(_device(index, reported_of.get(index), reported.why) for index in range(count))


def _device(index: int, row: dict[str, Any] | None, why: str) -> CudaDevice:
    nothing = Unknown(why)
    empty = CudaDevice(index=index, name=nothing, uuid=nothing, capability=nothing, memory=nothing, address=nothing)
    if row is None:
        return empty
    try:
        return of_child(CudaDevice, row)
    except msgspec.ValidationError as error:
        return msgspec.structs.replace(empty, name=Unknown(f"invalid output of the child process: {error}"))


def _read(reported: "StagedOutput", name: str, kind: Any) -> Any:
    """One fact as its type wants it; Unknown with the reason where the child did not get so far."""
    if name not in reported.said:
        return Unknown(reported.why)
    try:
        return msgspec.convert(reported.said[name], kind)
    except msgspec.ValidationError as error:
        return Unknown(f"invalid output of the child process: {error}")
