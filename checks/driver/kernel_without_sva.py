"""GB10 with a kernel that shares no page tables with devices: cuInit 3 while nvidia-smi works."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import NODES, VERSIONS
from gpudoctor.queries.driver import CUDA_NOT_INITIALIZED, not_wsl
from gpudoctor.targets import in_container
from gpudoctor.tasks import Shell, query

_LOOK = Shell("grep ARM_SMMU_V3_SVA /boot/config-$(uname -r)", lookup=True)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    kernel = Fix(
        "Boot a kernel that is built with CONFIG_ARM_SMMU_V3_SVA=y: NVIDIA's for Ubuntu and DGX OS (linux-nvidia), or "
        "the distribution's own, built again with this option. No parameter and no module option replaces it.",
        (_LOOK,),
        "reboot",
        needs="reboot",
        place="outside" if in_container(facts) else "here",
        verify=query("nvidia-smi", "-q"),
    )
    return (kernel,)


@check(
    title="The kernel lacks CONFIG_ARM_SMMU_V3_SVA: CUDA does not start on GB10",
    severity=Severity.ERROR,
    cause="The GPU of GB10 (DGX Spark and others) walks the page tables of processes through the SMMU. Some Arm "
    "kernels, such as Debian's and Talos's, are built without that (shared virtual addressing): the module loads, "
    "nvidia-smi works and reports 'Addressing Mode: None', and nvidia_uvm refuses the GPU without a message.",
    fixes=_fixes,
    references=(
        "https://github.com/NixOS/nixpkgs/pull/527847",
        "https://github.com/siderolabs/talos/issues/14087",
        "https://github.com/Start9Labs/start-technologies/pull/3693",
    ),
    targets=not_wsl,
    only_with=("nvidia.kernel.sva_missing",),
    caused_by=("driver.not-loaded", *VERSIONS, *NODES),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def kernel_without_sva(facts: Facts) -> Problem | None:
    """The error that UVM's refusal gives, on a kernel that is known to lack the option."""
    if known(facts.nvidia.cuda.code) != CUDA_NOT_INITIALIZED or not known(facts.nvidia.kernel.sva_missing):
        return None
    message = "cuInit returns 3: this kernel is built without CONFIG_ARM_SMMU_V3_SVA, which CUDA needs on GB10."
    return Problem(message, ("# CONFIG_ARM_SMMU_V3_SVA is not set",))
