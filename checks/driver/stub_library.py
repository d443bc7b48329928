"""Programs load the toolkit's link stub instead of the driver's libcuda."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.compat import out_of_the_way
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import CUDA_STUB, OFF_PATH, found_through, loaded_libcuda
from gpudoctor.targets import nvidia_machine


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    stubs = [
        one for one in known_or(facts.nvidia.cuda.libraries, ()) if one.kind == "stub" and one.found_by != OFF_PATH
    ]
    path = stubs[0].path if stubs else ""
    return (out_of_the_way(facts, path, "the toolkit's stubs", alone=path.rpartition("/")[0].endswith("/stubs")),)


@check(
    title="The CUDA toolkit's stub libcuda.so shadows the driver's",
    severity=Severity.ERROR,
    cause="The toolkit contains a stub libcuda.so to link against on machines without a driver. Where the loader "
    "finds it first (LD_LIBRARY_PATH with .../lib64/stubs), every call returns CUDA_ERROR_STUB_LIBRARY (34).",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html",
        "https://github.com/numba/numba/issues/8985",
    ),
    targets=nvidia_machine,
    caused_by=SURROUNDINGS,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def stub_library(facts: Facts) -> Problem | None:
    """The result of cuInit is 34, or a stub is where the loader looks: some programs (numba) open libcuda.so."""
    loaded, code = loaded_libcuda(facts), known(facts.nvidia.cuda.code)
    reached = [
        one for one in known_or(facts.nvidia.cuda.libraries, ()) if one.kind == "stub" and one.found_by != OFF_PATH
    ]
    stub = loaded if loaded is not None and loaded.kind == "stub" else next(iter(reached), None)
    if code != CUDA_STUB and (stub is None or (code == 0 and stub.found_by != "LD_LIBRARY_PATH")):
        return None
    where = f"{stub.path}, found through {found_through(stub)}," if stub else "in a stubs directory"
    works = code == 0
    who = f"Programs that open {stub.soname}" if works and stub else "Programs"
    message = f"{who} load the toolkit's stub {where} instead of the driver's libcuda."
    return Problem(
        message, phrases(phrase("cuInit of libcuda.so.1: {}", code)), severity=Severity.WARNING if works else None
    )
