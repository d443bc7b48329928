"""Something other than the installed package is imported under a framework's name."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Shadow
from gpudoctor.fixes.shadows import rename, without_python_path
from gpudoctor.knowledge.wanted import is_framework
from gpudoctor.targets import OnPython, about_modules, pythons
from gpudoctor.tasks import Manual, query

_WHERE = {"PYTHONPATH": "PYTHONPATH", "working directory": "the working directory", ".pth": "a .pth file"}


def _shadow(on: OnPython) -> Shadow | None:
    """The worst: a single file before a package, what is imported everywhere before the working directory."""
    found = _candidates(on)
    order = {"PYTHONPATH": 0, ".pth": 1, "working directory": 2}

    def rank(s: Shadow) -> tuple[bool, bool, int, bool]:
        return not _is_guilty(on, s), s.version is not None, order[s.origin], not is_framework(s.module)

    return min(found, key=rank, default=None)


def _is_guilty(on: OnPython, shadow: Shadow) -> bool:
    """Whether a framework fails to import and names the module; in the working directory nothing was imported."""
    errors = (f.live.import_error or "" for f in on.python.frameworks if f.live)
    return shadow.origin != "working directory" and any(shadow.module in error.lower() for error in errors)


def _candidates(on: OnPython) -> list[Shadow]:
    """Those of packages; another check covers the standard library."""
    return [s for s in on.python.shadows if s.origin in _WHERE and not _is_link(s) and not s.standard]


def _is_link(shadow: Shadow) -> bool:
    """An editable installation: the .pth file points to the checkout that is meant to win."""
    return shadow.origin == ".pth" and shadow.version is not None


def _targets(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for about, on in pythons(facts):
        yield about_modules(about, (s.module for s in _candidates(on))), on


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    shadow = _shadow(on)
    if shadow is None:
        return ()
    verify = query(on.python.path, "-c", f"import {shadow.module}; print({shadow.module}.__file__)")
    fixes = []
    if shadow.wins.endswith(".py"):
        fixes.append(rename(shadow, verify))
    if shadow.origin == "PYTHONPATH":
        fixes.append(without_python_path(on.facts, shadow, verify))
    if shadow.origin == "working directory":
        fixes.append(
            Fix("Start Python from another directory.", (Manual("cd ~"),), "change-environment", verify=verify)
        )
    if not fixes:
        fixes.append(
            Fix("Remove the .pth file or the directory that it names.", (), "change-environment", verify=verify)
        )
    return tuple(fixes)


@check(
    title="Another file or copy shadows the installed package",
    severity=Severity.ERROR,
    cause="Python takes the first match on sys.path, and PYTHONPATH and the working directory come before the "
    "installed packages: a file of the same name shadows the package.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/library/sys_path_init.html",
        "https://github.com/pytorch/pytorch/issues/7575",
    ),
    targets=_targets,
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def shadowed_module(on: OnPython) -> Problem | None:
    """A path from PYTHONPATH, the working directory or a .pth file wins over the environment's package."""
    shadow = _shadow(on)
    if shadow is None:
        return None
    where = _WHERE[shadow.origin]
    hidden = f"the installed {shadow.loses[0]}" if shadow.loses else "an installed package"
    message = f"`import {shadow.module}` loads {shadow.wins} (via {where}) instead of {hidden}."
    return Problem(message, tuple(f"hidden: {path}" for path in shadow.loses[:4]), severity=_severity(on, shadow))


def _severity(on: OnPython, shadow: Shadow) -> Severity:
    """A whole package installed with its metadata may be intended; a helper's copy rarely matters."""
    if _is_guilty(on, shadow):
        return Severity.ERROR
    if shadow.origin == "working directory":
        # a file of one's own is never the package: every program that is started here and imports it fails
        wrong = is_framework(shadow.module) or (shadow.wins.endswith(".py") and shadow.loses)
        return Severity.WARNING if wrong else Severity.ADVICE
    if shadow.version is not None:
        return Severity.WARNING if is_framework(shadow.module) else Severity.ADVICE
    return Severity.ERROR if is_framework(shadow.module) else Severity.WARNING
