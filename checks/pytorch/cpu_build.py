"""PyTorch without GPU support next to a GPU."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu, Python
from gpudoctor.fixes.pin import keep_build
from gpudoctor.fixes.python import conda_of, manager_of
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import torch
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.history import framework_change, framework_line
from gpudoctor.targets import ANY_GPU, OnFramework, gpu_name, gpus_of, torches
from gpudoctor.tasks import unset


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    gpu, chosen = _usable(on), _chosen(on.facts)
    fixes = reinstall_torch(on.facts, on.python, on.framework, gpu, keep=True) if gpu else ()
    later = keep_build(on) if fixes else ()
    if chosen is None or not fixes:
        return (*fixes, *later)
    name = chosen[0]
    message = f"{fixes[0].message} First unset {name}, here and where it is set: it selects CPU builds again."
    first = msgspec.structs.replace(fixes[0], message=message, tasks=(unset(name), *fixes[0].tasks))
    return (first, *fixes[1:], *later)


def _chosen(facts: Facts) -> tuple[str, str] | None:
    """A variable by which uv or pip takes PyTorch's CPU builds, and its value."""
    environment = facts.host.environment
    for name in ("UV_TORCH_BACKEND", "UV_INDEX_URL", "PIP_INDEX_URL", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        value = environment.get(name, "")
        if value == "cpu" or value.rstrip("/").endswith("/whl/cpu"):
            return name, value
    return None


def _usable(on: OnFramework) -> Gpu | None:
    """A GPU that some PyTorch wheel has code for; a CPU build next to any other is right."""
    jetson = on.facts.host.platform == "jetson"
    for gpu in nvidia_gpus(on.facts):
        if jetson or not isinstance(gpu.capability, str) or torch.wheel_for(gpu.capability):
            return gpu
    return next(iter(amd_gpus(on.facts)), None)


def _why(python: Python) -> tuple[str, str] | None:
    """What holds conda's CPU build in place: the reason, and what was seen."""
    there = {c.name: c for c in conda_of(python)}
    mutex, build = there.get("pytorch-mutex"), there.get("pytorch")
    seen = "; ".join(f"{c.name} {c.version} {c.build}" for c in (build, mutex, there.get("cpuonly")) if c)
    if mutex and mutex.build.startswith("cpu"):
        return (
            "conda installed the CPU build because pytorch-mutex (cpu) or cpuonly selects it; cudatoolkit does not "
            "change that.",
            seen,
        )
    if build and "cpu" in build.build and manager_of(python) == "pixi":
        return (
            "pixi installs CPU builds unless its file declares CUDA as a system requirement: it does not look at the "
            "machine that it runs on.",
            seen,
        )
    if build and "cpu" in build.build:
        return "conda installed the CPU build of PyTorch, as its build string shows.", seen
    return None


def _by_variable(facts: Facts) -> tuple[str, str] | None:
    chosen = _chosen(facts)
    if chosen is None:
        return None
    return f"{chosen[0]} makes the installer select PyTorch's CPU builds.", f"{chosen[0]}={chosen[1]}"


def _on_windows(on: OnFramework) -> tuple[str, str] | None:
    if on.facts.host.system != "Windows":
        return None
    why = (
        "On Windows `pip install torch` always installs a CPU-only build: PyPI has no other for Windows, and those "
        "with CUDA are on PyTorch's own index."
    )
    return why, phrase("platform: {}", on.facts.host.distribution.name)


@check(
    title="PyTorch is a CPU-only build",
    severity=Severity.ERROR,
    cause="The installed build of PyTorch has no CUDA support compiled in, so no driver or toolkit makes it use the "
    "GPU: it came from the CPU index, from a CPU variant of conda, or from an index that has no GPU build for this "
    "machine.",
    fixes=_fixes,
    references=(
        "https://pytorch.org/get-started/locally/",
        "https://docs.astral.sh/uv/guides/integration/pytorch/",
        "https://github.com/huggingface/lerobot/issues/4093",
    ),
    targets=torches,
    only_with=("pythons.frameworks.variant=cpu", f"{ANY_GPU} pythons.frameworks.variant?"),
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
    read_from_files=True,
)
def cpu_build(on: OnFramework) -> Problem | None:
    """A CPU build beside a GPU that some build could use."""
    if known(on.framework.variant) != "cpu":
        return None
    known(on.facts.pci if not nvidia_gpus(on.facts) else ())
    gpu = _usable(on)
    if gpu is None:
        return None
    found = _why(on.python) or _by_variable(on.facts) or _on_windows(on)
    change = framework_change(on.facts, on.python, "torch")
    seen = phrases(
        framework_line(change) if change else "",
        f"torch/version.py:{phrase(' version {},', on.framework.version)} no CUDA",
        found[1] if found else "",
    )
    message = f"{on.name} is a CPU-only build, without CUDA support, and does not use {gpu_name(gpu)}."
    # Where no driver lists the GPU, nobody may want it; an older Jetson has nothing that lists one.
    wanted = gpus_of(on.facts) or on.facts.host.platform == "jetson"
    severity = None if wanted else Severity.WARNING
    return Problem(message, tuple(seen), cause=found[0] if found else None, severity=severity)
