"""A package that needs another release of one next to it, which its metadata does not say."""

import re

from msgspec.structs import replace

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.release_families import Undeclared, release_families
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import import_of
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnPython, on_wsl, pythons


def _broken(on: OnPython) -> tuple[Undeclared, Package, Package | None] | None:
    """The first row that does not hold, with the two packages; None in place of one that is not installed."""
    for row in release_families().undeclared:
        owner, other = package(on.python, row.package), package(on.python, row.other)
        if owner is None or not _concerns(on, row, owner):
            continue
        if row.extra:
            row = replace(row, wanted=_named_by_extra(row, owner))
        if not _holds(on, row, other):
            return row, owner, other
    return None


def _concerns(on: OnPython, row: Undeclared, owner: Package) -> bool:
    """Whether a row is about this release of the package and this build of PyTorch."""
    torch = one_of(on.python, "torch")
    if row.build and (torch is None or torch.variant != row.build):
        return False
    if row.cuda and (torch is None or text_of(torch.cuda).partition(".")[0] != row.cuda):
        return False
    return numbers(row.since) <= numbers(owner.version) < numbers(row.before)


def _named_by_extra(row: Undeclared, owner: Package) -> str:
    """The release that an extra of the package pins, as the lowest that it takes: ">=0.1.4"; "" where it names none."""
    line = re.compile(rf"{re.escape(row.other)}\s*\(?==\s*([\w.]+)\)?\s*;.*extra == ['\"]{row.extra}['\"]")
    found = next((match for text in owner.requires if (match := line.match(text))), None)
    return f">={found[1]}" if found else ""


def _holds(on: OnPython, row: Undeclared, other: Package | None) -> bool:
    if row.library:
        return other is not None or any(lib.soname == row.library for lib in known(on.facts.toolkits.libraries))
    if row.extra and not row.wanted:
        return True
    if other is None:
        return bool(row.wanted) or on_wsl(on.facts) or _is_on_path(on, row.other)
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
    row, owner, _ = found
    if row.library:
        message = f"Install {owner.name} {row.before} or newer, which opens the library of either CUDA release."
        command = install(on.python, f"{owner.name}>={row.before}")
    elif row.extra:
        pin = row.wanted.replace(">=", "==")
        message = f"Install {row.other}{pin}, the release that {owner.name}[{row.extra}] {owner.version} requires."
        command = install(on.python, f"{row.other}{pin}")
    elif not row.wanted:
        return _install_amdsmi(on, row.other)
    else:
        message = f"Install {row.other}{row.wanted}, or {owner.name} {row.before} or newer."
        command = install(on.python, f"{row.other}{row.wanted}")
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package"),)


def _install_amdsmi(on: OnPython, name: str) -> tuple[Fix, ...]:
    """Install the module of the ROCm that is here, whose library it calls: another release lacks functions."""
    rocm = known_or(on.facts.amd.rocm_path, None)
    source = f"{rocm}/share/amd_smi" if rocm else name
    of = "that ROCm contains (package amd-smi-lib)" if rocm else "of the ROCm release that PyTorch is built for"
    message = f"Install the {name} module {of}.{lasting(on.facts)}"
    proof = verify(on.python, f"import {name}; {name}.amdsmi_init()")
    return (Fix(message, (install(on.python, source),), "reinstall-package", verify=proof),)


@check(
    title="A package needs another one, or another release of it, that its metadata does not name",
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
    ),
    targets=pythons,
    only_with=(f"pythons.packages.name={names(row.package for row in release_families().undeclared)}",),
    caused_by=("python.*", "libraries.pin-broken"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def undeclared_requirement(on: OnPython) -> Problem | None:
    """A row of the table of requirements that no metadata names does not hold."""
    known(on.python.packages)
    found = _broken(on)
    if found is None:
        return None
    row, owner, other = found
    name = f"{owner.name} {owner.version}"
    if row.library:
        message = f"{name} opens {row.library} and no other, which is not found; PyTorch contains CUDA {row.cuda}'s"
        return Problem(f"{message}: {row.effect}.")
    if other is None:
        message = f"{name} needs {row.other}, which is not installed in this environment: {row.effect}."
        # An import that fails over something else shows that the program does not come so far.
        one = import_of(on.python, owner.name)
        elsewhere = one is not None and isinstance(one.error, str) and row.other not in one.error
        return Problem(message, severity=None if elsewhere else Severity.ERROR)
    return Problem(f"{name} needs {row.other}{row.wanted}; {other.version} is installed: {row.effect}.")
