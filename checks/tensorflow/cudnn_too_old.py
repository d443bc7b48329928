"""TensorFlow with a cuDNN older than the one it was compiled with."""

from gpudoctor.check_engine import Severity
from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import builds
from gpudoctor.maybe import known
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework


def _lowest(on: OnFramework) -> str | None:
    """The minor version that it was compiled with."""
    built = numbers(known(on.framework.cudnn) or "")
    return f"{built[0]}.{built[1]}" if len(built) > 1 else None


cudnn_too_old = builds.cudnn_too_old(
    TENSORFLOW,
    __name__,
    lowest=_lowest,
    severity=Severity.ERROR,
    cause="cuDNN has to be of the same major and at least of the minor version that TensorFlow was compiled with: GPUs "
    "are listed, and convolutions fail with DNN_LIBRARY not found.",
    references=(
        "https://www.tensorflow.org/install/source#gpu",
        "https://github.com/tensorflow/tensorflow/issues/60913",
    ),
    caused_by=("python.*", "libraries.shadowed-by-path", "libraries.system-cudnn-mixed"),
    validated_on=("simulated 2026-11",),
)
