"""An nvcc that is too old for a package that compiles CUDA code at run time."""

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.toolkit import build_with, devel_image, new_toolkit
from gpudoctor.knowledge.python_rules import OldestNvcc, python_rules
from gpudoctor.maybe import known, known_or, present, text_of
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import has_gpu_between, major, numbers, packages_of, wanted_by
from gpudoctor.targets import ANY_GPU, OnPython, pythons


def _found(on: OnPython) -> tuple[OldestNvcc, Package] | None:
    """A package that compiles, in a release with such a bound; builds with a local version contain their kernels."""
    there = {p.name: p for p in packages_of(on.python)}
    for row in python_rules().nvcc.oldest:
        one, ready = there.get(row.package), python_rules().nvcc.ready.get(row.package)
        if one is None or ready in there or "+" in one.version:
            continue
        if not numbers(row.since) <= numbers(one.version) < numbers(row.before):
            continue
        if not any(on.facts.host.environment.get(name) for name in row.unless) and has_gpu_between(on.facts, *row.gpus):
            return row, one
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    row, one = present(_found(on))
    pinned = "==" in (wanted_by(on.python, (one.name,)) or ("", ""))[1]  # as vLLM and SGLang do
    if row.before == "999" or pinned:
        return _toolkits(on, row)
    message = f"Upgrade {one.name} to {row.before}, which older releases of nvcc compile too.{lasting(on.facts)}"
    newer = Fix(message, (install(on.python, f"{one.name}~={row.before}"),), "reinstall-package")
    return (newer, *_toolkits(on, row))


def _toolkits(on: OnPython, row: OldestNvcc) -> tuple[Fix, ...]:
    """A newer nvcc of PyTorch's CUDA major, which its own headers need."""
    torch = one_of(on.python, "torch")
    own = text_of(torch.cuda if torch else None)
    if numbers(own)[:1] < numbers(row.cuda)[:1]:
        return ()
    there = {nvcc.path.removesuffix("/bin/nvcc") for nvcc in known_or(on.facts.toolkits.nvccs, ())}
    for directory, version in known_or(on.facts.toolkits.installed, ()):
        enough = major(version) == major(own) and numbers(version) >= numbers(row.cuda)
        if version and directory in there and enough:
            return (build_with(directory, version),)
    wanted = max(row.cuda, own, key=numbers)
    return (new_toolkit(on.facts, on.python, wanted), *devel_image(on.facts, wanted))


@check(
    title="nvcc is too old for a package that compiles CUDA code at run time",
    severity=Severity.WARNING,
    cause="Some packages compile their kernels with nvcc on first use (JIT). A release that refuses an older nvcc, or "
    'passes it an option that it does not have, fails each time: "nvcc fatal : Unknown option", "NVCC version should '
    'be", "FlashInfer requires GPUs with sm75 or higher". The CUDA version of PyTorch\'s wheel and of nvidia-smi is '
    "irrelevant here.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/issues/1532",
        "https://github.com/flashinfer-ai/flashinfer/pull/1526",
        "https://github.com/flashinfer-ai/flashinfer/issues/3675",
        "https://github.com/vllm-project/vllm/issues/50705",
        "https://github.com/vllm-project/vllm/pull/49051",
    ),
    targets=pythons,
    only_with=(ANY_GPU, f"pythons.packages.name={names(row.package for row in python_rules().nvcc.oldest)}"),
    caused_by=("cuda.home-stale", "cuda.nvcc-without-gpu", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def nvcc_too_old(on: OnPython) -> Problem | None:
    """Such a package, a CUDA build of PyTorch and a GPU, and the nvcc that build tools take is an older one."""
    home = on.facts.toolkits.home
    if not nvidia_gpus(on.facts) or not uses_gpu(one_of(on.python, "torch")):
        return None
    found = _found(on)
    # PyTorch's builds take the nvcc that PYTORCH_NVCC names, of which nothing is known.
    if found is None or home.path is None or on.facts.host.environment.get("PYTORCH_NVCC"):
        return None
    (row, one), nvcc = found, known(home.nvcc)
    if nvcc is None or numbers(nvcc)[:2] >= numbers(row.cuda)[:2]:
        return None
    message = (
        f"{one.name} {one.version} {row.why}. The nvcc here is {nvcc} ({home.path}, from {home.found_by}): it compiles "
        "none of its kernels."
    )
    return Problem(message)
