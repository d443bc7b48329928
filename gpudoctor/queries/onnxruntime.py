"""Questions about ONNX Runtime's libraries that several checks ask, answered from facts alone."""

from gpudoctor.facts import Framework, Need
from gpudoctor.knowledge import onnxruntime
from gpudoctor.queries.frameworks import rivals
from gpudoctor.queries.libraries import missing_beside_gpu
from gpudoctor.targets import OnFramework


def missing(on: OnFramework) -> tuple[Need, ...]:
    """The libraries of its CUDA provider that the loader does not find; empty where a session on the GPU was made.

    Raises:
        UnknownFactError: nobody knows what it is built for or what it needs.
    """
    return missing_beside_gpu(on.framework, on.facts)


def waits_for_program(framework: Framework) -> bool:
    """Whether all that it lacks is in installed wheels, which a program's onnxruntime.preload_dlls() loads."""
    lacking = [n for n in framework.needs if n.path is None] if isinstance(framework.needs, tuple) else []
    number = framework.version if isinstance(framework.version, str) else "0"
    return bool(lacking) and all(need.wheel for need in lacking) and onnxruntime.can_preload(number)


def packages(on: OnFramework) -> tuple[str, ...]:
    """The installed packages of which only one may be installed."""
    return rivals(on.framework, onnxruntime.exclusive())


def words(on: OnFramework) -> tuple[str, ...]:
    """The lines in which it says that the provider does not load."""
    live = on.framework.live
    lines = live.stderr.splitlines() if live else []
    return tuple(line.strip()[:400] for line in lines if "Failed" in line or "CUDA" in line)[:3]
