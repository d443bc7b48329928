"""Ollama, which brings a library for each kind of GPU next to its program."""

import msgspec

from gpudoctor.facts.text_types import Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Ollama(msgspec.Struct, frozen=True, kw_only=True):
    """The installed Ollama; its service and its models are not looked at."""

    program: Maybe[str | None] = NOT  # None: not installed
    directory: Maybe[str | None] = NOT  # of its libraries: "/usr/local/lib/ollama"; None: there is none
    backends: Maybe[tuple[str, ...]] = NOT  # of that directory, as ggml names them: base, cpu, cuda, hip, vulkan
    copies: tuple[str, ...] = ()  # directories of another Ollama with libggml-hip.so
    release: Maybe[Version | None] = NOT  # asked only where the CPU has no AVX


NO_OLLAMA = Ollama(program=None, directory=None, backends=(), release=None)
