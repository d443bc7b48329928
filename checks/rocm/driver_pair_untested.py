"""The ROCm of a framework and AMD's driver are further apart than AMD tests."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import known
from gpudoctor.targets import OnFramework, amd_compute, frameworks, in_container
from gpudoctor.tasks import query

# AMD keeps driver and libraries compatible two releases up and down.
_APART = 2
_DRIVERS = ("amdgpu-dkms", "rock-dkms")


def _wheels(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """ROCm frameworks where AMD's own driver package is loaded: the in-tree amdgpu belongs to no ROCm release."""
    for _ in amd_compute(facts):
        if isinstance(facts.amd.version, str) and not in_container(facts):
            yield from ((about, on) for about, on in frameworks(facts) if isinstance(on.framework.hip, str))


@check(
    title="Untested combination of ROCm release and AMD driver",
    severity=Severity.ADVICE,
    cause="AMD tests its driver with the ROCm libraries from two releases before to two releases after it. "
    "Combinations beyond that mostly work, but newer libraries may need features that an old driver lacks.",
    fixes=(
        Fix(
            "If programs fail or hang: install an AMD driver release close to the framework's ROCm, or remove "
            "amdgpu-dkms and use the kernel's own amdgpu.",
            (),
            "reinstall-package",
            root=True,
            needs="reboot",
            impact="persistent",
            verify=query("cat", "/sys/module/amdgpu/version"),
        ),
    ),
    references=(f"{amd.INSTALL}reference/user-kernel-space-compat-matrix.html",),
    targets=_wheels,
    only_with=("targets:amd_compute",),
    caused_by=("rocm.half-installed", "rocm.dkms-build-failed"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def driver_pair_untested(on: OnFramework) -> Problem | None:
    """The framework is more than two releases newer than the driver, or older than all in the driver's list."""
    packages = [
        version for name, version, state in known(on.facts.amd.packages) if name in _DRIVERS and state[1:2] == "i"
    ]
    driver = rocm.release_of_package(packages[0]) if packages else None
    hip = known(on.framework.hip)
    if driver is None or hip is None:
        return None
    newer = rocm.releases_behind(driver, hip)
    if newer is None or (newer <= _APART and rocm.driver_works(hip, driver) is not False):
        return None
    minor = ".".join(hip.split(".")[:2])
    how = f"{newer} releases newer" if newer > 0 else f"{-newer} releases older"
    return Problem(
        f"{on.name} ships with ROCm {minor}, {how} than AMD's driver (ROCm {driver}).",
        (f"amdgpu-dkms {packages[0]}", f"{on.framework.name}: HIP {hip}"),
    )
