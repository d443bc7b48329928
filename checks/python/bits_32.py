"""A 32-bit Python on a machine with a GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import cmd


@check(
    title="Python is 32-bit",
    severity=Severity.WARNING,
    cause="PyTorch, TensorFlow, JAX and CuPy are built for 64-bit Python only: pip finds no version of them here.",
    fixes=(
        Fix(
            "Install a 64-bit Python and create a new environment with it.",
            action="reinstall-package",
            verify=cmd("python", "-c", "import sys; print(sys.maxsize > 2**32)"),
        ),
    ),
    references=("https://pypi.org/project/torch/#files", "https://www.tensorflow.org/install/pip"),
    targets=pythons,
    only_with=("pythons.bits=32",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def bits_32(on: OnPython) -> Problem | None:
    """The interpreter's pointers are 32 bits wide, and there is a GPU."""
    if known(on.python.bits) != 32 or not (nvidia_gpus(on.facts) or amd_gpus(on.facts)):
        return None
    return Problem(f"{on.python.path} is a 32-bit Python; no GPU framework supports it.")
