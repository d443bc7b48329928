"""Packages that do not know a GPU of this age or kind: they refuse it, or choose kernels that do not run on it."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package, PackageImport
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.fixes.variables import assign
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.python_rules import Ceiling, cuda_in_name, python_rules
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries.capability import gpu_words, sm
from gpudoctor.queries.frameworks import first_line
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.loading import failures, import_of, know_all
from gpudoctor.queries.packages import numbers, package, packages_of, release
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import ANY_GPU, OnPython, gpu_name, pythons

# A target that an error calls unknown or unsupported; those that it lists as supported follow a full stop or a bracket.
_REFUSED = pattern(
    r"(?i)\b(?:unknown|unsupported|invalid)\b[^.\[\n]{0,60}?\b(gfx[0-9a-f]{3,4}|sm_?\d{2,3})\b"
    r"|\b(gfx[0-9a-f]{3,4}|sm_?\d{2,3})\b['\"\])]{0,3}[^.\[\n]{0,40}\b(?:not supported|unsupported|invalid)\b"
)


class _Refusal(msgspec.Struct, frozen=True):
    """A package whose import refuses the target of a GPU, and the others that fail with it."""

    one: PackageImport
    error: str
    gpu: str
    others: tuple[str, ...]


def _targets_here(on: OnPython) -> dict[str, str]:
    """The targets of the visible GPUs as errors name them, each with the GPU's name."""
    amd = {text_of(gpu.gfx): gpu_name(gpu) for gpu in reversed(visible_amd(on.facts))}
    nvidia = {sm(c).replace("_", ""): gpu_name(g) for g in visible_gpus(on.facts) if (c := text_of(g.capability))}
    return amd | nvidia


def _refusal(on: OnPython) -> _Refusal | None:
    failing = [(one, error, target) for one, error in failures(on.python) if (target := _refused(error))]
    targets = _targets_here(on) if failing else {}
    found = [(one, error, targets[target]) for one, error, target in failing if target in targets]
    if not found:
        return None
    # The one that others use is where the error is from: they only import it.
    one, error, gpu = min(found, key=lambda each: each[0].package not in python_rules().switch_off)
    others = tuple(sorted({each.package for each, _, _ in found} - {one.package}))
    return _Refusal(one, error, gpu, others)


def _refused(error: str) -> str:
    """The target that an error calls unknown or unsupported: "gfx1201", "sm120"; "" where it names none."""
    match = _REFUSED.search(error)
    return (match[1] or match[2]).replace("_", "").lower() if match else ""


def _outgrown(on: OnPython) -> tuple[Ceiling, Package, str] | None:
    """A package whose release chooses kernels of an older generation for a visible GPU, with that GPU."""
    for row in python_rules().ceiling:
        found = next((p for p in packages_of(on.python) if _stem(p.name) == row.package), None)
        if found is None or not numbers(row.since) <= numbers(found.version) < numbers(row.before):
            continue
        if row.library and not any(name.startswith(row.library) for name in found.libraries):
            continue
        if row.wheels and "+" in found.version:
            continue
        if row.requires and not any(_plain(line).startswith(row.requires) for line in found.requires):
            continue
        for gpu in visible_gpus(on.facts):
            if version(known(gpu.capability) or "0") > version(row.capability):
                return row, found, gpu_words(gpu)
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    if refusal := _refusal(on):
        return _without(on, refusal)
    found = _outgrown(on)
    if found is None:
        return ()
    row, owner, _ = found
    if row.index:
        chosen = max(row.oldest, release(owner.version), key=numbers)
        message = f"Install the build of {owner.name} {chosen} for this GPU, from its own index.{lasting(on.facts)}"
        command = install(on.python, f"{owner.name}=={chosen}", index=row.index, force=True)
        return (Fix(message, (command,), "reinstall-package"),)
    fixes = [Fix(f"{'' if row.before == '999' else 'Or keep this release. '}{row.instead}")] if row.instead else []
    if row.before == "999":
        return tuple(fixes)
    first = row.newer or row.before
    message = f"Upgrade {owner.name} to {first} or newer{_its_torch(owner)}.{lasting(on.facts)}"
    newer = Fix(message, (install(on.python, f"{owner.name}>={first}"),), "reinstall-package")
    return (newer, *fixes)


def _plain(line: str) -> str:
    """A requirement without what older metadata writes around its version: "name (==1.0)"."""
    return line.replace(" ", "").replace("(", "").replace(")", "")


def _stem(name: str) -> str:
    return (cuda_in_name(name) or (name, ""))[0]


def _its_torch(owner: Package) -> str:
    return ", with the PyTorch that it requires" if any(line.startswith("torch") for line in owner.requires) else ""


def _is_logged(on: OnPython, row: Ceiling) -> bool:
    """Whether a service logged the message that shows it."""
    return any(line.symptom == row.symptom for line in known_or(on.facts.services.lines, ()))


def _without(on: OnPython, refusal: _Refusal) -> tuple[Fix, ...]:
    """Switch the package off where another one uses it, or remove it; a newer release may know the GPU."""
    name, fixes = refusal.one.package, []
    for user, variable in python_rules().switch_off.get(name, {}).items():
        if package(on.python, user):
            one = import_of(on.python, user)
            proof = import_proof(on, one) if one else None
            fixes.append(assign(variable, "0", f"Switch {name} off in {user}, which then uses its own kernels.", proof))
            message = f"Uninstall {name}, where {user} loads it although it is switched off.{lasting(on.facts)}"
            fixes.append(Fix(message, (uninstall(on.python, name),), "reinstall-package", verify=proof))
    newer = f"Use a release of {name} that supports this GPU, if there is one; an image may have a newer tag with it."
    return (*fixes, Fix(newer, verify=import_proof(on, refusal.one)))


@check(
    title="A package does not know this GPU's architecture",
    severity=Severity.ERROR,
    cause="The package has a list of the GPUs that it supports, or kernels for each generation. One that is older than "
    "the GPU, or that is made for data center GPUs, refuses it, or takes kernels that are not compiled for it.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/aiter/issues/3294",
        "https://github.com/vllm-project/vllm/pull/30952",
        "https://github.com/facebookresearch/xformers/issues/1251",
        "https://github.com/facebookresearch/xformers/issues/1329",
        "https://github.com/OpenNMT/CTranslate2/issues/1865",
        "https://github.com/PaddlePaddle/Paddle/issues/76037",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.packages?",),
    caused_by=("pytorch.arch-missing",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def gpu_unknown(on: OnPython) -> Problem | None:
    """An import refuses the target of a visible GPU, or a row of the table is about one."""
    known(on.python.packages)
    if refusal := _refusal(on):
        one, others = refusal.one, refusal.others
        more = f" The same applies to {', '.join(others)}." if others else ""
        why = first_line(refusal.error).rstrip(".")
        message = f"{one.package} {one.version} does not support {refusal.gpu}: {why}.{more}"
        return Problem(message, (refusal.error[:500],))
    found = _outgrown(on)
    if found is None:
        if visible_gpus(on.facts) or visible_amd(on.facts):
            know_all(on.python)
        return None
    row, owner, gpu = found
    message = f"{owner.name} {release(owner.version)} {row.effect.format(gpu=gpu)}."
    mild = bool(row.symptom) and not _is_logged(on, row)
    return Problem(message, severity=Severity.ADVICE if mild else Severity.WARNING)
