"""CuPy."""

from gpudoctor.check_engine import Fix
from gpudoctor.families import FrameworkFamily
from gpudoctor.fixes.frameworks import reinstall_cupy
from gpudoctor.maybe import phrase, present
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    return reinstall_cupy(on.facts, on.python, present(on.framework.distribution))


def _build(on: OnFramework) -> str:
    """The distribution, whose name holds the CUDA major that it is built for."""
    return on.framework.distribution + phrase(" {}", on.framework.version) if on.framework.distribution else on.name


CUPY = FrameworkFamily(
    "cupy",
    "https://docs.cupy.dev/en/stable/install.html",
    _fitting,
    libraries=(
        "cupy.arch-missing",
        "cupy.driver-too-old",
        "cupy.headers-missing",
        "cupy.nvrtc-missing",
        "cupy.wrong-cuda-major",
    ),
    packages=("cupy.several-packages",),
    build=_build,
    lists_by_driver=True,
)
