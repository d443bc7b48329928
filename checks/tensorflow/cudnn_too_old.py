"""TensorFlow with a cuDNN older than the one it was compiled with."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Need
from gpudoctor.fixes.frameworks import tensorflow_verify
from gpudoctor.fixes.python import install
from gpudoctor.maybe import known, present, text_of
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import family, needs_of
from gpudoctor.queries.packages import major, numbers, wheels
from gpudoctor.targets import OnFramework, tensorflows


def _cudnn(on: OnFramework) -> Need | None:
    return next((n for n in needs_of(on.framework) if family(n.soname) == "libcudnn" and n.path), None)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    built = present(on.framework.cudnn)
    wheel = next(iter(wheels(on.python, "cudnn")), None)
    name = wheel.name if wheel else f"nvidia-cudnn-cu{present(major(text_of(on.framework.cuda)))}"
    spec = f"{name}>={built},<{(major(built) or 0) + 1}"
    message = f"Install cuDNN {built} or newer of the same major."
    return (Fix(message, (install(on.python, spec),), "reinstall-package", verify=tensorflow_verify(on.python)),)


@check(
    title="TensorFlow finds an older cuDNN than it was compiled with",
    severity=Severity.ERROR,
    cause="cuDNN has to be of the same major and at least of the minor version that TensorFlow was compiled with: GPUs "
    "are listed, and convolutions fail with DNN_LIBRARY not found.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/install/source#gpu",
        "https://github.com/tensorflow/tensorflow/issues/60913",
    ),
    targets=tensorflows,
    caused_by=("python.*", "libraries.shadowed-by-path", "libraries.system-cudnn-mixed"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def cudnn_too_old(on: OnFramework) -> Problem | None:
    """The cuDNN that the loader finds is of the same major and an older minor."""
    if known(on.framework.variant) != "cuda" or not nvidia_gpus(on.facts):
        return None
    known(on.framework.needs)
    found, built = _cudnn(on), numbers(known(on.framework.cudnn) or "")
    if found is None or found.version is None or len(built) < 2:
        return None
    there = numbers(found.version)
    if there[:1] != built[:1] or there[:2] >= built[:2]:
        return None
    wanted = present(on.framework.cudnn)
    message = f"{on.name} was compiled with cuDNN {wanted}, and finds cuDNN {found.version} in {present(found.path)}."
    live = on.framework.live
    lines = [line for line in (live.stderr.splitlines() if live else []) if "CuDNN" in line]
    return Problem(message, tuple(lines[:3]))
