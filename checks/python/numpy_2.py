"""Packages compiled against NumPy 1, with NumPy 2 installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.knowledge.wanted import module_of
from gpudoctor.maybe import known
from gpudoctor.queries.packages import need_numpy1, numbers, package
from gpudoctor.targets import OnPython, pythons

_TORCH = (
    "NumPy 2 changed its ABI, and this PyTorch was compiled against NumPy 1: torch.from_numpy() and .numpy() fail "
    "with 'Numpy is not available'."
)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    # Every machine with a Python reads this check, and few need a fix: they are imported for those alone.
    from gpudoctor.fixes.frameworks import newer_tensorflow
    from gpudoctor.fixes.python import install
    from gpudoctor.fixes.torch_build import reinstall_torch

    old = need_numpy1(on.python)
    fixes = [Fix("Install NumPy 1, which these builds need.", (install(on.python, "numpy<2"),), "reinstall-package")]
    names = [p.name for p in old if module_of(p.name) not in ("torch", "tensorflow")]
    if any(p.name == "torch" for p in old):
        fixes += [
            Fix("Install a newer PyTorch (2.3 or later).", f.tasks, f.action)
            for f in reinstall_torch(on.facts, on.python)
        ]
    if any(module_of(p.name) == "tensorflow" for p in old):
        fixes += newer_tensorflow(on.facts, on.python)
    if names:
        fixes.append(Fix("Install newer releases.", (install(on.python, *names, upgrade=True),), "reinstall-package"))
    return tuple(fixes)


@check(
    title="Packages compiled against NumPy 1 with NumPy 2 installed",
    severity=Severity.WARNING,
    cause="NumPy 2 changed its ABI: a module compiled against NumPy 1 cannot exchange arrays with it, and many such "
    "modules fail on import.",
    fixes=_fixes,
    references=(
        "https://numpy.org/doc/stable/numpy_2_0_migration_guide.html",
        "https://github.com/ai2cm/ace/issues/378",
        "https://github.com/numpy/numpy/issues/26191",
    ),
    targets=pythons,
    caused_by=("python.user-site-leaks", "python.shadowed-module"),
    affects=("extensions",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    breaks_imports=True,
)
def numpy_2(on: OnPython) -> Problem | None:
    """NumPy is 2 or newer, and a package is older than its first release built for it."""
    known(on.python.packages)
    numpy = package(on.python, "numpy")
    if numpy is None or numbers(numpy.version)[:1] < (2,):
        return None
    old = need_numpy1(on.python)
    if not old:
        return None
    names = " and ".join(f"{p.name} {p.version}" for p in old)
    verb = "was" if len(old) == 1 else "were"
    message = (
        f"{names} {verb} compiled against NumPy 1, before NumPy 2 was released; NumPy {numpy.version} is installed."
    )
    return Problem(message, cause=_TORCH if [p.name for p in old] == ["torch"] else None)
