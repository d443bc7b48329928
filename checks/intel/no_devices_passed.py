"""A container with PyTorch for Intel GPUs has no render node."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.maybe import known
from gpudoctor.queries.intel import sees_none, xpu_torches
from gpudoctor.targets import OnLive, has_dxg, in_container


@check(
    title="Container was started without the Intel GPU",
    severity=Severity.ERROR,
    cause="A container engine passes the device nodes in /dev/dri only on request; Level Zero finds no GPU without "
    "them.",
    fixes=lambda on: intel.pass_devices(on.facts),
    references=(intel.START, "https://intel.github.io/intel-device-plugins-for-kubernetes/cmd/gpu_plugin/README.html"),
    targets=xpu_torches,
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def no_devices_passed(on: OnLive) -> Problem | None:
    """In a container without a render node, and PyTorch finds no GPU."""
    if not in_container(on.facts) or has_dxg(on.facts) or not sees_none(on):
        return None
    if known(on.facts.intel.render):
        return None
    return Problem(f"{on.name} is built for Intel GPUs, but no /dev/dri/renderD* was passed into this container.")
