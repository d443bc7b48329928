"""Ollama, which brings a library for each kind of GPU next to its program."""

import msgspec

from gpudoctor.facts.text_types import Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class OllamaService(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of systemd that starts Ollama, with its drop-ins: it gets neither the user's groups nor variables."""

    user: Maybe[str | None] = NOT  # whose rights it has: "ollama"; None: systemd starts no Ollama
    groups: Maybe[tuple[Small, ...]] = NOT  # the numeric ones of that user, and those that the unit adds
    override: Maybe[str | None] = NOT  # HSA_OVERRIDE_GFX_VERSION; None: it is not set there


class Ollama(msgspec.Struct, frozen=True, kw_only=True):
    """The installed Ollama; its models are not looked at."""

    program: Maybe[str | None] = NOT  # None: not installed
    directory: Maybe[str | None] = NOT  # of its libraries: "/usr/local/lib/ollama"; None: there is none
    backends: Maybe[tuple[str, ...]] = NOT  # of that directory, as ggml names them: base, cpu, cuda, hip, vulkan
    gfx: Maybe[tuple[str, ...]] = (
        NOT  # targets of the rocBLAS next to its libggml-hip.so; empty: it has none of its own
    )
    service: OllamaService = OllamaService()
    copies: tuple[str, ...] = ()  # directories of another Ollama with libggml-hip.so
    release: Maybe[Version | None] = NOT  # asked only where the CPU has no AVX


NO_SERVICE = OllamaService(user=None, groups=(), override=None)
NO_OLLAMA = Ollama(program=None, directory=None, backends=(), gfx=(), service=NO_SERVICE, release=None)
