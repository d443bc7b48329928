"""There is no /dev/kfd."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, amd_container
from gpudoctor.maybe import known
from gpudoctor.targets import amd_compute, in_container
from gpudoctor.tasks import Shell, as_root, filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return amd_container.pass_devices(facts)
    return (
        Fix(
            "See why the kernel's compute driver skipped this GPU: a kernel without CONFIG_HSA_AMD, an unsupported "
            "GPU, or a slot without PCIe atomics.",
            (
                filtered(query("dmesg", root=True), query("grep", "-iE", "kfd|amdgpu"), query("tail", "-n", "30")),
                Shell("grep HSA_AMD /boot/config-$(uname -r)", lookup=True),
            ),
            root=True,
            verify=query("ls", "-l", "/dev/kfd"),
        ),
        Fix(
            "Use the distribution's own kernel, or install AMD's driver package amdgpu-dkms for it, and reboot.",
            (as_root("reboot"),),
            "reboot",
            root=True,
            needs="reboot",
            verify=query("ls", "-l", "/dev/kfd"),
        ),
    )


@check(
    title="/dev/kfd is missing",
    severity=Severity.ERROR,
    cause="Every ROCm program opens /dev/kfd, the kernel's compute driver, and a /dev/dri/renderD* for each GPU. A "
    "container has them only if they were passed to it; on a host amdgpu creates them. It is not a matter of groups.",
    fixes=_fixes,
    references=(amd.CONTAINERS, "https://github.com/ROCm/legacy-rocm-build/issues/1798"),
    targets=amd_compute,
    caused_by=("rocm.not-loaded", "rocm.not-driven", "rocm.half-installed", "rocm.dkms-build-failed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
    essential=True,
)
def kfd_missing(facts: Facts) -> Problem | None:
    """The node does not exist, and this is not WSL, where ROCm uses /dev/dxg."""
    if known(facts.amd.kfd) or facts.amd.dxg is True or (not in_container(facts) and facts.amd.loaded is False):
        return None
    if in_container(facts):
        also = "" if facts.amd.render else ", nor was /dev/dri"
        return Problem(f"/dev/kfd was not passed into this container{also}; amdgpu is loaded on the host.")
    message = "/dev/kfd does not exist (ENOENT), although amdgpu is loaded: its compute part, KFD, did not start."
    return Problem(message, amd.log_lines(facts, "kfd-skipped", "amdgpu-atomics", "amdgpu-init-failed"))
