"""Fixes for a package that imports a module which no installed distribution contains."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import PackageImport
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.import_errors import distribution_of, import_errors
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or, text_of
from gpudoctor.parsers.metadata import normalise, required_name
from gpudoctor.queries.packages import numbers, package, packages_of
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Shell

_MISSING = pattern(r"^ModuleNotFoundError: No module named '(\w+)")


def missing_module(on: OnPython, one: PackageImport) -> tuple[Fix, ...]:
    """Install the distribution of the module; a name that is only guessed is said, and not typed.

    Anybody may register a distribution under the name of a module, so what is installed by a command is one that the
    table names, or that an installed package requires, be it for an extra.

    Args:
        on: the environment.
        one: the import that fails.

    Returns:
        nothing where the error is another one, or its distribution is installed.
    """
    match = _MISSING.match(text_of(one.error))
    if match is None or match[1] in (one.module.partition(".")[0], one.package):
        return ()
    module, name = match[1], distribution_of(match[1])
    if module in import_errors().parts_of_python:
        return (_part_of_python(on, one, module),)
    if module.startswith("_"):
        return ()
    if package(on.python, name) is not None:
        return ()
    if module == "torch":
        from gpudoctor.fixes.torch_build import reinstall_torch  # which build depends on the GPU and the driver

        return reinstall_torch(on.facts, on.python)
    required = (normalise(required_name(line)) for each in packages_of(on.python) for line in each.requires)
    proof = import_proof(on, one)
    other = f"Upgrade {one.package}: a newer release may require what it imports.{lasting(on.facts)}"
    newer = Fix(other, (install(on.python, one.package, upgrade=True),), "reinstall-package", verify=proof)
    if module in import_errors().imported_as or name in required:
        brings = "" if name == module else f", which contains the module {module}"
        message = f"Install {name}{brings}: {one.package} imports it.{lasting(on.facts)}"
        return (Fix(message, (install(on.python, name),), "reinstall-package", verify=proof), newer)
    message = (
        f"Install what contains the module {module}: see what {one.package} documents as its requirements, since a "
        f"distribution of that name may be another project."
    )
    return (Fix(message, (), "reinstall-package", verify=proof), newer)


def _part_of_python(on: OnPython, one: PackageImport, module: str) -> Fix:
    """Build Python again, with the library that the module needs; the distributions' own Pythons have it."""
    debian, fedora = import_errors().parts_of_python[module]
    family = system.family_of(on.facts)
    name = {"debian": debian, "fedora": fedora, "suse": fedora}.get(family or "")
    number = ".".join(map(str, numbers(text_of(on.python.version))[:3]))
    message = (
        f"This Python was built without {module}: install {name or f'{debian} (Fedora: {fedora})'}, build Python again "
        "(pyenv compiles each release on this machine), and make the environment again, or with a Python of the "
        "distribution, of conda or of uv, which have the module."
    )
    pyenv = "/.pyenv/" in known_or(on.python.real, on.python.path)
    again = (Shell(f"pyenv install --force {number}"),) if pyenv and number else ()
    tasks = (*(install_system(on.facts, name) if name else ()), *again)
    return Fix(message, tasks, "reinstall-package", root=bool(name), verify=import_proof(on, one))
