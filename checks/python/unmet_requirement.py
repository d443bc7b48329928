"""Requirements of the installed frameworks and GPU packages that are not met."""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, Package, PackageImport, UnmetRequirement
from gpudoctor.fixes.python import install, without_user_site
from gpudoctor.fixes.reinstall import same_again
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge.wanted import is_extension, is_framework, module_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or, text_of
from gpudoctor.parsers.metadata import normalise
from gpudoctor.queries.frameworks import first_line, is_triton, one_of, other_triton
from gpudoctor.queries.loading import failures
from gpudoctor.queries.other_vendor import found_in
from gpudoctor.queries.packages import need_numpy1, numbers, package
from gpudoctor.queries.release_families import MixedReleases, mixed
from gpudoctor.targets import NAMES, OnPython, pythons
from gpudoctor.tasks import Task

_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _name(unmet: UnmetRequirement) -> str:
    """What is required: "triton" of "triton==3.3.1"."""
    found = _NAME.match(unmet.requires)
    return found[0] if found else unmet.requires


def _left(on: OnPython) -> list[UnmetRequirement]:
    """Those that no other check reports, the worst first."""
    strangers = {one.package for one in found_in(on)}  # what these require is of the other vendor, too
    left = [u for u in on.python.unmet if u.package not in strangers and not _reported_elsewhere(on, u)]
    errors = {id(u): _failing(on, u) for u in left}
    fails = {id(u): _victim(on, u) is not None or errors[id(u)] is not None for u in left}
    own = {id(u) for u in left if (failing := errors[id(u)]) and failing[0].package == u.package}
    return sorted(
        left,
        key=lambda u: (not fails[id(u)], id(u) not in own, u.found is not None, is_triton(u), not _is_close(u)),
    )


def _reported_elsewhere(on: OnPython, unmet: UnmetRequirement) -> bool:
    """NVIDIA's wheels, Triton, torch extensions, JAX's parts and families have their own checks for wrong releases.

    Of what is missing entirely, only the libraries that a framework may get from elsewhere have one.
    """
    name = _name(unmet)
    if name.startswith("nvidia-"):
        return True
    if name == "torch" and unmet.found is None:  # where its files are there, its metadata is what is missing
        return one_of(on.python, "torch") is not None
    if unmet.found is not None and any(_are_of(found, name, unmet.package) for found in mixed(on.python)):
        return True
    if name == "numpy" and not need_numpy1(on.python) and _failing(on, unmet):
        return False
    about_torch = name == "torch" and (is_extension(unmet.package) or unmet.package == "vllm")
    return unmet.found is not None and (
        name.startswith("jax") or about_torch or name == "numpy" or unmet is other_triton(on.facts, on.python)
    )


def _are_of(found: MixedReleases, *names: str) -> bool:
    return all(found.family.pattern_of(name) for name in names)


def _is_close(unmet: UnmetRequirement) -> bool:
    """Whether a framework itself requires it."""
    return is_framework(module_of(unmet.package) or "") or unmet.package.startswith("jax")


def _failing(on: OnPython, unmet: UnmetRequirement) -> tuple[PackageImport, str] | None:
    """The package whose import ends with an error about it, and that error.

    It names what is required, and it is the import of who asks for it, or names that, or what was found: "Numba needs
    NumPy 2.2 or less. Got NumPy 2.3.", "huggingface-hub<1.0 is required ..., but found huggingface-hub==1.0.1". Or it
    is the import of what was found, in a release that is not for the others.
    """
    name = re.sub(r"[-_.]+", "[-_.]", _name(unmet).lower())
    for one, error in failures(on.python) if unmet.found else ():
        if one.package == normalise(_name(unmet)) and not one.dependent:
            return one, error
        text = error.lower()
        named = one.package == unmet.package or any(w in text for w in (unmet.package.lower(), unmet.found or ""))
        if named and re.search(rf"\b{name}\b", text):
            return one, error
    return None


def _victim(on: OnPython, unmet: UnmetRequirement) -> Framework | None:
    """The framework that fails because it is missing."""
    return next((f for f in on.python.frameworks if _fails(f, unmet)), None)


def _fails(framework: Framework, unmet: UnmetRequirement) -> bool:
    """Whether a framework's import names it, or a part of the framework without which it finds no GPU is missing."""
    live, name = framework.live, _name(unmet).lower()
    if live is None:
        return False
    if live.import_error:
        word = re.sub(r"[-_.]+", "[-_.]", name)  # typing-extensions is imported as typing_extensions
        return re.search(rf"\b{word}\b", live.import_error.lower()) is not None
    part = name.startswith(f"{framework.name}-") and unmet.package.startswith(framework.name)
    return part and unmet.found is None and live.available is False


def _numpy(on: OnPython, left: list[UnmetRequirement]) -> list[str]:
    """NumPy 1 where the framework that fails needs that as well: its import ends at the first of its errors."""
    victims = {victim.name for u in left if (victim := _victim(on, u))}
    if not victims & {module_of(p.name) for p in need_numpy1(on.python)}:
        return []
    there = package(on.python, "numpy")
    wrong = numbers(there.version) >= (2,) if there else any(_name(u) == "numpy" for u in left)
    return ["numpy<2"] if wrong else []


def _specs(on: OnPython, unmet: Iterable[UnmetRequirement]) -> Iterator[str]:
    """What is required, each package once: where several require it, what all of them take, if anything is."""
    from gpudoctor.fixes.bounds import bounded  # for few of the environments that are asked

    by_name: dict[str, list[str]] = {}
    for one in unmet:
        by_name.setdefault(_name(one), []).append(one.requires.replace(" ", ""))
    for name, every in by_name.items():
        several = len({*every}) > 1
        whole = bounded(on.python, name) if several else None
        yield from [whole] if whole and whole != name else dict.fromkeys(every)


def _together(on: OnPython, left: list[UnmetRequirement]) -> Fix | None:
    """Pip chooses a release of what requires too much, where another package takes nothing of what that asks for."""
    from gpudoctor.fixes.bounds import clash  # for few of the environments that are asked

    # PyTorch and what comes with it are of one index and one build.
    if not left or left[0].found is None or one_of(on.python, "torch") is not None:
        return None
    first = left[0]
    users = (package(on.python, name) for name in clash(on.python, first.requires, but=(first.package,)))
    others = [one for one in users if one]
    if not others:
        return None
    extra = "[and-cuda]" if first.package == "tensorflow" and package(on.python, "nvidia-cudnn-cu12") else ""
    kept = [f"{one.name}=={one.version}" for one in others]
    names = " and ".join(one.name for one in others)
    message = (
        f"Let pip choose a release of {first.package} that works with the installed {names}: both require "
        f"{_name(first)}, and no release of it suits both."
    )
    task = install(on.python, f"{first.package}{extra}", *kept)
    return Fix(message, (task,), "reinstall-package", verify=_proof(on, left))


def _hidden(on: OnPython, unmet: UnmetRequirement) -> Package | None:
    """The environment's own copy that is right, where the one that was found lies before it in ~/.local."""
    user, there = text_of(on.python.user_site), known_or(on.python.packages, ())
    copies = [one for one in there if one.name == normalise(_name(unmet))]
    asking = next((one for one in there if one.name == unmet.package), None)
    if not user or len(copies) < 2 or copies[0].directory != user or asking is None or asking.directory == user:
        return None
    from packaging.requirements import Requirement  # 45 ms, where there are several copies alone

    specifier = Requirement(unmet.requires).specifier
    return next((one for one in copies[1:] if specifier.contains(one.version, prereleases=True)), None)


def _proof(on: OnPython, left: list[UnmetRequirement]) -> Task | None:
    """The import that fails for it; where none does, whether the frameworks work."""
    from gpudoctor.fixes.loading import import_proof  # for few of the environments that are asked

    failing = next((failing for u in left if (failing := _failing(on, u))), None)
    if failing is None or any(_victim(on, u) for u in left):
        return framework_proof(on.python)
    return import_proof(on, failing[0])


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    from gpudoctor.fixes.bounds import clash  # for few of the environments that are asked

    left = _left(on)
    if left and all(_hidden(on, one) for one in left):
        return (without_user_site(_proof(on, left)),)
    if together := _together(on, left):
        return (together,)
    torch = [u for u in left if _name(u) == "torch" and u.found is None and "==" in u.requires]
    specs = [*_specs(on, [u for u in left if u not in torch]), *_numpy(on, left)]
    # PyTorch itself comes from the same index as its companions: PyPI's wheel may be for another CUDA.
    commands = [same_again(on.python, "torch", u.requires.partition("==")[2].strip()) for u in torch[:1]]
    commands += [install(on.python, *specs)] if specs else []
    message = "Install exactly the required versions."
    several = len({_name(u) for u in left}) < len({u.requires for u in left})
    if several or any(clash(on.python, u.requires, but=(u.package,)) for u in left):
        message += " If two packages require different versions, give each its own environment."
    return (Fix(message, tuple(commands), "reinstall-package", verify=_proof(on, left)),)


@check(
    title="Required packages are missing or have the wrong version (pip check)",
    severity=Severity.WARNING,
    cause="A later `pip install` may change a package that an earlier one needs, and `pip uninstall` may remove it; "
    "--no-deps does not install dependencies at all.",
    fixes=_fixes,
    references=(
        "https://pip.pypa.io/en/stable/cli/pip_check/",
        "https://packaging.python.org/en/latest/specifications/dependency-specifiers/",
    ),
    targets=pythons,
    only_with=("pythons.unmet",),
    caused_by=("python.*", "libraries.*"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    bearable=True,
    breaks_imports=True,
)
def unmet_requirement(on: OnPython) -> Problem | None:
    """What `pip check` reports for the packages that matter and their dependencies, and no other check does."""
    left = _left(on)
    if not left:
        return None
    required = [_name(u) for u in left]
    words = tuple(dict.fromkeys((*required, *(name.replace("-", "_") for name in required))))
    return replace(_problem(on, left), breaks=tuple({u.package for u in left}), words=words)


def _problem(on: OnPython, left: list[UnmetRequirement]) -> Problem:
    lines = tuple(f"{u.package} {u.version} requires {u.requires}, found: {u.found or 'nothing'}" for u in left)
    own = _hidden(on, left[0])
    more = f" in ~/.local, which hides the environment's own {own.version}" if own else ""
    more += f" ({len(left) - 1} more)" if len(left) > 1 else ""
    victim, first = _victim(on, left[0]), left[0]
    if victim is None and (failing := _failing(on, first)):
        one, words = failing
        who = f"{one.package} {one.version}"
        message = f"{lines[0]}{more}, so {one.statement} fails ({who}): {first_line(words).rstrip('.')}."
        return Problem(message, lines[:6], severity=Severity.ERROR)
    if victim is None:
        if is_triton(first) and first.found is None:
            return Problem(f"{lines[0]}{more}: torch.compile fails.", lines[:6])
        # A Triton that is not reported elsewhere is of the same minor release, or compiles nothing here.
        mild = first.found is not None and (not _is_close(first) or is_triton(first))
        return Problem(f"{lines[0]}{more}.", lines[:6], severity=Severity.ADVICE if mild else None)
    error = victim.live.import_error if victim.live else None
    effect = "fails to import" if error else "finds no GPU"
    seen = (*([first_line(error)] if error else ()), *lines[:6])
    message = f"{lines[0]}{more}, so {NAMES.get(victim.name, victim.name)} {effect}."
    return Problem(message, seen, severity=Severity.ERROR)
