"""An nvcc that is too old or too new to compile for the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.by_message import assumed_cuda
from gpudoctor.fixes.toolkit import build_with, devel_image, new_toolkit
from gpudoctor.fixes.torch_build import driver_cuda
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import known, known_or, phrase, present
from gpudoctor.queries.build_toolkit import is_taken
from gpudoctor.queries.capability import gpu_words, sm
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import nvidia_hardware


def _release(text: str) -> tuple[int, ...]:
    return numbers(text)[:2]


def _compiles(cuda: str, capability: str) -> bool:
    """Whether the nvcc of a CUDA release compiles for a GPU; what no table knows is taken to."""
    first, last = toolkits_of(capability) or ("0", None)
    return _release(first) <= _release(cuda) and (last is None or _release(cuda) <= _release(last))


def _unfit(facts: Facts) -> Gpu | None:
    nvcc = known(facts.toolkits.home.nvcc)
    for gpu in visible_gpus(facts) if nvcc else ():
        own = known(gpu.capability)
        if nvcc and own and not _compiles(nvcc, own):
            return gpu
    return None


def _wanted(facts: Facts, capability: str) -> str:
    """PyTorch's release where it fits, because extensions need it; else the newest for the driver and the GPU."""
    torch = [f.cuda for p in facts.pythons for f in p.frameworks if f.name == "torch" and isinstance(f.cuda, str)]
    for release in torch:
        if "." in release and _compiles(release, capability):
            return release
    first, last = toolkits_of(capability) or (assumed_cuda(), None)
    newest = min(filter(None, (driver_cuda(facts), last)), key=_release, default=first)
    return max(first, newest, key=_release)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    gpu = _unfit(facts)
    own = present(gpu.capability) if gpu else "0"
    wanted = _wanted(facts, own)
    there = {nvcc.path.removesuffix("/bin/nvcc") for nvcc in known_or(facts.toolkits.nvccs, ())}
    for directory, version in known_or(facts.toolkits.installed, ()):
        if version and directory in there and _compiles(version, own):
            return (build_with(directory, version),)
    python = next(iter(facts.pythons), None)
    return (new_toolkit(facts, python, wanted), *devel_image(facts, wanted))


@check(
    title="nvcc cannot compile for this GPU",
    severity=Severity.WARNING,
    cause="Each CUDA Toolkit compiles for a range of compute capabilities: a GPU that is newer than the toolkit is "
    'unknown to it, and CUDA 13 dropped GPUs before Turing. Builds stop with "nvcc fatal: Unsupported gpu '
    "architecture 'compute_120'\". Installed wheels are not affected.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
        "https://github.com/ggml-org/whisper.cpp/issues/3030",
    ),
    targets=nvidia_hardware,
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def nvcc_without_gpu(facts: Facts) -> Problem | None:
    """The chosen nvcc is too old or too new for a visible GPU; advice where it compiles for another."""
    home = facts.toolkits.home
    gpu = _unfit(facts) if is_taken(facts) else None
    if gpu is None:
        return None
    own = present(gpu.capability)
    first, last = toolkits_of(own) or ("", None)
    old = _release(present(home.nvcc)) < _release(first)
    limit = f"CUDA {first} is the first release that does" if old else f"CUDA {last or first} is the last that does"
    where = phrase(" ({}, from ", home.path) + f"{home.found_by})"
    others = [g.capability for g in visible_gpus(facts) if isinstance(g.capability, str)]
    works = any(_compiles(present(home.nvcc), other) for other in others)
    message = f"nvcc {present(home.nvcc)}{where} does not compile for {sm(own)} of {gpu_words(gpu)}: {limit}."
    return Problem(message, severity=Severity.ADVICE if works else None)
