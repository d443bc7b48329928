"""Questions about TensorFlow's libraries that several checks ask, answered from facts alone."""

from gpudoctor.check_engine import Severity
from gpudoctor.facts import Need
from gpudoctor.lazy_regex import pattern
from gpudoctor.queries.frameworks import other_works
from gpudoctor.queries.libraries import missing_beside_gpu
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, OnLive

_TENSORRT = pattern(r"(?i)nvinfer|tensorrt|tf-trt")


def missing(on: OnFramework) -> tuple[Need, ...]:
    """The libraries of a TensorFlow for CUDA that the loader does not find; empty where it said that it uses a GPU.

    Raises:
        UnknownFactError: nobody knows what it is built for or what it needs.
    """
    return missing_beside_gpu(on.framework, on.facts)


def in_wheels(needs: tuple[Need, ...]) -> bool:
    """Whether all the missing ones lie in wheels that TensorFlow does not look into."""
    return bool(needs) and all(need.wheel is not None for need in needs)


def severity_of(on: OnFramework | OnLive) -> Severity | None:
    """Every TensorFlow for Linux is built for CUDA: beside a framework that works on the GPU it may be a by-product."""
    return Severity.WARNING if other_works(on.python, on.framework) else None


def cuda_of(on: OnFramework) -> str:
    """CUDA's major that this build needs, for people."""
    number = major(on.framework.cuda) if isinstance(on.framework.cuda, str) else None
    return f"CUDA {number}" if number else "CUDA"


def words_of_dlopen(on: OnFramework) -> tuple[str, ...]:
    """The lines in which TensorFlow says that it goes without GPU libraries; TensorRT's are of no consequence."""
    live = on.framework.live
    lines = [line.strip()[:800] for line in live.stderr.splitlines() if not _TENSORRT.search(line)] if live else []
    found = [line for line in lines if "dlopen" in line or "Could not load" in line]
    return tuple({line.partition("] ")[2] or line: line for line in found}.values())[:3]
