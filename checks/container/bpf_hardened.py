"""Hardening of BPF hides the device filter that NVIDIA's hook has to change."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import docker_host, takes_cdi
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import Edit, as_root, query

_HARDEN, _HIDE = 2, 2  # for root's programs too; kernel addresses from root too
# After the files of hardening profiles, which sysctl(8) reads in the order of their names.
_CONF = "/etc/sysctl.d/zz-nvidia-containers.conf"


_FIXES = (
    Fix(
        "Harden only the BPF programs of users without privileges (1), so that root can read the container's device "
        "filter. If /etc/sysctl.conf has the 2, change it there.",
        (Edit(_CONF, text="net.core.bpf_jit_harden = 1\n", root=True), as_root("sysctl", "--system")),
        "change-environment",
        root=True,
        undo=(Edit(_CONF, gone=True, root=True), as_root("sysctl", "-w", f"net.core.bpf_jit_harden={_HARDEN}")),
        verify=query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi"),
    ),
    Fix(
        "To keep the hardening: pass GPUs to containers through CDI, which changes no device filter: --device instead "
        "of --gpus.",
        (
            as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),
            query("docker", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),
        ),
        "change-environment",
        root=True,
    ),
)


@check(
    title="BPF hardening stops containers with --gpus: last insn is not an exit or jmp",
    severity=Severity.WARNING,
    cause="NVIDIA's hook reads the device filter of the container's cgroup, a BPF program, and loads it again with "
    "the GPU allowed. With net.core.bpf_jit_harden = 2 the kernel blinds root's programs too, and with "
    "kernel.kptr_restrict = 2 it does not give them back: the hook reads zeros, and the kernel rejects what it loads "
    "('last insn is not an exit or jmp'). Hardening profiles set both.",
    fixes=_FIXES,
    references=(
        "https://github.com/bottlerocket-os/bottlerocket/issues/2504",
        "https://github.com/NVIDIA/libnvidia-container/issues/176",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1193",
    ),
    targets=docker_host,
    only_with=("containers.bpf_jit_harden",),
    caused_by=("driver.*", "device.*", "container.runtime-not-configured", "container.toolkit-too-old"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def bpf_hardened(facts: Facts) -> Problem | None:
    """Both settings, and a hook that sets device rules of cgroup v2."""
    if known(facts.containers.bpf_jit_harden) != _HARDEN or known(facts.containers.kptr_restrict) != _HIDE:
        return None
    if known(facts.containers.toolkit) is None or known(facts.host.cgroup) != 2 or on_wsl(facts):
        return None
    by_cdi = takes_cdi(facts) and known_or(facts.containers.cdi, ())
    if known(facts.containers.no_cgroups) is True or by_cdi:
        return None
    return Problem(
        "net.core.bpf_jit_harden and kernel.kptr_restrict are 2: NVIDIA's hook cannot read the device filters of "
        "containers, so those with --gpus do not start."
    )
