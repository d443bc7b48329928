"""Ollama's program and the libraries next to it: one for each kind of GPU."""

import os
from collections.abc import Iterator

from gpudoctor.facts import Host, Ollama
from gpudoctor.facts.ollama import NO_OLLAMA
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import OLLAMA_PLACES

# Where it looks for its libraries, from the directory of its program (ollama/ollama, ml/path.go, earlier
# discover/path.go), and where installers and packages put them.
_OWN = ("../lib/ollama", "lib/ollama", "build/lib/ollama")
_UNIT = "/etc/systemd/system/ollama.service"  # the installer's
_USUAL = ("/usr/local/lib/ollama", "/usr/lib/ollama", "/usr/lib64/ollama", "/usr/share/ollama/lib")
_LIBRARY = pattern(r"libggml-([a-z]+)[\w.-]*\.so[\d.]*")
_TARGET = pattern(r"TensileLibrary_lazy_(gfx\w+)\.dat")
_RUNNERS = {"cuda": "cuda", "rocm": "hip", "cpu": "cpu", "oneapi": "sycl"}
_RELEASE = pattern(r"version is (\d+(?:\.\d+)+)")
_UNASKED = Unknown("not asked: neither the CPU, nor the driver, nor a setting makes it matter")
_CUDART = pattern(r"libcudart\.so\.(12\.[0-9]{1,3})(?:\.[0-9]+)*")
_ICDS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/run/opengl-driver/share/vulkan/icd.d")


def probe(machine: Machine, host: Host, wanted: bool, quick: bool = False) -> Ollama:
    """Look at the libraries and the settings, and ask for the release where what they need depends on it.

    Args:
        machine: where to look.
        host: what machine it is.
        wanted: whether there is a GPU; the libraries are looked at only then.
        quick: do not start the program.
    """
    program = machine.which("ollama", OLLAMA_PLACES)
    if program is None:
        return NO_OLLAMA
    if not wanted:
        idle = Unknown("not looked at: there is no GPU")
        return Ollama(program=program, directory=idle, backends=idle, gfx=idle, release=idle)
    started = machine.real(program)
    places = (os.path.normpath(f"{os.path.dirname(started)}/{own}") for own in _OWN)
    directory = next((place for place in places if machine.names(place)), None)
    libraries = tuple(_libraries(machine, directory)) if directory else ()
    found = tuple(sorted({name for _, name in libraries}))
    if not found and not _is_ollama(machine, program, started):
        hidden = Unknown(f"{program} starts an Ollama that is elsewhere")
        return Ollama(program=program, directory=hidden, backends=hidden, gfx=hidden, release=hidden)
    others = (other for other in _USUAL if not directory or machine.real(other) != machine.real(directory))
    copies = (folder for other in others for folder, name in _libraries(machine, other) if name == "hip")
    from gpudoctor.probes import ollama_service  # most machines have no Ollama

    service, given = ollama_service.probe(machine)
    own = {folder for folder, name in libraries if name not in ("base", "cpu")}
    set_here = ollama_service.matters(given)
    matters = not found or set_here or ("cuda" in found and ollama_service.old_driver(machine))
    return Ollama(
        program=program,
        directory=directory if found else None,
        backends=found,
        gfx=_targets(machine, directory) if directory else (),
        service=service,
        copies=tuple(dict.fromkeys(copies)),
        release=_release(machine, program, () if matters else host.cpu_flags, quick),
        folders=tuple(sorted(os.path.basename(folder) for folder in own if folder != directory)),
        cudart=_cudart(machine, directory) if found else None,
        settings=given,
        vulkan_driver=set_here and any(n.startswith("nvidia_icd") for place in _ICDS for n in machine.names(place)),
    )


def _cudart(machine: Machine, directory: str | None) -> str | None:
    """The release of CUDA 12's runtime, which Ollama's own builds bring: lib/ollama/cuda_v12/libcudart.so.12.8.90."""
    return next((own[1] for name in machine.names(f"{directory}/cuda_v12") if (own := _CUDART.fullmatch(name))), None)


def _is_ollama(machine: Machine, program: str, started: str) -> bool:
    """Whether the file is Ollama itself: a snap's link, or a script that enters a container, has its elsewhere."""
    try:
        with machine.open(started) as file:
            is_binary = file.read(4) == b"\x7fELF"
    except OSError:
        return False
    own_name = os.path.basename(started).startswith("ollama")
    return own_name and (is_binary or f"={program} serve" in (machine.line(_UNIT) or ""))


def _libraries(machine: Machine, directory: str) -> Iterator[tuple[str, str]]:
    """The directories with libraries, each with the kind of one: next to each other, or each kind in its own."""
    names = machine.names(directory)
    for name in names:
        if found := _LIBRARY.fullmatch(name):
            yield directory, found[1]
        elif name == "runners":
            kinds = (runner.partition("_")[0] for runner in machine.names(f"{directory}/runners"))
            yield from ((f"{directory}/runners", _RUNNERS[kind]) for kind in kinds if kind in _RUNNERS)
        elif ".so" not in name:
            folder = f"{directory}/{name}"
            yield from ((folder, own[1]) for file in machine.names(folder) if (own := _LIBRARY.fullmatch(file)))


def _targets(machine: Machine, directory: str) -> tuple[str, ...]:
    """The gfx targets for which the rocBLAS that lies next to libggml-hip.so has kernels."""
    names = [name for name in machine.names(directory) if ".so" not in name]
    places = (f"{directory}/{own}rocblas/library" for own in ("", *(f"{name}/" for name in names)))
    files = (_TARGET.fullmatch(file) for place in places for file in machine.names(place))
    return tuple(sorted({found[1] for found in files if found}))


def _release(machine: Machine, program: str, flags: Maybe[tuple[str, ...] | None], quick: bool) -> Maybe[str]:
    """What the program reports; it would ask a server for that one's, so it gets an address at which none listens."""
    if isinstance(flags, Unknown):
        return flags
    if flags is None or "avx" in flags:
        return _UNASKED
    if quick:
        return Unknown("ollama was not started (--quick)")
    ended = machine.run([program, "--version"], env={**machine.env, "LC_ALL": "C", "OLLAMA_HOST": "127.0.0.1:1"})
    found = _RELEASE.findall(f"{ended.out}\n{ended.err}")
    return (
        found[-1] if found else Unknown(f"ollama --version: {ended.err.strip()[:200] or ended.missing or 'no release'}")
    )
