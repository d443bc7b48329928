"""A package that needs another release of one next to it, which its metadata does not say."""

import re

import msgspec
from msgspec.structs import replace

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes import amd_smi
from gpudoctor.fixes.bounds import bounded, clash
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.release_families import Undeclared, release_families
from gpudoctor.maybe import Unknown, known, known_or, text_of
from gpudoctor.queries.frameworks import first_line, one_of
from gpudoctor.queries.loading import import_of
from gpudoctor.queries.packages import numbers, package, release
from gpudoctor.queries.release_families import undeclared
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPython, on_wsl, pythons
from gpudoctor.tasks import Command, Task, export

_AMDSMI = "amdsmi"  # a part of ROCm, which has no use in WSL


class _Broken(msgspec.Struct, frozen=True):
    """A row that does not hold, with the two packages, and the error of the import that shows it."""

    row: Undeclared
    owner: Package
    other: Package | None  # None: it is not installed
    error: str = ""


def _broken(on: OnPython) -> _Broken | None:
    """The first row that does not hold; one that an import shows first, what most programs never meet last."""
    found = [_seen(on, row, owner) for row, owner in undeclared(on.facts, on.python)]
    broken = [one for one in found if one is not None]
    return min(broken, key=lambda one: (not one.error, one.row.seldom), default=None)


def _seen(on: OnPython, row: Undeclared, owner: Package) -> _Broken | None:
    """A row that does not hold; where its package fails at import, what the import did decides if that is known."""
    other = package(on.python, row.other)
    if _holds(on, row, other):
        return None
    one = import_of(on.python, owner.name) if row.error else None
    if one is None or isinstance(one.error, Unknown):
        return _Broken(row, owner, other)
    return _Broken(row, owner, other, one.error) if one.error and re.search(row.error, one.error) else None


def _holds(on: OnPython, row: Undeclared, other: Package | None) -> bool:
    if row.library:
        return other is not None or any(lib.soname == row.library for lib in known(on.facts.toolkits.libraries))
    if row.extra and not row.wanted:
        return True
    if other is None:
        return bool(row.wanted) or (row.other == _AMDSMI and on_wsl(on.facts)) or _is_on_path(on, row.other)
    older = numbers(other.version) < numbers(row.wanted.lstrip("<>="))
    return not row.wanted or older == row.wanted.startswith("<")


def _is_on_path(on: OnPython, module: str) -> bool:
    """Whether a directory of sys.path has the module's own name: /opt/rocm/share/amd_smi, which holds amdsmi."""
    names = (path.rstrip("/").rpartition("/")[2].replace("_", "") for path in known(on.python.sys_path))
    return module in names


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _broken(on)
    if found is None:
        return ()
    row, owner = found.row, found.owner
    proof = _proof(on, found)
    if row.library:
        message = f"Install {owner.name} {row.before} or newer, which opens the library of either CUDA release."
        command = install(on.python, f"{owner.name}>={row.before}")
    elif row.extra:
        pin = row.wanted.replace(">=", "==")
        message = f"Install {row.other}{pin}, the release that {owner.name}[{row.extra}] {owner.version} requires."
        command = install(on.python, f"{row.other}{pin}")
    elif row.other == _AMDSMI:
        return _install_amdsmi(on, row.other)
    elif not row.wanted:
        newer = f"; or {owner.name} {row.before} or newer, with the PyTorch that requires it"
        message = f"Install {row.other}{newer if row.before != '999' else ''}."
        command = install(on.python, f"{row.other}{_to_install(on, row)}")
    elif row.other in BY_MODULE and not row.newer:  # what is compiled against it stays
        older = f"{owner.name}<{_first_without(row, found.other)}"
        taken = clash(on.python, older)
        if taken and (upgraded := _newer_framework(on, row)):
            return tuple(replace(fix, verify=proof or fix.verify) for fix in upgraded)
        held = f" {' and '.join(taken)} cannot use that." if taken else ""
        message = f"Install {older}, which works with this {row.other}; or {row.other}{row.wanted}.{held}"
        within = bounded(on.python, owner.name, own=older.removeprefix(owner.name))
        command = install(on.python, within or older)
    else:
        message, command = _of_another_release(on, found)
    if row.switch and not row.seldom:
        return _past_its_check(on, found)
    fix = Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=proof)
    if row.optional:
        gone = f"Without compiling: remove {row.other}; {owner.name} then computes the same with PyTorch, slower."
        return fix, Fix(f"{gone}{lasting(on.facts)}", (uninstall(on.python, row.other),), "reinstall-package")
    if not row.switch:
        return (fix,)
    off = f"Turn the check of {owner.name} off, if your models do not use what it is about."
    return fix, Fix(off, (export(row.switch, "1"),), "change-environment")


def _to_install(on: OnPython, row: Undeclared) -> str:
    """The release to install, by the one of TensorFlow where the row says so."""
    there = one_of(on.python, "tensorflow")
    minor = ".".join(map(str, numbers(text_of(there.version if there else ""))[:2]))
    return row.install.format(tensorflow=minor) if minor or "{" not in row.install else ""


def _first_without(row: Undeclared, other: Package | None) -> str:
    """The first release of the package that does not work with the other one in the release that is here."""
    version = numbers(other.version if other else "0")
    rows = (one for one in release_families().undeclared if (one.package, one.other) == (row.package, row.other))
    found = [one.since for one in rows if one.wanted[:2] == ">=" and version < numbers(one.wanted[2:])]
    return min(found, key=numbers, default=row.since)


def _newer_framework(on: OnPython, row: Undeclared) -> tuple[Fix, ...]:
    """Install the PyTorch that a package needs, where one supports this GPU, driver and Python."""
    from gpudoctor.fixes.torch_build import torch_since  # few need it

    wanted = row.wanted.startswith(">=") and row.other == "torch"
    return torch_since(on.facts, on.python, row.wanted[2:]) if wanted else ()


def _of_another_release(on: OnPython, found: _Broken) -> tuple[str, Command]:
    """The other package in a release that fits, or the package itself in a newer one where that is better."""
    row, owner = found.row, found.owner
    spec, newest = row.install or row.wanted, f"{owner.name}>={row.before}"
    helps = row.before != "999" and not row.switch and not row.optional and not clash(on.python, newest)
    # A newer library of NVIDIA's serves what pins an older one of its major.
    of_nvidia = row.other.startswith("nvidia-")
    taken = () if of_nvidia else clash(on.python, f"{row.other}{spec.rpartition(']')[2]}", but=(owner.name,))
    if helps and (row.newer or taken):
        kept = bounded(on.python, row.other, but=(owner.name,)) if taken else None
        other = f"; {' and '.join(taken)} cannot use {row.other}{spec}" if taken else f", or {row.other}{spec}"
        specs = (newest, *([kept] if kept and kept != row.other else []))
        return f"Install {owner.name} {row.before} or newer{other}.", install(on.python, *specs)
    older = f"{owner.name}<{row.since}"
    if taken and row.wanted.startswith(">") and not clash(on.python, older):
        message = f"Install {older}, which works with this {row.other}: {' and '.join(taken)} cannot use a newer one."
        return message, install(on.python, older)
    later = f", or {owner.name} {row.before} or newer" if helps else ""
    message = f"Install {row.other}{spec}{later}.{_past_pins(on, row, found.other)}"
    if taken:
        message += f" {' and '.join(taken)} cannot use that: give each its own environment."
    along = [name for name in row.along if package(on.python, name) is not None]
    return message, install(on.python, f"{row.other}{spec}", *along, options=row.options)


def _past_its_check(on: OnPython, found: _Broken) -> tuple[Fix, ...]:
    """For a package that only refuses releases that it was not tested with: that check off, or the package gone."""
    row, owner = found.row, found.owner
    off = f"Turn the check of {owner.name} off: it refuses releases of {row.other} that it was not tested with."
    fix = Fix(off, (export(row.switch, "1"),), "change-environment", needs="restart of the program")
    if any(re.match(rf"{owner.name}\b", line) for p in known(on.python.packages) for line in p.requires):
        return (fix,)
    gone = f"Remove {owner.name}, where your programs use it only if it is there: PyTorch has attention of its own."
    return fix, Fix(f"{gone}{lasting(on.facts)}", (uninstall(on.python, owner.name),), "reinstall-package")


def _past_pins(on: OnPython, row: Undeclared, other: Package | None) -> str:
    """That pip names a conflict, where another package pins the release that is here: PyTorch does its libraries."""
    pin = re.compile(rf"{re.escape(row.other)}\s*\(?==\s*{re.escape(release(other.version))}") if other else None
    pinning = next((p.name for p in known(on.python.packages) for r in p.requires if pin and pin.match(r)), None)
    if pinning is None or not row.other.startswith("nvidia-"):
        return ""
    return (
        f" pip reports a conflict with the release that {pinning} pins, and installs it: newer releases of one major "
        f"serve what was built with an older one."
    )


def _proof(on: OnPython, found: _Broken) -> Task | None:
    one = import_of(on.python, found.owner.name)
    return import_proof(on, one) if one and found.row.error else None


def _install_amdsmi(on: OnPython, name: str) -> tuple[Fix, ...]:
    """Install the module of the ROCm that is here, whose library it calls: another release lacks functions."""
    rocm = known_or(on.facts.amd.rocm_path, None)
    of = "that ROCm contains (package amd-smi-lib)" if rocm else "of the ROCm release that PyTorch is built for"
    if amd_smi.of_wheels(on):
        of = "that ROCm's wheels contain"
    message = f"Install the {name} module {of}.{lasting(on.facts)}"
    proof = verify(on.python, f"import {name}; {name}.amdsmi_init()")
    return (Fix(message, (install(on.python, amd_smi.source(on)),), "reinstall-package", verify=proof),)


@check(
    title="A requirement that the package does not declare is missing or has the wrong version",
    severity=Severity.WARNING,
    cause="The package uses an interface or a library that only some releases of the other one have, or imports it to "
    "recognize the GPU, but does not require it in its metadata: pip installs or keeps any release or none, and "
    "`pip check` reports nothing.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/pull/1455",
        "https://github.com/vllm-project/vllm/issues/12847",
        "https://github.com/vllm-project/vllm/issues/12386",
        "https://github.com/vllm-project/vllm/issues/24576",
        "https://github.com/NVIDIA/cudnn-frontend/issues/207",
        "https://github.com/verl-project/verl/issues/1832",
        "https://github.com/unslothai/notebooks/pull/258",
        "https://github.com/triton-lang/triton/issues/5090",
        "https://github.com/facebookresearch/xformers/issues/1295",
        "https://github.com/huggingface/transformers/issues/46291",
        "https://github.com/state-spaces/mamba/issues/257",
    ),
    targets=pythons,
    only_with=(f"pythons.packages.name={names(row.package for row in release_families().undeclared)}",),
    caused_by=("python.*", "libraries.pin-broken", "packages.wrong-vendor"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def undeclared_requirement(on: OnPython) -> Problem | None:
    """A row of the table of requirements that no metadata names does not hold."""
    known(on.python.packages)
    found = _broken(on)
    if found is None:
        return None
    # What fails later than at import explains no import that fails over something else: cuda-python brings cuda.
    one = import_of(on.python, found.owner.name)
    error = one.error if one is not None and isinstance(one.error, str) else found.row.other
    breaks = found.owner.name if found.row.other.partition("-")[0] in error else found.row.other
    return replace(_problem(on, found), breaks=(breaks,), words=(found.row.library or found.row.other,))


def _problem(on: OnPython, found: _Broken) -> Problem:
    row, owner, other, error = found.row, found.owner, found.other, found.error
    name = f"{owner.name} {owner.version}"
    if row.library:
        message = f"{name} opens {row.library} and no other, which is not found; PyTorch contains CUDA {row.cuda}'s"
        return Problem(f"{message}: {row.effect}.")
    if other is None:
        message = f"{name} needs {row.other}, which is not installed in this environment: {row.effect}."
        if error:
            return Problem(message, (error[:500],), severity=Severity.ERROR)
        # An import that fails over something else shows that the program does not come so far.
        one = import_of(on.python, owner.name)
        elsewhere = one is not None and isinstance(one.error, str) and row.other not in one.error
        weak = Severity.ADVICE if row.seldom else None
        return Problem(message, severity=weak if elsewhere or row.other != _AMDSMI else Severity.ERROR)
    message = f"{name} needs {row.other}{row.wanted}; {other.version} is installed: {row.effect}"
    if error:
        text = f"{message}: {first_line(error).rstrip('.')}."
        return Problem(text, (error[:500],), severity=Severity.ERROR)
    severity = Severity.ADVICE if row.seldom else Severity.ERROR if row.fails else None
    return Problem(f"{message}.", severity=severity)
