"""Fixes for a library that a package lacks: the interpreter's own, or one of a wheel that the package requires."""

import re
from collections.abc import Iterable

from gpudoctor.check_engine import Fix
from gpudoctor.facts.python import LibraryUser
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import has, install, lasting
from gpudoctor.knowledge.sonames import library_of, majors_of
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.maybe import text_of
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Task, cmd, export, query

_INTERPRETER = re.compile(r"libpython(\d+\.\d+)\.so(?:\.1\.0)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
NOT_SHARED = (
    "The package is linked to the interpreter's shared library. A program that loads it through Python needs no such "
    "file, so conda and uv keep theirs where the loader does not search, pyenv builds none, and Debian and Ubuntu have "
    "it in a package of its own."
)


def of_interpreter(soname: str) -> str | None:
    """The release of Python whose shared library a name is: "3.11"; None for other libraries."""
    match = _INTERPRETER.fullmatch(soname)
    return match[1] if match else None


def shared_interpreter(on: OnPython, missing: tuple[str, ...], proof: Task | None) -> tuple[Fix, ...]:
    """Let the loader find the shared library of this interpreter, or install it; none for another release."""
    release = next((found for name in missing if (found := of_interpreter(name))), None)
    if release is None or not text_of(on.python.version).startswith(f"{release}."):
        return ()
    base, name = text_of(on.python.base_prefix), f"libpython{release}"
    if base in ("", "/usr"):
        is_debian = system.family_of(on.facts) == "debian"
        tasks = install_system(on.facts, name) if is_debian else ()
        message = f"Install the shared library of Python {release}, the distribution's package {name}."
        return (Fix(f"{message}{lasting(on.facts)}", tasks, "reinstall-package", root=True, verify=proof),)
    if "/.pyenv/" in f"{base}/":
        message = f"Build this Python again, with its shared library; its packages stay.{lasting(on.facts)}"
        option = "PYTHON_CONFIGURE_OPTS=--enable-shared"
        again = cmd("env", option, "pyenv", "install", "--force", text_of(on.python.version))
        return (Fix(message, (again,), "reinstall-package", verify=proof),)
    message = f"Let the loader search the interpreter's own directory, where {name}.so.1.0 is, before Python starts."
    path = export("LD_LIBRARY_PATH", f"{base}/lib", "before")
    return (Fix(f"{message}{lasting(on.facts)}", (path,), "change-environment", verify=proof),)


def required_wheels(on: OnPython, package: str, missing: tuple[str, ...], proof: Task | None) -> tuple[Fix, ...]:
    """Install the wheels with these libraries that a package requires, and that are not there."""
    found = {}
    for unmet in on.python.unmet:
        wheel = _NAME.match(unmet.requires)
        if wheel and unmet.found is None and any(_brings(wheel[0], name) for name in missing):
            found[unmet.requires] = unmet.package
    if not found:
        return ()
    whose = package if package in found.values() else next(iter(found.values()))
    specs, verb = list(found), "is" if len(found) == 1 else "are"
    message = f"Install {' and '.join(specs)}, which {whose} requires and which {verb} not installed."
    message += lasting(on.facts)
    return (Fix(message, (install(on.python, *specs),), "reinstall-package", verify=proof),)


def without_desktop(on: OnPython, user: LibraryUser, missing: tuple[str, ...]) -> tuple[Fix, ...]:
    """Install the build of a package that needs no library of a desktop; none where it has none.

    It goes over the other one, which what requires that by name would otherwise miss.
    """
    row = next((row for row in wanted().shared if user.package in row.headless), None)
    if row is None or not set(missing) <= set(row.desktop):
        return ()
    other, number = row.headless[user.package], release(user.version)
    message = (
        f"Install {other} over it: the same {row.module} without windows ({row.module}.imshow), which needs none of a "
        f"desktop's libraries.{lasting(on.facts)}"
    )
    back = install(on.python, f"{user.package}=={number}", force=True, no_deps=True)
    verify = query(on.python.path, "-c", f"import {row.module}; print({row.module}.__version__)")
    task = install(on.python, f"{other}=={number}", no_deps=True, force=has(on.python, other))
    return (Fix(message, (task,), "reinstall-package", undo=(back,), verify=verify),)


def _brings(wheel: str, soname: str) -> bool:
    row = library_of(soname)
    return row is not None and re.fullmatch(rf"{row.wheel}(?:-cu\d+)?", wheel.lower().replace("_", "-")) is not None


def cudnn_wheel(on: OnPython, soname: str, beside: Iterable[str]) -> tuple[str, str] | None:
    """The wheel of a cuDNN library and its directory below nvidia/; its name has the CUDA major of what needs it.

    Args:
        on: the environment.
        soname: the library.
        beside: the libraries that the same package needs: one of them may be of one CUDA major alone.
    """
    row, number = library_of(soname), soname.partition(".so.")[2].partition(".")[0]
    if row is None or not row.wheel.endswith("cudnn") or not number:
        return None
    majors = [of[0] for name in beside if len(of := majors_of(name)) == 1]
    majors += [f.cuda.partition(".")[0] for f in on.python.frameworks if isinstance(f.cuda, str)]
    majors += [m[1] for p in packages_of(on.python) if (m := re.search(r"^nvidia-.*-cu(\d\d)$", p.name))]
    majors += [text_of(driver_cuda(on.facts)).partition(".")[0]]
    major = next((one for one in majors if one), "12")
    return f"{row.wheel}-cu{major}=={number}.*", f"{row.folder}/lib"
