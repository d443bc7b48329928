"""oneAPI's compiler for SYCL, and no Level Zero driver for the Intel GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import intel, nixos
from gpudoctor.maybe import known
from gpudoctor.queries.intel import SYCL, card_name, discrete, driven, sycl_machines


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return intel.level_zero(facts)


@check(
    title="No Level Zero driver for the Intel GPU: oneAPI does not find it",
    severity=Severity.WARNING,
    cause="oneAPI has the compiler and the loader of Level Zero, not the GPU's driver for it: libze_intel_gpu.so.1 is "
    "a package of the system, apart from the one for OpenCL. SYCL then reaches the GPU through OpenCL alone, or not at "
    "all: `sycl-ls` lists no level_zero:gpu, and programs that ask for it (llama.cpp) find no device.",
    fixes=_fixes,
    references=(
        "https://github.com/intel/compute-runtime/issues/832",
        "https://github.com/ggml-org/llama.cpp/issues/20702",
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/backend/SYCL.md",
        intel.DRIVERS,
    ),
    targets=sycl_machines,
    caused_by=("intel.not-driven", "intel.level-zero-missing"),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def sycl_without_level_zero(facts: Facts) -> Problem | None:
    """The compiler's environment is set; ADVICE for graphics in a processor that nothing else computes on."""
    if nixos.is_nixos(facts) or known(facts.intel.level_zero) is not None:
        return None
    wanted = bool(discrete(facts)) or known(facts.intel.opencl)
    message = (
        f"{card_name(driven(facts)[0])} has no Level Zero driver (libze_intel_gpu.so.1), and oneAPI's compiler is set "
        f"up here ({SYCL}={facts.host.environment[SYCL]}): SYCL lists no level_zero:gpu."
    )
    return Problem(message, severity=None if wanted else Severity.ADVICE)
