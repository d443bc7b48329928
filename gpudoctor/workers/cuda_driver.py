"""Asks libcuda.so.1 whether it starts and which devices it lists, a JSON line a step; it makes no context.

It runs in a child, because cuInit can hang or crash. Standard library only, Python 3.8 and newer.
cuInit may run the driver's own nvidia-modprobe, as it does for every CUDA program; nothing else is changed.

    cuda_driver.py [init]    with "init" it stops after cuInit
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

TYPE_CHECKING = False  # typing itself is not imported: that would cost more than asking
if TYPE_CHECKING:
    from typing import Any, TextIO

# CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR,
# https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
MAJOR, MINOR = 75, 76


def private_output() -> TextIO:
    """Return a stream on the old stdout; what the library prints goes to stderr from now on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def say(**facts: object) -> None:
    """Write one line at once, so that it outlives a hang."""
    CHANNEL.write(json.dumps(facts) + "\n")
    CHANNEL.flush()


def unknown(why: str) -> dict[str, str]:
    """An Unknown in JSON."""
    return {"unknown": why}


def mapped() -> object:
    """The file of libcuda that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            path = line.rstrip("\n").partition("/")[2]
            if path.rsplit("/", 1)[-1].startswith("libcuda.so"):
                return "/" + path
    return unknown("libcuda.so is not in /proc/self/maps")


def symbol(lib: ctypes.CDLL, *names: str) -> Any:
    """The first of these functions that the library has; None where it is too old for all."""
    for name in names:
        try:
            return getattr(lib, name)
        except AttributeError:
            pass
    return None


def error(lib: ctypes.CDLL, code: int, which: str) -> object:
    """What cuGetErrorName or cuGetErrorString answers for a code."""
    ask, words = symbol(lib, which), ctypes.c_char_p()
    if ask is None or ask(code, ctypes.byref(words)) != 0 or words.value is None:
        return unknown("%s does not know error code %d" % (which, code))
    return words.value.decode("utf-8", "replace")


def why_not(lib: ctypes.CDLL, name: str, code: int) -> dict[str, str]:
    """An Unknown that names the function and its error."""
    words = error(lib, code, "cuGetErrorName")
    return unknown("%s: %s" % (name, words if isinstance(words, str) else "error %d" % code))


def call(lib: ctypes.CDLL, names: tuple[str, ...], result: Any, *arguments: Any) -> dict[str, str] | None:
    """Call a function that writes its answer to `result`; return None, or why it gave no answer."""
    ask = symbol(lib, *names)
    if ask is None:
        return unknown("this libcuda has no %s" % names[0])
    code = ask(result, *arguments)
    return why_not(lib, names[0], code) if code else None


def number(lib: ctypes.CDLL, names: tuple[str, ...], kind: Any, *arguments: Any) -> Any:
    """The number that a function gives, or why it gives none."""
    value = kind()
    return call(lib, names, ctypes.byref(value), *arguments) or value.value


def words(lib: ctypes.CDLL, name: str, device: int) -> Any:
    """The text that a function gives, or why it gives none."""
    text = ctypes.create_string_buffer(256)
    return call(lib, (name,), text, len(text), device) or text.value.decode("utf-8", "replace")


def version(lib: ctypes.CDLL) -> object:
    """The driver's CUDA version: 12040 is "12.4"."""
    value = number(lib, ("cuDriverGetVersion",), ctypes.c_int)
    return "%d.%d" % (value // 1000, value % 1000 // 10) if isinstance(value, int) else value


def capability(lib: ctypes.CDLL, device: int) -> object:
    """The compute capability: "8.6"."""
    parts = [number(lib, ("cuDeviceGetAttribute",), ctypes.c_int, which, device) for which in (MAJOR, MINOR)]
    strange = [part for part in parts if not isinstance(part, int)]
    return strange[0] if strange else "%d.%d" % tuple(parts)


def uuid(lib: ctypes.CDLL, device: int, name: object) -> object:
    """The UUID as nvidia-smi writes it; a MIG instance, which its name tells, has another prefix."""
    raw = (ctypes.c_ubyte * 16)()
    missing = call(lib, ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"), raw, device)
    if missing:
        return missing
    text = bytes(raw).hex()
    kind = "MIG" if isinstance(name, str) and " MIG " in name else "GPU"
    return "-".join([kind, text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def device(lib: ctypes.CDLL, index: int) -> dict[str, object]:
    """Everything that libcuda says of one device without a context."""
    found = number(lib, ("cuDeviceGet",), ctypes.c_int, index)
    if not isinstance(found, int):
        return dict.fromkeys(("name", "uuid", "capability", "memory", "address"), found)
    name, address = words(lib, "cuDeviceGetName", found), words(lib, "cuDeviceGetPCIBusId", found)
    return {
        "name": name,
        "uuid": uuid(lib, found, name),
        "capability": capability(lib, found),
        "memory": number(lib, ("cuDeviceTotalMem_v2", "cuDeviceTotalMem"), ctypes.c_size_t, found),
        "address": address.lower() if isinstance(address, str) else address,
    }


def initialise(lib: ctypes.CDLL) -> bool:
    """Call cuInit and say what it returned; whether it succeeded."""
    say(stage="init")
    init = symbol(lib, "cuInit")
    if init is None:
        say(code=unknown("this libcuda has no cuInit"))
        return False
    code: int = init(0)
    say(code=code, name=error(lib, code, "cuGetErrorName"), text=error(lib, code, "cuGetErrorString"))
    return code == 0


def ask(only_init: bool) -> None:
    """Take all stages one after the other."""
    say(stage="load")
    try:
        lib = ctypes.CDLL("libcuda.so.1")
    except OSError as problem:
        say(not_loaded=str(problem))
        return
    say(loaded=mapped())
    say(stage="version")
    say(version=version(lib))
    if not initialise(lib) or only_init:
        return
    say(stage="count")
    count = number(lib, ("cuDeviceGetCount",), ctypes.c_int)
    say(count=count)
    for index in range(count) if isinstance(count, int) else ():
        say(stage="device %d" % index)
        say(device=dict(device(lib, index), index=index))


if __name__ == "__main__":
    CHANNEL = private_output()
    ask("init" in sys.argv[1:])
    say(stage="done")
    os._exit(0)  # without the driver's own tidying, which can hang too
