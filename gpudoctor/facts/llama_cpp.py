"""llama.cpp or whisper.cpp, installed by itself: its libraries for GPUs, and what the loader does not find for them."""

import msgspec

from gpudoctor.facts.framework import Need
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class GgmlBackend(msgspec.Struct, frozen=True, kw_only=True):
    """ggml's code for one kind of GPU."""

    kind: str  # as ggml names it: cuda, hip, sycl, vulkan
    path: str  # the library; the program itself where it is linked into it
    linked: bool  # the program does not start without what it needs; else it goes on without this backend
    missing: tuple[Need, ...] = ()  # the libraries that the loader does not find; `copies` are outside of its search
    targets: Maybe[tuple[str, ...]] = ()  # of its code for GPUs: sm_86 and compute_90 (cuda), gfx1100 (hip)
    blas: tuple[str, ...] = ()  # the targets in the names of the files of the rocBLAS that it loads (hip)


class LlamaCpp(msgspec.Struct, frozen=True, kw_only=True):
    """The first of its programs on PATH, or in the usual directory of its images."""

    program: Maybe[str | None] = NOT  # None: there is none
    backends: Maybe[tuple[GgmlBackend, ...]] = NOT  # for GPUs; empty: it is a build for the CPU
    missing: tuple[Need, ...] = ()  # the libraries of its own that the loader does not find: libllama.so
    # The libraries of the drivers that are registered for Vulkan: "libvulkan_radeon.so". None: no backend is for it.
    vulkan_drivers: Maybe[tuple[str, ...] | None] = NOT


NO_LLAMA_CPP = LlamaCpp(program=None, backends=(), vulkan_drivers=None)
