"""Questions about ONNX Runtime's libraries that several checks ask, answered from facts alone."""

from gpudoctor.facts import Need
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import known
from gpudoctor.software import nvidia_gpus
from gpudoctor.subjects import OnFramework


def missing(on: OnFramework) -> tuple[Need, ...]:
    """The libraries of its CUDA provider that the loader does not find beside an NVIDIA GPU.

    Empty where a session on the GPU was made.

    Raises:
        UnknownFactError: nobody knows what it is built for or what it needs.
    """
    if known(on.framework.variant) != "cuda" or not nvidia_gpus(on.facts):
        return ()
    if on.framework.live is not None and on.framework.live.available is True:
        return ()
    return tuple(need for need in known(on.framework.needs) if need.path is None)


def packages(on: OnFramework) -> tuple[str, ...]:
    """The installed packages of which only one may be installed."""
    names = [on.framework.distribution, *(name for name, _ in on.framework.others)]
    return tuple(name for name in names if name in onnxruntime.exclusive())


def words(on: OnFramework) -> tuple[str, ...]:
    """The lines in which it says that the provider does not load."""
    live = on.framework.live
    lines = live.stderr.splitlines() if live else []
    return tuple(line.strip()[:400] for line in lines if "Failed" in line or "CUDA" in line)[:3]
