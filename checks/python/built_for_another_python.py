"""A package whose compiled modules are for another Python version or CPU architecture."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.packages import packages_of, python_minor, release
from gpudoctor.targets import OnPython, pythons

# The tag of an extension module, which has to match the interpreter: PEP 3149. On Linux it ends with the platform,
# https://wiki.debian.org/Multiarch/Tuples.
_TAG = pattern(r"\.cpython-(\d)(\d+)[a-z]*-(?:(\w+)-linux)?")
# Of the architectures those that the tag and uname call by one name.
_ARCHITECTURES = ("aarch64", "x86_64")


class _Built(msgspec.Struct, frozen=True):
    """What an extension module is for."""

    minor: str  # "3.12"
    architecture: str  # "aarch64"; "" where its name has none

    def fits(self, on: OnPython) -> bool:
        """Whether this interpreter finds and loads it.

        Raises:
            UnknownFactError: its version fits, and nobody knows what this interpreter is built for.
        """
        if self.minor != python_minor(on.python):
            return False
        ours = known(on.python.architecture) if self.architecture in _ARCHITECTURES else self.architecture
        return ours not in _ARCHITECTURES or ours == self.architecture


def _built(package: Package) -> set[_Built]:
    """What its extension modules are for; empty where it has some of the stable ABI, which are for many Pythons."""
    if any(".abi3." in name for name in package.libraries):
        return set()
    found = (_TAG.search(name) for name in package.libraries if ".cpython-" in name)
    return {_Built(f"{match[1]}.{match[2]}", match[3] or "") for match in found if match}


def _foreign(on: OnPython) -> list[Package]:
    found = ((p, _built(p)) for p in packages_of(on.python))
    return [p for p, built in found if built and not any(one.fits(on) for one in built)]


def _fails(on: OnPython, package: Package) -> bool:
    errors = (f.live.import_error or "" for f in on.python.frameworks if f.live)
    return any(package.name.replace("-", "_") in error.lower() for error in errors)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    # Every machine with a Python reads this check, and few need a fix: they are imported for those alone.
    from gpudoctor.fixes.python import install
    from gpudoctor.fixes.verify_commands import framework_proof

    specs = [f"{p.name}=={release(p.version)}" for p in _foreign(on)]
    message = f"Reinstall {' and '.join(specs)} with this interpreter's pip, which selects the matching wheels."
    command = install(on.python, *specs, force=True, no_deps=True)
    return (Fix(message, (command,), "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="A package was built for another Python version or CPU architecture",
    severity=Severity.WARNING,
    cause="Compiled modules are for one Python version and one CPU architecture, which are part of their file names; "
    "others do not find them. They get here through another Python's pip with --target, pip's --platform, a copied or "
    "upgraded environment, or a PYTHONPATH that points into another Python's packages.",
    fixes=_fixes,
    references=("https://peps.python.org/pep-3149/", "https://numpy.org/devdocs/user/troubleshooting-importerror.html"),
    targets=pythons,
    caused_by=("python.shadowed-module",),
    affects=("wheels",),
    validated_on=("environment 2026-11",),
)
def built_for_another_python(on: OnPython) -> Problem | None:
    """Extension modules with the tag of a Python version and an architecture, and none of them this one's."""
    if known(on.python.implementation) != "cpython":
        return None
    known(on.python.packages)
    foreign = _foreign(on)
    if not foreign:
        return None
    first = next((p for p in foreign if _fails(on, p)), foreign[0])
    built, minor = _built(first), python_minor(on.python)
    theirs, ours = " and ".join(sorted({one.minor for one in built})), phrase(" {}", minor)
    message = f"{first.name} {first.version} in {first.directory} is built for Python {theirs}; this is Python{ours}."
    if any(one.minor == minor for one in built):  # then it is the architecture
        theirs = " and ".join(sorted({one.architecture for one in built}))
        message = f"{first.name} {first.version} in {first.directory} is built for {theirs}; "
        message += f"this Python is for{phrase(' {}', on.python.architecture)}."
    others = tuple(f"also: {p.name} {p.version}" for p in foreign if p is not first)
    return Problem(message, others[:5], severity=Severity.ERROR if _fails(on, first) else None)
