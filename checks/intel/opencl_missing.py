"""OpenVINO, but no OpenCL driver for the Intel GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import intel, nixos
from gpudoctor.maybe import known, present
from gpudoctor.queries.intel import card_name, discrete, driven, openvinos
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnPython

_NAME = "openvino"
_ELSEWHERE = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")  # where the loader of OpenCL looks instead


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    return (intel.opencl(on.facts),)


@check(
    title="OpenVINO has no OpenCL driver for the Intel GPU",
    severity=Severity.WARNING,
    cause="OpenVINO reaches Intel's GPUs through OpenCL, whose driver is a package of the system "
    "(/etc/OpenCL/vendors/intel.icd). Without it the only device is the CPU, and the device GPU fails: 'Failed to "
    "create plugin for device GPU', 'clGetPlatformIDs error -1001'.",
    fixes=_fixes,
    references=(
        "https://docs.openvino.ai/2026/get-started/install-openvino/configurations/configurations-intel-gpu.html",
        "https://github.com/openvinotoolkit/openvino/issues/30602",
        "https://github.com/intel/compute-runtime/issues/720",
    ),
    targets=openvinos,
    caused_by=("intel.not-driven", "python.*"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def opencl_missing(on: OnPython) -> Problem | None:
    """The package is installed, and no driver is registered; ADVICE for graphics in a processor."""
    elsewhere = nixos.is_nixos(on.facts) or any(name in on.facts.host.environment for name in _ELSEWHERE)
    if elsewhere or known(on.facts.intel.opencl):
        return None
    card, found = driven(on.facts)[0], present(package(on.python, _NAME))
    return Problem(
        f"{card_name(card)} has no OpenCL driver (there is no /etc/OpenCL/vendors/intel.icd), so OpenVINO "
        f"{found.version} does not find it.",
        severity=None if discrete(on.facts) else Severity.ADVICE,
    )
