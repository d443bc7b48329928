"""A libcuda of a compatibility package, newer than the module, on a GPU where that is not supported: cuInit 804."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes.compat import out_of_the_way
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import CUDA_COMPAT, branch, found_through, loaded_libcuda
from gpudoctor.targets import in_container, nvidia_machine


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = loaded_libcuda(facts)
    return (out_of_the_way(facts, found.path if found else "", "the package cuda-compat"), *_else(facts, found))


def _else(facts: Facts, found: DriverLibrary | None) -> tuple[Fix, ...]:
    """The driver's own libcuda may be too old for the programs: then the driver has to be newer."""
    number = branch(known_or(found.version, None)) if found else None
    where = "on the host " if in_container(facts) else ""
    message = (
        f"If programs then report that the driver is too old, install driver branch {number or 'of that CUDA'} or "
        f"newer {where}or programs built for an older CUDA."
    )
    return (Fix(message, (), "reinstall-package", root=True),)


@check(
    title="CUDA forward compatibility is not supported on this GPU",
    severity=Severity.ERROR,
    cause="A libcuda newer than the kernel module (cuda-compat, forward compatibility) works only on data center "
    "GPUs; on GeForce and others cuInit returns 804.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/cuda-compatibility/",
        "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html",
    ),
    targets=nvidia_machine,
    caused_by=("driver.stub-library", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def compat_unsupported(facts: Facts) -> Problem | None:
    """The result of cuInit is 804 with the libcuda that programs load."""
    if known(facts.nvidia.cuda.code) != CUDA_COMPAT:
        return None
    found, module = loaded_libcuda(facts), known_or(facts.nvidia.kernel.loaded, None)
    if found is None:
        return Problem("cuInit returns 804: forward compatibility is not supported on this GPU.")
    version = known_or(found.version, None) or "of unknown version"
    message = (
        f"Programs load the compatibility library {found.real} ({version}, found through {found_through(found)}) with "
        f"the older kernel module {module or ''}, which this GPU does not support (cuInit 804)."
    )
    return Problem(message.replace("module ,", "module,"))
