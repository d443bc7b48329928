"""A package whose compiled modules are for another Python version."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, python_minor
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import OnPython, pythons

# The tag of an extension module, which has to match the interpreter: PEP 3149.
_TAG = pattern(r"\.cpython-(\d)(\d+)[a-z]*-")


def _tags(package: Package) -> set[str]:
    """The Python versions that its extension modules are for; stable-ABI modules (abi3) have no such tag."""
    found = (_TAG.search(name) for name in package.libraries)
    return {f"{match[1]}.{match[2]}" for match in found if match}


def _foreign(on: OnPython) -> list[Package]:
    ours = python_minor(on.python)
    tagged = ((p, _tags(p)) for p in packages_of(on.python))
    return [p for p, tags in tagged if tags and ours not in tags]


def _fails(on: OnPython, package: Package) -> bool:
    errors = (f.live.import_error or "" for f in on.python.frameworks if f.live)
    return any(package.name.replace("-", "_") in error.lower() for error in errors)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    specs = [f"{p.name}=={release(p.version)}" for p in _foreign(on)]
    message = f"Reinstall {' and '.join(specs)} with this interpreter's pip, which selects the matching wheels."
    command = install(on.python, *specs, force=True, no_deps=True)
    return (Fix(message, (command,), "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="A package was built for another Python version",
    severity=Severity.WARNING,
    cause="Compiled modules are for one Python version, which is part of their file names; other versions do not find "
    "them. They get here through another Python's pip with --target, a copied or upgraded environment, or a "
    "PYTHONPATH that points into another Python's packages.",
    fixes=_fixes,
    references=("https://peps.python.org/pep-3149/", "https://numpy.org/devdocs/user/troubleshooting-importerror.html"),
    targets=pythons,
    caused_by=("python.shadowed-module",),
    affects=("wheels",),
    validated_on=("environment 2026-11",),
)
def built_for_another_python(on: OnPython) -> Problem | None:
    """Extension modules with a Python version's tag, and none of them this one's."""
    if known(on.python.implementation) != "cpython":
        return None
    known(on.python.packages)
    foreign = _foreign(on)
    if not foreign:
        return None
    first = next((p for p in foreign if _fails(on, p)), foreign[0])
    theirs, ours = " and ".join(sorted(_tags(first))), phrase(" {}", python_minor(on.python))
    message = f"{first.name} {first.version} in {first.directory} is built for Python {theirs}; this is Python{ours}."
    others = tuple(f"also: {p.name} {p.version}" for p in foreign if p is not first)
    return Problem(message, others[:5], severity=Severity.ERROR if _fails(on, first) else None)
