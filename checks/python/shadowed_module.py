"""Something other than the installed package is imported under a framework's name."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Shadow
from gpudoctor.fixes.python import NEW, REMOVE_NEW, install, lasting, manager_of, uninstall
from gpudoctor.fixes.shadows import rename, without_python_path
from gpudoctor.knowledge.wanted import is_framework, wanted
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnPython, about_modules, pythons
from gpudoctor.tasks import Manual, cmd, query

_WHERE = {
    "PYTHONPATH": "PYTHONPATH",
    "working directory": "the working directory",
    ".pth": "a .pth file",
    "namespace": "a namespace package",
}
_REGULAR = (
    "A directory without __init__.py is only a portion of a namespace package (PEP 420): Python imports it unless a "
    "package with an __init__.py has the same name, anywhere on sys.path. Two distributions that share an import name "
    "work only in one directory, where their files merge; pip puts one into ~/.local where it may not write to the "
    "environment."
)


def _shadow(on: OnPython) -> Shadow | None:
    """The worst: a single file before a package, what is imported everywhere before the working directory."""
    found = _candidates(on)
    order = {"PYTHONPATH": 0, ".pth": 1, "namespace": 2, "working directory": 3}

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
    if shadow.portion_of:
        return _into_one_directory(on, shadow)
    fixes = []
    # Few have a checkout of a framework there; a directory called datasets is mostly the project's own.
    if shadow.wins.endswith(".py") or shadow.module in wanted().hidden:
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


def _into_one_directory(on: OnPython, shadow: Shadow) -> tuple[Fix, ...]:
    """Install the hidden distribution where the package is that hides it."""
    found, site = package(on.python, shadow.portion_of), shadow.wins.rpartition("/")[0]
    module = f"{shadow.module}.{_part(shadow)}"
    verify = query(on.python.path, "-c", f"import importlib.util as u; print(u.find_spec({module!r}).origin)")
    spec = f"{shadow.portion_of}=={found.version}" if found else shadow.portion_of
    message = (
        f"Install {shadow.portion_of} into the directory of the other package, {site}, as a user who may write there."
        f"{lasting(on.facts)}"
    )
    again = install(on.python, spec, no_deps=True, options=() if manager_of(on.python) == "uv" else ("--no-user",))
    one = Fix(message, (uninstall(on.python, shadow.portion_of), again), "reinstall-package", verify=verify)
    other = "Install both into a virtual environment of your own, which ignores ~/.local."
    return one, Fix(other, (cmd(on.python.path, "-m", "venv", NEW),), "reinstall-package", undo=(REMOVE_NEW,))


def _part(shadow: Shadow) -> str:
    return shadow.loses[0].rpartition("/")[2].removesuffix(".py")


@check(
    title="Another file or copy shadows the installed package",
    severity=Severity.ERROR,
    cause="Python takes the first match on sys.path, and PYTHONPATH and the working directory come before the "
    "installed packages: a file of the same name shadows the package.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/library/sys_path_init.html",
        "https://peps.python.org/pep-0420/#specification",
        "https://github.com/pytorch/pytorch/issues/7575",
    ),
    targets=_targets,
    only_with=("pythons.shadows",),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def shadowed_module(on: OnPython) -> Problem | None:
    """A path from PYTHONPATH, the working directory or a .pth file wins over the environment's package."""
    shadow = _shadow(on)
    if shadow is None:
        return None
    if shadow.portion_of:
        found = package(on.python, shadow.portion_of)
        version, place = f" {found.version}" if found else "", shadow.loses[0].rpartition("/")[0]
        message = (
            f"{shadow.module}.{_part(shadow)} of {shadow.portion_of}{version} cannot be imported: {place} has no "
            f"__init__.py, and the package {shadow.wins} hides it."
        )
        return Problem(message, tuple(f"hidden: {path}" for path in shadow.loses[:4]), _REGULAR, Severity.WARNING)
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
