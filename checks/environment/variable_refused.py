"""A variable is set that the installed release of a package refuses, here or on this GPU."""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Facts, Gpu, Package
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.variables import places, unset
from gpudoctor.knowledge.variables import Refused, variables
from gpudoctor.maybe import known, present
from gpudoctor.parsers.visible_devices import listed
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.packages import numbers, package
from gpudoctor.queries.visibility import CUDA, read_cuda
from gpudoctor.targets import OnPython, gpu_name, pythons
from gpudoctor.tasks import Variable, export

_GPUS = {"nvidia": nvidia_gpus, "amd": amd_gpus}


class _Refusal(msgspec.Struct, frozen=True):
    """A row that applies here, the package, and the GPU that lacks the feature."""

    row: Refused
    owner: Package
    gpu: Gpu | None


def _found(on: OnPython) -> Iterator[_Refusal]:
    for row in variables().refused:
        if not _is_set(on.facts, row):
            continue
        owner = package(on.python, row.package)
        if owner is None or not numbers(row.since) <= numbers(owner.version) < numbers(row.before):
            continue
        if row.without and package(on.python, row.without):
            continue
        gpus = _GPUS[row.vendor](on.facts) if row.vendor else ()
        if row.capabilities:  # the values of different GPUs: one that has the feature may be the one that is used
            gpus = gpus if all(known(gpu.capability) in row.capabilities for gpu in gpus) else ()
        if gpus or not row.vendor:
            yield _Refusal(row, owner, gpus[0] if row.capabilities else None)


def _is_set(facts: Facts, row: Refused) -> bool:
    """Whether the variable has such a value, and the other one that the row names is as the row says."""
    values = facts.host.environment
    value, other = values.get(row.name), values.get(row.other, "")
    if value is None or not re.fullmatch(row.values, value.strip()):
        return False
    return {"": True, "unset": not other, "differs": bool(other) and other != value}[row.when]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    rows = {found.row.name: found.row for found in reversed(tuple(_found(on)))}
    why = " ".join(dict.fromkeys(row.instead for row in rows.values() if row.instead))
    fix, values = unset(on.facts, *rows, why=why), on.facts.host.environment
    if lacking := list(dict.fromkeys(row.without for row in rows.values() if row.without)):
        other = f"Install {' and '.join(lacking)}, which the variable asks for.{lasting(on.facts)}"
        # First what needs no network: pip itself does not get through a SOCKS proxy either.
        return fix, Fix(other, (install(on.python, *lacking),), "reinstall-package")
    moved = {row.other: values[name] for name, row in rows.items() if row.other and not values.get(row.other)}
    if not moved:
        return (*_by_index(on, rows), fix)
    message = f"Select the GPUs by {' and '.join(moved)} in place of {' and '.join(rows)}. {fix.message}"
    tasks = (*(export(name, value) for name, value in moved.items()), *fix.tasks)
    return (replace(fix, message=message, tasks=tasks, undo=(*fix.undo, *(Variable(name) for name in moved))),)


def _by_index(on: OnPython, rows: Iterable[str]) -> tuple[Fix, ...]:
    """Select the GPUs that UUIDs name by their indices instead; those of MIG instances have none of their own."""
    mask = read_cuda(on.facts, on.facts.host.environment.get(CUDA, "")) if CUDA in rows else None
    if mask is None or mask.bad is not None or not mask.visible or min(mask.visible) < 0:
        return ()
    message = f"Select the same GPUs by their indices, as nvidia-smi counts them, where it is set: {places(on.facts)}."
    tasks = (export("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), export(CUDA, listed(mask.visible)))
    return (Fix(message, tasks, "change-environment", needs="restart of the program"),)


@check(
    title="A variable is set that an installed package refuses",
    severity=Severity.ERROR,
    cause="Some packages end with an error where a variable has a value that they do not accept, contradicts another "
    "one, or demands a feature that this GPU does not have. Shell profiles, images and job scripts set such variables "
    "for other releases or other GPUs.",
    fixes=_fixes,
    references=(
        "https://huggingface.co/docs/huggingface_hub/concepts/migration",
        "https://github.com/ray-project/ray/issues/53737",
        "https://github.com/ray-project/ray/issues/52701",
        "https://github.com/vllm-project/vllm/issues/12429",
        "https://github.com/vllm-project/vllm/pull/35069",
        "https://github.com/vllm-project/vllm/issues/20939",
    ),
    targets=pythons,
    only_with=(
        f"host.environment={names(row.name for row in variables().refused)} pythons.packages?",
        f"pythons.packages.name={names(row.package for row in variables().refused)}",
    ),
    caused_by=("python.*", "visibility.cuda-unknown-uuid"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def variable_refused(on: OnPython) -> Problem | None:
    """A variable of the table is set, and the installed release refuses its value on this machine."""
    known(on.python.packages)
    found = tuple(_found(on))
    if not found:
        return None
    row, owner, gpu = found[0].row, found[0].owner, found[0].gpu
    values = on.facts.host.environment
    beside = f" and {row.other}={values[row.other]}" if row.when == "differs" else ""
    where = f" on {gpu_name(gpu)} (compute capability {present(gpu.capability)})" if gpu else ""
    others = sorted({one.row.name for one in found} - {row.name})
    more = f" The same applies to {', '.join(others)}." if others else ""
    message = f"{owner.name} {owner.version} refuses {row.name}={values[row.name]}{beside}{where}: {row.effect}.{more}"
    severity = Severity.WARNING if row.without else None  # programs that do not use it go on
    return Problem(message, tuple(f"{one.row.name}={values[one.row.name]}" for one in found), severity=severity)
