"""PaddlePaddle's CPU package on a machine with an NVIDIA GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.maybe import text_of
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.frameworks import uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import major, package
from gpudoctor.targets import OnPython, gpu_name, pythons


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    driver = major(text_of(driver_cuda(on.facts))) or 12
    index = f"https://www.paddlepaddle.org.cn/packages/stable/{'cu118' if driver < 12 else 'cu126'}/"
    message = (
        f"Replace it with paddlepaddle-gpu from Paddle's own index, if you want to use the GPU.{lasting(on.facts)}"
    )
    commands = (uninstall(on.python, "paddlepaddle"), install(on.python, "paddlepaddle-gpu", index=index))
    return (
        Fix(
            message, commands, "reinstall-package", verify=verify(on.python, "import paddle; paddle.utils.run_check()")
        ),
    )


@check(
    title="PaddlePaddle is the CPU package on a machine with a GPU",
    severity=Severity.ADVICE,
    cause="The package paddlepaddle has no CUDA support; paddlepaddle-gpu has, and its newer releases are only on "
    "Paddle's own index. PaddleOCR and others require neither by name.",
    fixes=_fixes,
    references=("https://www.paddlepaddle.org.cn/en/install/quick", "https://pypi.org/project/paddlepaddle-gpu/"),
    targets=pythons,
    caused_by=("packages.builds-overwrite",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def paddle_cpu(on: OnPython) -> Problem | None:
    """Only the CPU package, with a GPU that no framework in the environment uses."""
    found, gpus = package(on.python, "paddlepaddle"), nvidia_gpus(on.facts)
    if found is None or not gpus or package(on.python, "paddlepaddle-gpu"):
        return None
    if any(uses_gpu(f) for f in on.python.frameworks):
        return None
    return Problem(f"paddlepaddle {found.version} has no CUDA support, so {gpu_name(gpus[0])} is not used.")
