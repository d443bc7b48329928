"""No C compiler for code that is compiled at run time."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import conda_install, conda_of, lasting
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import compiles_kernels
from gpudoctor.queries.packages import python_minor
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import cmd


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    verify = cmd("cc", "--version")
    if conda_of(on.python):
        command = conda_install(on.python, "gxx")
        return (Fix("Install a compiler into this conda environment.", (command,), "reinstall-package", verify=verify),)
    family = system.family_of(on.facts)
    if family is None:
        return (Fix("Install gcc or clang with this distribution's package manager, or set CC to one.", verify=verify),)
    names = list(packages.compiler_packages(family))
    minor = python_minor(on.python)
    if on.python.headers is False and minor and on.python.base_prefix == "/usr":
        names.append(packages.python_headers_package(family, minor))
    message = f"Install a C compiler (gcc).{lasting(on.facts)}"
    return (Fix(message, install_system(on.facts, *names), "reinstall-package", root=True, verify=verify),)


@check(
    title="No C compiler: torch.compile and Triton kernels fail",
    severity=Severity.WARNING,
    cause="Triton compiles a small launcher for each kernel with the host's C compiler (cc, gcc or clang, or what CC "
    "names); torch.compile's inductor uses Triton. Eager mode works without it.",
    fixes=_fixes,
    references=(
        "https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py",
        "https://github.com/RosettaCommons/foundry/issues/221",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.packages.name=triton,pytorch-triton,triton-nightly"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def compiler_missing(on: OnPython) -> Problem | None:
    """Triton is installed, but no compiler is on PATH."""
    if (
        not compiles_kernels(on.facts, on.python)
        or known(on.facts.toolkits.cxx) is not None
        or on.facts.host.environment.get("CC")
    ):
        return None
    return Problem(
        "No C compiler (cc, gcc, clang) is on PATH, so Triton, and with it torch.compile, cannot build kernels."
    )
