"""The compute runtime and the running kernel's driver do not work together."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LiveFramework
from gpudoctor.fixes import intel, kernel_packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.frameworks import last_words
from gpudoctor.queries.intel import intel_computers, openvinos, runtime_bug, runtime_kernel_bug, xpu_builds
from gpudoctor.queries.known_bugs import running_kernel

_NO_DEVICE = "no device"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    bug = runtime_kernel_bug(facts)
    if bug is None:
        return ()
    verify = intel.proof(facts)
    if bug.sign == _NO_DEVICE:
        return (intel.other_runtime(facts, bug, verify), intel.address_space(verify))
    kernels = kernel_packages.without_bug(facts, bug, verify)
    return (*kernels[:1], intel.other_runtime(facts, bug, verify), *kernels[1:])


def _lives(facts: Facts) -> tuple[LiveFramework, ...]:
    return tuple(f.live for _, f in xpu_builds(facts) if f.live is not None and not f.live.import_error)


@check(
    title="Intel's compute runtime does not work with this kernel",
    severity=Severity.ERROR,
    cause="Level Zero and OpenCL are the user-space half of Intel's driver (compute runtime, NEO), xe and i915 the "
    "kernel's half. This release of the one fails with this release of the other.",
    fixes=_fixes,
    references=(
        "https://github.com/intel/compute-runtime/issues/883",
        "https://github.com/intel/compute-runtime/issues/875",
        "https://github.com/intel/compute-runtime/issues/710",
    ),
    targets=intel_computers,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def runtime_regression(facts: Facts) -> Problem | None:
    """A pair that the table names: ERROR where PyTorch fails with it, ADVICE where nothing here shows it.

    WARNING where OpenVINO is installed and the pair finds no GPU at all.
    """
    known(facts.intel.runtime_build)
    known(facts.host.kernel.release)
    bug, lives = runtime_kernel_bug(facts), _lives(facts)
    if bug is None or any(live.available is True and not live.died for live in lives):
        return None
    message = f"{runtime_bug(facts, bug)} The running kernel is {running_kernel(facts)}."
    failed = [live for live in lives if live.died or known_or(live.available, None) is False]
    evidence = tuple(filter(None, (last_words(live) for live in failed[:2] if live.died)))
    cause = f"Regression of this pair of compute runtime (NEO) and kernel: {bug.what}. {bug.source}"
    unseen = bug.sign == _NO_DEVICE and any(openvinos(facts))
    return Problem(message, evidence, cause, None if failed else Severity.WARNING if unseen else Severity.ADVICE)
