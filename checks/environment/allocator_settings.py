"""PyTorch's allocator rejects PYTORCH_CUDA_ALLOC_CONF."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.torch_build import torch_verify
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.knowledge.variables import allocator_option, variables
from gpudoctor.maybe import known, present
from gpudoctor.parsers.allocator_settings import Setting, settings
from gpudoctor.parsers.spelling import nearest
from gpudoctor.queries.allocator import NEWER, VARIABLE, allocator_variable
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, torches


def _wrong(on: OnFramework, one: Setting) -> str | None:
    """Why this release rejects an option."""
    state = allocator_option(one.name, present(on.framework.version))
    if state == "too new":
        return f"the option {one.name} needs a later release"
    if state == "dropped":
        return f"{one.name} was removed after PyTorch {variables().allocator.options[one.name][1]}"
    near = _near(one.name)
    if state == "unknown" or (state == "unsure" and near):
        known_as = f" ({near}?)" if near else ""
        return one.wrong if "=" in one.name else f"there is no option {one.name}{known_as}"
    return one.wrong if state == "known" else None


def _near(name: str) -> str | None:
    return nearest(name.partition("=")[0], variables().allocator.options, 0.85)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    name = present(allocator_variable(on))
    value = on.facts.host.environment.get(name, "")
    good = ",".join(f"{s.name}:{s.value}" for s in settings(value) if _wrong(on, s) is None)
    verify = torch_verify(on.python)
    fixes = [assign(name, good, "Keep only the options that this PyTorch supports.", verify)] if good else []
    return (*fixes, unset(on.facts, name, verify=verify))


# c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h, and the variable itself.
_READERS = ("AllocatorConfig", "CUDAAllocatorConfig", "ConfigTokenizer", VARIABLE, NEWER)


@check(
    title="PyTorch rejects PYTORCH_CUDA_ALLOC_CONF",
    severity=Severity.ERROR,
    cause="PyTorch reads the variable when it first allocates GPU memory, and raises an error for an option or value "
    "that it does not know. Options depend on the release: an older PyTorch rejects what a newer one recommends.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/123505",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf",
    ),
    targets=torches,
    only_with=(f"host.environment={VARIABLE},{NEWER}",),
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def allocator_settings(on: OnFramework) -> Problem | None:
    """An option that this release does not know, or a value that none accepts."""
    env = on.facts.host.environment
    if (VARIABLE not in env and NEWER not in env) or known(on.framework.cuda) is None or not visible_gpus(on.facts):
        return None
    release = known(on.framework.version)
    name = allocator_variable(on)
    if name is None or release is None or not numbers(release):
        return None
    wrong = [why for one in settings(env[name]) if (why := _wrong(on, one))]
    if not wrong:
        return None
    evidence = (f"{name}={env[name]}", *wrong[1:])
    # Some releases read it while they are imported: an import fails by it where the error names its reader.
    return Problem(f"{on.name} rejects {name}: {wrong[0]}.", evidence, breaks=(name,), words=_READERS)
