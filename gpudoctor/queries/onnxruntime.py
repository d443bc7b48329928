"""Questions about ONNX Runtime's libraries that several checks ask, answered from facts alone."""

from gpudoctor.facts import Need
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import one_of, rivals
from gpudoctor.queries.libraries import missing_beside_gpu, needs_of
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, OnLive


def missing(on: OnFramework) -> tuple[Need, ...]:
    """The libraries of its CUDA provider that the loader does not find; empty where a session on the GPU was made.

    Raises:
        UnknownFactError: nobody knows what it is built for or what it needs.
    """
    return missing_beside_gpu(on.framework, on.facts)


def is_left_to_program(on: OnFramework | OnLive) -> bool:
    """Whether all libraries are in installed wheels, and a program has to load them by preload_dlls().

    That is how the vendor documents it, so the environment is complete:
    https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#preload-dlls
    """
    version = text_of(on.framework.version)
    able = version[:1].isdigit() and onnxruntime.can_preload(version)
    return able and _in_wheels(on)


def loads_with_torch(on: OnFramework | OnLive) -> bool:
    """Whether all libraries are in installed wheels that a program loads by importing PyTorch first."""
    torch = one_of(on.python, "torch")
    ours, theirs = on.framework.cuda, torch.cuda if torch else None
    same = isinstance(ours, str) and isinstance(theirs, str) and major(ours) == major(theirs)
    return same and _in_wheels(on)


def _in_wheels(on: OnFramework | OnLive) -> bool:
    """Whether the loader does not find libraries, all of which installed wheels contain."""
    lacking = [need for need in needs_of(on.framework) if need.path is None]
    return bool(lacking) and all(need.wheel for need in lacking)


def packages(on: OnFramework) -> tuple[str, ...]:
    """The installed packages of which only one may be installed."""
    return rivals(on.framework, onnxruntime.exclusive())


def words(on: OnFramework) -> tuple[str, ...]:
    """The lines in which it says that the provider does not load."""
    live = on.framework.live
    lines = live.stderr.splitlines() if live else []
    return tuple(line.strip()[:400] for line in lines if "Failed" in line or "CUDA" in line)[:3]
