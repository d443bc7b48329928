"""Questions about CuPy's libraries that several checks ask, answered from facts alone."""

from gpudoctor.facts import Need
from gpudoctor.knowledge import cupy
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import rivals
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import family
from gpudoctor.targets import OnFramework


def on_nvidia(on: OnFramework) -> bool:
    """Whether this CuPy is for CUDA and an NVIDIA GPU is there.

    Raises:
        UnknownFactError: nobody knows what it is built for.
    """
    return known(on.framework.variant) == "cuda" and bool(nvidia_gpus(on.facts))


def missing(on: OnFramework) -> tuple[Need, ...]:
    """The libraries that CuPy opens by name and the loader does not find.

    Raises:
        UnknownFactError: nobody knows what it needs.
    """
    return tuple(need for need in known(on.framework.needs) if need.path is None) if on_nvidia(on) else ()


def nvrtc(on: OnFramework) -> Need | None:
    """CUDA's run-time compiler, which CuPy needs for almost everything.

    Raises:
        UnknownFactError: nobody knows what it needs.
    """
    return next((need for need in known(on.framework.needs) if family(need.soname) == "libnvrtc"), None)


def packages(on: OnFramework) -> tuple[str, ...]:
    """The installed packages of which only one may be installed."""
    return rivals(on.framework, cupy.exclusive())
