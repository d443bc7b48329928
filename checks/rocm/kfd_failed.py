"""Opening /dev/kfd fails for another reason than permission."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, system
from gpudoctor.maybe import known, known_or, present
from gpudoctor.targets import amd_compute, amd_gpus
from gpudoctor.tasks import Shell, filtered, query

PERMISSION = (None, "EACCES", "EPERM", "ENOENT")
MEANS = {
    "ENOMEM": "the driver could not set up a process on the GPU: the GPU or the machine is not supported, or it failed",
    "EINVAL": "the driver does not support this GPU, or the program is a 32-bit one",
    "ENODEV": "no device stands behind the node: the module was unloaded or did not start",
    "ENXIO": "no device stands behind the node: the module was unloaded or did not start",
    "EAGAIN": "the driver is locked while a GPU is being reset",
    "EIO": "the GPU does not answer",
}


def _fixes(_: Facts) -> tuple[Fix, ...]:
    look = Fix(
        "Read what the driver says of the GPU; amdgpu and ROCm name the GPUs that they support.",
        (
            filtered(query("dmesg", root=True), query("grep", "-iE", "kfd|amdgpu"), query("tail", "-n", "40")),
            Shell("cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id", lookup=True),
        ),
        root=True,
        verify=amd.PROOF,
    )
    message = (
        "Restart the computer; if the error stays, try a newer kernel or ROCm release, or the one that named this GPU."
    )
    return look, system.reboot(message, verify=amd.PROOF)


@check(
    title="AMD's compute driver does not work: /dev/kfd cannot be used",
    severity=Severity.ERROR,
    cause="The node is there and you may open it, but the driver behind it answers with an error: the GPU (ASIC) is "
    "not supported by this kernel, its initialisation failed, or the environment (a virtual machine, memory) stands in "
    "the way. Groups have nothing to do with it.",
    fixes=_fixes,
    references=(f"{amd.INSTALL}reference/system-requirements.html", "https://docs.kernel.org/gpu/amdgpu/index.html"),
    targets=amd_compute,
    caused_by=("rocm.not-driven", "rocm.half-installed", "rocm.dkms-build-failed", "rocm.pcie-atomics"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def kfd_failed(facts: Facts) -> Problem | None:
    """The errno is none of permission."""
    node = next((n for n in known(facts.amd.kfd) if known(n.error) not in PERMISSION), None)
    if node is None:
        return None
    error = present(node.error)
    gpus = [
        f"{known_or(on.gpu.name, 'GPU')} ({known_or(on.gpu.gfx, None) or 'gfx unknown'})" for _, on in amd_gpus(facts)
    ]
    means = MEANS.get(error, "the driver does not work")
    message = f"Opening /dev/kfd gives {error}: {means}. GPU: {', '.join(gpus) or 'none'}."
    kinds = ("amdgpu-init-failed", "amdgpu-firmware", "kfd-skipped", "amdgpu-atomics", "kfd-hang", "amdgpu-reset")
    return Problem(message, amd.log_lines(facts, *kinds))
