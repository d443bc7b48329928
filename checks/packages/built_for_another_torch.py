"""Packages that were built for another PyTorch version."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package, UnmetRequirement
from gpudoctor.knowledge.release_families import Removed, release_families
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.extensions import built_for, library_releases, loads
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import and_more, is_own_build, names_torch, numbers, packages_of, release
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import Tasks

_OTHERS = ("torchvision", "torchaudio")  # they have a check of their own


def _unmet(on: OnPython) -> list[UnmetRequirement]:
    pins = (u for u in on.python.unmet if u.requires.replace(" ", "").startswith("torch==") and u.found is not None)
    return [u for u in pins if is_extension(u.package) and u.package not in _OTHERS]


def _tagged(on: OnPython) -> list[tuple[Package, str]]:
    """The packages whose version or own record names another PyTorch, unless they were seen to load anyway."""
    torch = one_of(on.python, "torch")
    if torch is None or not isinstance(torch.version, str):
        return []
    found = []
    for package in packages_of(on.python):
        if (is_extension(package.name) or names_torch(package.version)) and package.name not in _OTHERS:
            wanted, cuda = built_for(package)
            if wanted and numbers(wanted) != numbers(torch.version)[:2]:
                found.append((package, f"PyTorch {wanted}"))
            elif cuda and isinstance(torch.cuda, str) and numbers(cuda)[:1] != numbers(torch.cuda)[:1]:
                found.append((package, f"CUDA {cuda}"))
    return [(package, wanted) for package, wanted in found if not loads(on.python, package.name)]


def _without_library(on: OnPython) -> tuple[Package, tuple[str, ...]] | None:
    """A package with a library for each of some releases of PyTorch, and none for the installed one."""
    torch = one_of(on.python, "torch")
    found = [(p, releases) for p in packages_of(on.python) if (releases := library_releases(p))] if torch else []
    for package, releases in found:
        number = known(torch.version) if torch else None
        if number and not is_own_build(number) and release(number) not in releases:
            return package, releases
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    # Every machine with a Python reads this check, and few need a fix: they are imported for those alone.
    from gpudoctor.fixes.extensions import rebuild

    unmet = _unmet(on)
    lacking = None if unmet else _without_library(on)
    if lacking:
        return _the_newest_that_fits(on, *lacking)
    name, version = (
        (unmet[0].package, unmet[0].version) if unmet else (_tagged(on)[0][0].name, _tagged(on)[0][0].version)
    )
    return rebuild(on, name, version, one_of(on.python, "torch"))


def _the_newest_that_fits(on: OnPython, package: Package, releases: tuple[str, ...]) -> tuple[Fix, ...]:
    """Install the newest PyTorch that the package has a library for; a newer release of it may have one for this."""
    from gpudoctor.fixes.frameworks import verify
    from gpudoctor.fixes.other_torch import companions_of
    from gpudoctor.fixes.python import install, lasting
    from gpudoctor.fixes.torch_build import has_wheel_here
    from gpudoctor.queries.gpus import nvidia_gpus
    from gpudoctor.queries.loading import import_of

    name, wanted = package.name, releases[-1]
    one = import_of(on.python, name)
    proof = verify(on.python, one.statement if one else f"import {name.replace('-', '_')}")
    # What belongs to PyTorch goes with it, and what its own import lacks beside it is brought by the same command.
    error = text_of(one.error) if one else ""
    lacked = (row for row in release_families().removed if row.older and re.search(row.pattern, error))
    others = (*companions_of(on.python, wanted), *(_of_time(row, wanted) for row in lacked))
    also = f", with {' and '.join(others)}" if others else ""
    message = (
        f"Install PyTorch {wanted}, the newest that {name} {package.version} has a library for{also}."
        f"{lasting(on.facts)}"
    )
    older = Fix(message, (install(on.python, f"torch=={wanted}", *others),), "reinstall-package", verify=proof)
    other = (
        f"Install a newer {name} that has one for the installed PyTorch, from PyPI or the index in {name}'s "
        f"installation guide, or build {name} from source against it."
    )
    newer = Fix(other, (install(on.python, name, upgrade=True),), "reinstall-package", verify=proof)
    known_good = nvidia_gpus(on.facts) and has_wheel_here(on.facts, on.python, wanted)
    if found := _own_page(on, name):
        page, minor, build = found
        first, index = f"{minor}.0", f"https://download.pytorch.org/whl/{build}"
        there = release(text_of(torch.version)) if (torch := one_of(on.python, "torch")) else ""
        message = f"Install the {name} for PyTorch {first} from its own page of wheels"
        tasks: Tasks = (install(on.python, name, upgrade=True, options=("--find-links", page)),)
        if there != first:  # of a later patch release it is not known whether the wheel has a library
            message, tasks = (
                f"{message}, and that PyTorch",
                (install(on.python, f"torch=={first}", index=index), *tasks),
            )
        own = Fix(f"{message}.{lasting(on.facts)}", tasks, "reinstall-package", verify=proof)
        return (own, older) if known_good else (own,)
    return (older, newer) if known_good else (newer,)


def _of_time(row: Removed, torch: str) -> str:
    """The release of a package that still has a name, of the time of a PyTorch: a later one needs a newer PyTorch."""
    from gpudoctor.knowledge.release_dates import newest_at, released

    day = released("torch", torch)
    minor = newest_at(row.package, day) if day else ""
    return f"{row.package}=={minor}.*" if minor and numbers(minor) < numbers(row.since) else row.older


def _own_page(on: OnPython, name: str) -> tuple[str, str, str] | None:
    """The page with a package's wheels for the installed PyTorch, and that PyTorch's release and build, if known."""
    from gpudoctor.knowledge.python_rules import python_rules

    torch, row = one_of(on.python, "torch"), python_rules().page_of.get(name)
    if row is None or torch is None:
        return None
    address, last, builds = row
    minor, build = ".".join(text_of(torch.version).split(".")[:2]), f"cu{text_of(torch.cuda).replace('.', '')}"
    if build not in builds or numbers(minor) > numbers(last):
        return None
    return address.format(torch=minor, build=build), minor, build


@check(
    title="A package was built for another PyTorch version",
    severity=Severity.WARNING,
    cause="Its compiled code works with only one PyTorch release, which its requirements or its version name, but "
    "another one is installed.",
    fixes=_fixes,
    references=(
        "https://github.com/vllm-project/vllm/issues/13608",
        "https://pytorch-geometric.readthedocs.io/en/latest/install/installation.html",
    ),
    targets=pythons,
    caused_by=("python.*", "packages.extension-abi", "packages.torchvision-mismatch", "pytorch.cpu-build"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def built_for_another_torch(on: OnPython) -> Problem | None:
    """Its requirement torch==X does not hold, or its version or record names another PyTorch or CUDA major."""
    found = _unmet(on)
    if found:
        first = found[0]
        there = f"torch {present(first.found)} is installed"
        message = f"{first.package} {first.version} requires {first.requires}; {there}{and_more(found)}."
        return Problem(message, tuple(f"{u.package} {u.version} requires {u.requires}" for u in found[:5]))
    if lacking := _without_library(on):
        package, releases = lacking
        installed = phrase(" {}", present(one_of(on.python, "torch")).version)
        span = f"{releases[0]} to {releases[-1]}" if releases[1:] else releases[0]
        message = (
            f"{package.name} {package.version} has libraries for PyTorch {span} only, each for one release; "
            f"torch{installed} is installed, for which it has none."
        )
        seen = tuple(name for name in package.libraries if releases[-1] in name)
        return Problem(message, seen, severity=Severity.ERROR, failing=package.name, breaks=(package.name,))
    tagged = _tagged(on)
    if not tagged:
        return None
    package, wanted = tagged[0]
    torch = one_of(on.python, "torch")
    number = phrase(" {}", torch.version) + phrase(" for CUDA {}", torch.cuda) if torch else ""
    there = f"torch{number} is installed{and_more(tagged)}"
    return Problem(f"{package.name} {package.version} is built for {wanted}; {there}.")
