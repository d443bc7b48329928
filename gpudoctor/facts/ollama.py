"""Ollama, which brings a library for each kind of GPU next to its program."""

import msgspec

from gpudoctor.facts.text_types import Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class OllamaSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A variable that decides which GPUs and libraries Ollama's server uses."""

    name: str  # "CUDA_VISIBLE_DEVICES"
    value: str
    path: str = ""  # the service's unit, drop-in or EnvironmentFile that sets it; empty: this environment


class OllamaService(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of systemd that starts Ollama, with its drop-ins: it gets neither the user's groups nor variables."""

    user: Maybe[str | None] = NOT  # whose rights it has: "ollama"; None: systemd starts no Ollama
    groups: Maybe[tuple[Small, ...]] = NOT  # the numeric ones of that user, and those that the unit adds


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
    release: Maybe[Version | None] = NOT  # asked only where something else than the libraries depends on it
    folders: tuple[str, ...] = ()  # of that directory, with libraries for GPUs: "cuda_v12", "vulkan"
    cudart: Version | None = None  # of the runtime for CUDA 12 that it brings: "12.8"
    settings: Maybe[tuple[OllamaSetting, ...]] = ()  # of its service; without a unit: of this environment
    vulkan_driver: bool = False  # whether NVIDIA's driver is registered for Vulkan; looked at with a setting only


NO_SERVICE = OllamaService(user=None, groups=())
NO_OLLAMA = Ollama(program=None, directory=None, backends=(), gfx=(), service=NO_SERVICE, release=None)
