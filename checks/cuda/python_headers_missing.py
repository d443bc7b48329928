"""No Python.h for code that is compiled at run time."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import compiles_kernels
from gpudoctor.queries.packages import python_minor
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import NEW


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    minor, family = python_minor(on.python), system.family_of(on.facts)
    verify = query(
        on.python.path, "-c", 'import sysconfig, os; p = sysconfig.get_path("include"); print(os.listdir(p)[:3])'
    )
    fixes = []
    if minor and family:
        name = packages.python_headers_package(family, minor)
        message = f"Install the development headers of Python {minor} ({name}).{lasting(on.facts)}"
        commands = install_system(on.facts, name)
        fixes.append(Fix(message, commands, "reinstall-package", root=True, verify=verify))
    message = "Create the environment with a Python that includes its headers, such as uv's, conda's or pyenv's."
    fixes.append(
        Fix(message, (cmd("uv", "venv", "--managed-python", "--python", minor or "3.12", NEW),), "reinstall-package")
    )
    return tuple(fixes)


@check(
    title="Python.h is missing: torch.compile and Triton kernels fail",
    severity=Severity.WARNING,
    cause="Triton compiles a small launcher for each kernel, which includes Python.h; distributions ship the "
    "development headers in a separate package. Eager mode works without them.",
    fixes=_fixes,
    references=(
        "https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py",
        "https://github.com/vllm-project/vllm/issues/27890",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.packages.name=triton,pytorch-triton,triton-nightly"),
    caused_by=("cuda.compiler-missing",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def python_headers_missing(on: OnPython) -> Problem | None:
    """Triton is installed, but sysconfig's include directory has no Python.h."""
    if not compiles_kernels(on.facts, on.python) or known(on.python.headers):
        return None
    message = f"{on.python.path} has no Python.h, which Triton's launcher includes: torch.compile fails."
    return Problem(message)
