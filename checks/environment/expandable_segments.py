"""PyTorch's allocator uses expandable segments where they fail."""

import re
from collections import Counter

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.torch_build import torch_verify
from gpudoctor.fixes.variables import assign, places
from gpudoctor.knowledge.variables import Expandable, variables
from gpudoctor.maybe import known, present, text_of
from gpudoctor.parsers.allocator_settings import settings
from gpudoctor.queries.allocator import NEWER, VARIABLE, allocator_variable
from gpudoctor.queries.driver import branch, driver_version
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers, package
from gpudoctor.queries.peers import has_links, may_have_peers
from gpudoctor.targets import ANY_GPU, OnFramework, on_wsl, torches
from gpudoctor.tasks import filtered, query

_OPTION = "expandable_segments"


def _are_on(on: OnFramework) -> str | None:
    """The variable that turns them on."""
    name = allocator_variable(on)
    values = [s.value for s in settings(on.facts.host.environment[name]) if s.name == _OPTION] if name else []
    return name if values[-1:] == ["True"] else None


def _row(on: OnFramework) -> Expandable | None:
    """The first row that applies here."""
    return next((row for row in variables().expandable if _is_of_release(on, row) and _is_here(on, row)), None)


def _is_of_release(on: OnFramework, row: Expandable) -> bool:
    owner = package(on.python, row.package)
    release = text_of(on.framework.version) if row.package == "torch" else owner.version if owner else ""
    return bool(release) and numbers(row.since) <= numbers(release) < numbers(row.before)


def _is_here(on: OnFramework, row: Expandable) -> bool:
    if row.place == "wsl" and not on_wsl(on.facts):
        return False
    if row.beside and not any(package(on.python, name) for name in row.beside):
        return False
    if row.last_driver and (branch(known(driver_version(on.facts))) or 0) > int(row.last_driver):
        return False
    gpus = [g for g in visible_gpus(on.facts) if not (row.spares and re.search(row.spares, known(g.name) or ""))]
    return _share_buffers(gpus) if row.gpus > 1 else bool(gpus)


def _share_buffers(gpus: list[Gpu]) -> bool:
    """Whether vLLM's custom all-reduce runs on some of them: over NVLink, else on PCIe between no more than two.

    With MIG a process gets one instance alone.
    """
    peers = [gpu for gpu in gpus if may_have_peers(gpu) and gpu.mig is not True]
    alike = Counter(gpu.name for gpu in peers).values()
    if sum(map(has_links, peers)) > 1 or 2 in alike:
        return True
    if any(count > 2 for count in alike):
        for gpu in peers:
            known(gpu.nvlinks)
    return False


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    row, name = _row(on), present(_are_on(on))
    others = [f"{s.name}:{s.value}" for s in settings(on.facts.host.environment[name]) if s.name != _OPTION]
    value = ",".join((f"{_OPTION}:False", *others))
    message = f"Turn expandable segments off, also where the variable is set: {places(on.facts)}."
    # Where another package shares such memory between GPUs, PyTorch alone computes all the same.
    own = row is not None and row.package == "torch"
    verify = torch_verify(on.python) if own else filtered(query("env"), query("grep", f"^{name}="))
    return (assign(name, value, f"{message} {row.instead if row else ''}".rstrip(), verify),)


@check(
    title="Expandable segments of PyTorch's allocator fail here (PYTORCH_CUDA_ALLOC_CONF)",
    severity=Severity.WARNING,
    cause="With expandable segments PyTorch reserves addresses and maps memory into them piece by piece (CUDA's "
    "virtual memory management, VMM). Some drivers and interfaces do not take such memory. Recipes for training "
    "set the option to save memory, and shells and images pass it on to every other program.",
    fixes=_fixes,
    references=(
        "https://github.com/vllm-project/vllm/issues/42609",
        "https://github.com/OpenRLHF/OpenRLHF/issues/1011",
        "https://github.com/pytorch/pytorch/issues/192330",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf",
    ),
    targets=torches,
    only_with=(f"host.environment={VARIABLE},{NEWER} {ANY_GPU}",),
    caused_by=("python.*", "environment.allocator-settings"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def expandable_segments(on: OnFramework) -> Problem | None:
    """The option is on, and a row of the table applies to this machine."""
    if not (VARIABLE in on.facts.host.environment or NEWER in on.facts.host.environment):
        return None
    if known(on.framework.cuda) is None or not numbers(known(on.framework.version) or ""):
        return None
    name = _are_on(on)
    row = _row(on) if name else None
    if name is None or row is None:
        return None
    owner = package(on.python, row.package)
    who = on.name if row.package == "torch" or owner is None else f"{owner.name} {owner.version}"
    value = on.facts.host.environment[name]
    return Problem(
        f"{name} turns expandable segments on, which fail with {who} here: {row.effect}.", (f"{name}={value}",)
    )
