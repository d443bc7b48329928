"""A container with PyTorch for Intel's GPUs got no render node."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.maybe import known
from gpudoctor.queries.intel import sees_none, xpu_torches
from gpudoctor.targets import OnLive, has_dxg, in_container


@check(
    title="The container was started without Intel's GPU",
    severity=Severity.ERROR,
    cause="An engine hands the nodes in /dev/dri into a container only where it is asked to; Level Zero finds no GPU "
    "without them.",
    fixes=lambda on: intel.pass_devices(on.facts),
    references=(intel.START, "https://intel.github.io/intel-device-plugins-for-kubernetes/cmd/gpu_plugin/README.html"),
    targets=xpu_torches,
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def no_devices_passed(on: OnLive) -> Problem | None:
    """Inside of a container, without a node, and PyTorch finds no GPU."""
    if not in_container(on.facts) or has_dxg(on.facts) or not sees_none(on):
        return None
    if known(on.facts.intel.render):
        return None
    return Problem(f"{on.name} is built for Intel's GPUs, and no /dev/dri/renderD* was passed into this container.")
