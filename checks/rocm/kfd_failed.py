"""Opening /dev/kfd fails, and not for lack of permission."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, system
from gpudoctor.maybe import known, known_or, present
from gpudoctor.targets import amd_compute, amd_gpus, gpus_of
from gpudoctor.tasks import Shell, filtered, query

PERMISSION = (None, "EACCES", "EPERM", "ENOENT")
MEANS = {
    "ENOMEM": "the driver could not set up a process on the GPU: GPU or machine is not supported, or the GPU failed",
    "EINVAL": "the driver does not support this GPU, or the program is 32-bit",
    "ENODEV": "no device is behind the node: the module was unloaded or failed to initialize",
    "ENXIO": "no device is behind the node: the module was unloaded or failed to initialize",
    "EAGAIN": "the driver is locked while a GPU is being reset",
    "EIO": "the GPU does not respond",
}


_NO_CODE = (
    "amdkfd, the kernel's compute driver, has no code for this chip, so that no ROCm release can use it: amdgpu drives "
    "it for the display only."
)


def _refused(facts: Facts) -> bool:
    """Whether the driver reported that it does not support a chip, and lists no other GPU."""
    return any("not supported in kfd" in line for line in amd.log_lines(facts, "kfd-skipped")) and not gpus_of(
        facts, "amd"
    )


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _refused(facts):
        return (
            Fix(
                "Use another GPU, the CPU, or programs that compute with Vulkan or OpenCL (Mesa's drivers). GPUs that "
                f"ROCm supports: {amd.INSTALL}reference/system-requirements.html",
                (),
                impact="none",
            ),
        )
    look = Fix(
        "Read what the driver logs about the GPU, and check that this amdgpu and ROCm release support it.",
        (
            filtered(query("dmesg", root=True), query("grep", "-iE", "kfd|amdgpu"), query("tail", "-n", "40")),
            Shell("cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id", lookup=True),
        ),
        root=True,
        verify=amd.PROOF,
    )
    message = (
        "Reboot; if the error persists, try a newer kernel or ROCm release, or the release whose support list names "
        "this GPU."
    )
    return look, system.reboot(message, verify=amd.PROOF)


@check(
    title="AMD's compute driver fails: /dev/kfd cannot be opened",
    severity=Severity.ERROR,
    cause="The device node exists and its permissions let you in, but the driver behind it returns an error: this "
    "kernel does not support the GPU (ASIC), its initialization failed, or the environment (virtual machine, memory) "
    "prevents it. It is not a matter of groups.",
    fixes=_fixes,
    references=(f"{amd.INSTALL}reference/system-requirements.html", "https://docs.kernel.org/gpu/amdgpu/index.html"),
    targets=amd_compute,
    caused_by=(
        "rocm.gpu-without-kfd",
        "rocm.not-driven",
        "rocm.half-installed",
        "rocm.dkms-build-failed",
        "rocm.pcie-atomics",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def kfd_failed(facts: Facts) -> Problem | None:
    """The errno is not about permissions."""
    node = next((n for n in known(facts.amd.kfd) if known(n.error) not in PERMISSION), None)
    if node is None:
        return None
    error = present(node.error)
    gpus = [
        f"{known_or(on.gpu.name, 'GPU')} ({known_or(on.gpu.gfx, None) or 'gfx unknown'})" for _, on in amd_gpus(facts)
    ]
    means = MEANS.get(error, "the driver does not work")
    message = f"Opening /dev/kfd fails with {error}: {means}. GPU: {', '.join(gpus) or 'none'}."
    kinds = ("amdgpu-init-failed", "amdgpu-firmware", "kfd-skipped", "amdgpu-atomics", "kfd-hang", "amdgpu-reset")
    return Problem(message, amd.log_lines(facts, *kinds), _NO_CODE if _refused(facts) else None)
