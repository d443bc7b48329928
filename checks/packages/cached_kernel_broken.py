"""A kernel in a cache was linked with libraries of another CUDA release."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge.sonames import majors_of
from gpudoctor.maybe import present
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import broken_kernels
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import cmd

_NAMES = {"torch_extensions": "PyTorch", "flashinfer": "FlashInfer"}


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    directories = dict.fromkeys(kernel.directory for kernel in broken_kernels(on.python))
    if len(directories) > 8:
        directories = dict.fromkeys(directory.rpartition("/")[0] for directory in directories)
    message = "Delete these kernels from the cache; they are compiled again when they are next used, which needs nvcc."
    tasks = tuple(cmd("rm", "-r", directory) for directory in directories)
    return (Fix(message, tasks, "change-environment", verify=framework_proof(on.python, "torch")),)


@check(
    title="A compiled kernel in the cache needs libraries of another CUDA release",
    severity=Severity.ERROR,
    cause="The kernel was compiled and linked by another CUDA toolkit and kept in the user's cache. A changed toolkit "
    "or PyTorch does not trigger a new build, so loading it fails with 'cannot open shared object file'.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/issues/5145",
        "https://github.com/flashinfer-ai/flashinfer/issues/3229",
    ),
    targets=pythons,
    only_with=("pythons.kernels",),
    caused_by=("python.*", "pytorch.cpu-build", "pytorch.wrong-vendor", "libraries.wheel-missing"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def cached_kernel_broken(on: OnPython) -> Problem | None:
    """A library in the cache of FlashInfer or torch.utils.cpp_extension needs one that nothing here has."""
    found = broken_kernels(on.python)
    if not found:
        return None
    first, torch = found[0], one_of(on.python, "torch")
    cuda = next(iter(majors_of(first.missing[0])), None)
    built = f" (CUDA {cuda})" if cuda else ""
    ours = f"; PyTorch here is built for CUDA {torch.cuda}" if torch and isinstance(torch.cuda, str) else ""
    more = f" The same applies to {len(found) - 1} more in this cache." if len(found) > 1 else ""
    message = (
        f"{present(first.library)} in {_NAMES[first.cache]}'s cache needs {first.missing[0]}{built}, which is not "
        f"found: {first.directory}{ours}.{more}"
    )
    return Problem(
        message, tuple(f"{one.directory}/{present(one.library)}: {', '.join(one.missing)}" for one in found[:5])
    )
