"""Fixes for a package that imports a module which no installed distribution contains."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import PackageImport
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.import_errors import distribution_of, import_errors
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import text_of
from gpudoctor.parsers.metadata import normalise, required_name
from gpudoctor.queries.packages import package, packages_of
from gpudoctor.targets import OnPython

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
    if package(on.python, name) is not None:
        return ()
    required = (normalise(required_name(line)) for each in packages_of(on.python) for line in each.requires)
    proof = import_proof(on, one)
    if module in import_errors().imported_as or name in required:
        brings = "" if name == module else f", which contains the module {module}"
        message = f"Install {name}{brings}: {one.package} imports it.{lasting(on.facts)}"
        return (Fix(message, (install(on.python, name),), "reinstall-package", verify=proof),)
    message = (
        f"Install what contains the module {module}: see what {one.package} documents as its requirements, since a "
        f"distribution of that name may be another project."
    )
    return (Fix(message, (), "reinstall-package", verify=proof),)
