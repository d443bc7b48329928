"""Ollama's program and the libraries next to it: one for each kind of GPU."""

import os
from collections.abc import Iterator

from gpudoctor.facts import Host, Ollama
from gpudoctor.facts.ollama import NO_OLLAMA
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_PROGRAMS = ("/usr/local/bin", "/usr/bin")
# Where installers and packages put the libraries (ollama/ollama, discover/path.go; earlier releases: runners below).
_USUAL = ("/usr/local/lib/ollama", "/usr/lib/ollama", "/usr/lib64/ollama", "/usr/share/ollama/lib")
_LIBRARY = pattern(r"libggml-([a-z]+)[\w.-]*\.so[\d.]*")
_RUNNERS = {"cuda": "cuda", "rocm": "hip", "cpu": "cpu", "oneapi": "sycl"}
_RELEASE = pattern(r"version is (\d+(?:\.\d+)+)")
_UNASKED = Unknown("not asked: it matters only for x86-64 CPUs without AVX")


def probe(machine: Machine, host: Host, wanted: bool, quick: bool = False) -> Ollama:
    """Look at the libraries, and ask for the release where the CPU has no AVX.

    Args:
        machine: where to look.
        host: what machine it is.
        wanted: whether there is a GPU; the libraries are looked at only then.
        quick: do not start the program.
    """
    program = machine.which("ollama", _PROGRAMS)
    if program is None:
        return NO_OLLAMA
    if not wanted:
        idle = Unknown("not looked at: there is no GPU")
        return Ollama(program=program, directory=idle, backends=idle, release=idle)
    directory = f"{os.path.dirname(os.path.dirname(machine.real(program)))}/lib/ollama"
    found = tuple(sorted({name for _, name in _libraries(machine, directory)}))
    others = (other for other in _USUAL if machine.real(other) != machine.real(directory))
    copies = (folder for other in others for folder, name in _libraries(machine, other) if name == "hip")
    return Ollama(
        program=program,
        directory=directory if found else None,
        backends=found,
        copies=tuple(dict.fromkeys(copies)),
        release=_release(machine, program, host.cpu_flags, quick),
    )


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
