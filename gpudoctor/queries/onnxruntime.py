"""Questions about ONNX Runtime's libraries that several checks ask, answered from facts alone."""

from gpudoctor.facts import Need
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


def packages(on: OnFramework) -> tuple[str, ...]:
    """The installed packages of which only one may be installed."""
    return rivals(on.framework, onnxruntime.exclusive())


def words(on: OnFramework) -> tuple[str, ...]:
    """The lines in which it says that the provider does not load."""
    live = on.framework.live
    lines = live.stderr.splitlines() if live else []
    return tuple(line.strip()[:400] for line in lines if "Failed" in line or "CUDA" in line)[:3]
