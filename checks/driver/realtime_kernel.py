"""A real-time kernel without NVIDIA's module, which is built for none."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.module_build import for_realtime, is_realtime
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import library_version, own_kernel
from gpudoctor.targets import cards_of


@check(
    title="Real-time kernel: NVIDIA's driver does not support PREEMPT_RT",
    severity=Severity.ERROR,
    cause="The build of NVIDIA's kernel module refuses kernels with PREEMPT_RT, whatever the driver's version, and "
    "distributions' DKMS packages skip them: headers alone do not help.",
    fixes=for_realtime,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1240",
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    ),
    targets=own_kernel,
    caused_by=(*DEAD, "driver.vfio-in-the-way"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def realtime_kernel(facts: Facts) -> Problem | None:
    """A driver is installed, the running kernel is named as a real-time one, and has no module."""
    kernel, release = facts.nvidia.kernel, system.kernel_of(facts)
    if not cards_of(facts, "nvidia") or known(kernel.loaded) is not None or known(kernel.on_disk):
        return None
    if not is_realtime(release) or (library_version(facts) is None and not known(kernel.dkms)):
        return None
    message = f"The running kernel {release} is a real-time kernel, and there is no NVIDIA module for it."
    return Problem(message, kernel.dkms_errors[:3])
