"""Something else than the installed package is imported under a framework's name."""

from collections.abc import Iterator

from gpudoctor.facts import Facts, Shadow
from gpudoctor.judge import About, Fix, Problem, Severity, check
from gpudoctor.knowledge.wanted import is_framework
from gpudoctor.subjects import OnPython, about_modules, pythons
from gpudoctor.tasks import Manual, Task, cmd, export, query, unset

_WHERE = {"PYTHONPATH": "PYTHONPATH", "working directory": "the working directory", ".pth": "a .pth file"}


def _shadow(on: OnPython) -> Shadow | None:
    """The gravest: a single file before a package, what is imported from everywhere before the working directory."""
    found = [s for s in on.python.shadows if s.because in _WHERE and s.loses and not _is_link(s)]
    order = {"PYTHONPATH": 0, ".pth": 1, "working directory": 2}
    return min(found, key=lambda s: (s.version is not None, order[s.because], not is_framework(s.module)), default=None)


def _is_link(shadow: Shadow) -> bool:
    """An editable installation: the .pth file leads to the checkout that is meant to win."""
    return shadow.because == ".pth" and shadow.version is not None


def _subjects(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for about, on in pythons(facts):
        yield about_modules(about, (s.module for s in on.python.shadows if s.because in _WHERE and not _is_link(s))), on


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    shadow = _shadow(on)
    if shadow is None:
        return ()
    verify = query(on.python.path, "-c", f"import {shadow.module}; print({shadow.module}.__file__)")
    fixes = []
    if shadow.wins.endswith(".py"):
        new = f"{shadow.wins.removesuffix('.py')}_own.py"
        cache = f"{shadow.wins.rpartition('/')[0]}/__pycache__"
        says = f"Rename the file: no file of your own may be called {shadow.module}.py."
        fixes.append(
            Fix(
                says,
                (cmd("mv", shadow.wins, new), cmd("rm", "-rf", cache)),
                "change-environment",
                undo=(cmd("mv", new, shadow.wins),),
                verify=verify,
            )
        )
    if shadow.because == "PYTHONPATH":
        fixes.append(_without_python_path(on, shadow, verify))
    if shadow.because == "working directory":
        fixes.append(Fix("Start Python from another folder.", (Manual("cd ~"),), "change-environment", verify=verify))
    if not fixes:
        fixes.append(Fix("Remove the .pth file or the folder that it names.", (), "change-environment", verify=verify))
    return tuple(fixes)


def _without_python_path(on: OnPython, shadow: Shadow, verify: Task) -> Fix:
    value = on.facts.host.environment.get("PYTHONPATH", "")
    folder = shadow.wins.rpartition("/")[0]
    rest = [part for part in value.split(":") if part and part.rstrip("/") != folder]
    command = export("PYTHONPATH", ":".join(rest)) if rest else unset("PYTHONPATH")
    says = f"Take {folder} out of PYTHONPATH, here and in the start file or module that sets it."
    return Fix(says, (command,), "change-environment", undo=(export("PYTHONPATH", value),), verify=verify)


@check(
    title="Another file or copy is imported in place of the installed package",
    severity=Severity.ERROR,
    cause="Python takes the first match on sys.path, and PYTHONPATH and the working directory stand before the "
    "installed packages: a file of the same name shadows the package.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/library/sys_path_init.html",
        "https://github.com/pytorch/pytorch/issues/7575",
    ),
    each=_subjects,
    because=("python.interpreter-broken",),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def shadowed_module(on: OnPython) -> Problem | None:
    """A path from PYTHONPATH, the working directory or a .pth file wins over the environment's package."""
    shadow = _shadow(on)
    if shadow is None:
        return None
    where = _WHERE[shadow.because]
    says = f"`import {shadow.module}` takes {shadow.wins} (by {where}) instead of the installed {shadow.loses[0]}."
    return Problem(says, tuple(f"hidden: {path}" for path in shadow.loses[:4]), severity=_severity(shadow))


def _severity(shadow: Shadow) -> Severity:
    """A whole package that was put there with its metadata may be meant so; a helper's copy rarely matters."""
    if shadow.because == "working directory":
        return Severity.WARNING if is_framework(shadow.module) else Severity.ADVICE
    if shadow.version is not None:
        return Severity.WARNING if is_framework(shadow.module) else Severity.ADVICE
    return Severity.ERROR if is_framework(shadow.module) else Severity.WARNING
