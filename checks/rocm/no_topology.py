"""KFD lists no GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, amd_container
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import amd_compute, cards_of, gpus_of, in_container
from gpudoctor.tasks import filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return amd_container.pass_devices(facts)
    return (
        Fix(
            "Read why the compute driver skipped the GPU. 'PCI rejects atomics' means another slot (CPU-attached) or "
            "platform is needed; 'not supported' means a newer kernel is needed, or the GPU is too old for ROCm.",
            (filtered(query("dmesg", root=True), query("grep", "-iE", "kfd|amdgpu"), query("tail", "-n", "40")),),
            root=True,
            verify=amd.PROOF,
        ),
    )


@check(
    title="AMD's compute driver (KFD) lists no GPU",
    severity=Severity.ERROR,
    cause="/dev/kfd opens, but the KFD topology under /sys/class/kfd lists no GPU: KFD skipped it because it is not "
    "supported, because the slot lacks PCIe atomics, or because it was not passed to the container.",
    fixes=_fixes,
    references=(
        f"{amd.INSTALL}reference/system-requirements.html",
        "https://rocm.docs.amd.com/en/latest/conceptual/More-about-how-ROCm-uses-PCIe-Atomics.html",
    ),
    targets=amd_compute,
    caused_by=(
        "rocm.not-driven",
        "rocm.half-installed",
        "rocm.dkms-build-failed",
        "rocm.pcie-atomics",
        "rocm.resume-failed",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_topology(facts: Facts) -> Problem | None:
    """The node opens and PCI has a card, but no GPU is listed."""
    nodes = known(facts.amd.kfd)
    if not nodes or known(nodes[0].error) is not None or not cards_of(facts, "amd") or gpus_of(facts, "amd"):
        return None
    if known(facts.amd.topology):
        known(facts.gpus)
    names = ", ".join(known_or(c.name, None) or c.device for c in cards_of(facts, "amd"))
    message = f"/dev/kfd opens, but KFD lists no GPU, although PCI shows {names}."
    return Problem(message, amd.log_lines(facts, "kfd-skipped", "amdgpu-atomics", "amdgpu-init-failed"))
