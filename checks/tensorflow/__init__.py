"""TensorFlow."""

from gpudoctor.check_engine import Fix
from gpudoctor.families import FrameworkFamily
from gpudoctor.fixes.frameworks import newer_tensorflow
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    return newer_tensorflow(on.facts, on.python)


TENSORFLOW = FrameworkFamily(
    "tensorflow",
    "https://www.tensorflow.org/install/pip",
    _fitting,
    libraries=(
        "tensorflow.arch-missing",
        "tensorflow.cpu-build",
        "tensorflow.cudnn-too-old",
        "tensorflow.libraries-missing",
        "tensorflow.libraries-not-found",
        "tensorflow.wrong-cuda-major",
    ),
    packages=("tensorflow.placeholder", "tensorflow.several-packages"),
)
