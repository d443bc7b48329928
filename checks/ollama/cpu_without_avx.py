"""An Ollama that leaves the GPU alone because the CPU has no AVX."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cpu_type import host_cpu
from gpudoctor.fixes.ollama import upgrade
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.maybe import known
from gpudoctor.queries.ollama import installed, wanted_backend
from gpudoctor.queries.packages import numbers


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    effect = "uses the GPU without AVX too; what stays on the CPU is slower"
    newer = upgrade(facts, wanted_backend(facts), ollama().without_avx, effect)
    return (host_cpu(), newer) if isinstance(facts.host.virtual, str) else (newer,)


@check(
    title="Ollama does not use the GPU: the CPU has no AVX",
    severity=Severity.ERROR,
    cause="Up to 0.5.7 Ollama uses a GPU only where the CPU has AVX ('CPU does not have minimum vector extensions, GPU "
    "inference disabled'). Virtual machines show a CPU type that may have fewer instruction sets than the real CPU: "
    "QEMU's and Proxmox's kvm64, qemu64 and x86-64-v2 have no AVX.",
    fixes=_fixes,
    references=(
        "https://github.com/ollama/ollama/issues/8606",
        "https://github.com/ollama/ollama/issues/2187",
        "https://pve.proxmox.com/pve-docs/chapter-qm.html#qm_cpu",
    ),
    targets=installed,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def cpu_without_avx(facts: Facts) -> Problem | None:
    """The flags of /proc/cpuinfo, and the release of Ollama."""
    flags = known(facts.host.cpu_flags)
    if flags is None or "avx" in flags:
        return None
    release = known(facts.ollama.release)
    if release is None or numbers(release) >= numbers(ollama().without_avx):
        return None
    what = "this virtual machine's CPU type" if isinstance(facts.host.virtual, str) else "this CPU"
    return Problem(f"Ollama {release} uses GPUs only where the CPU has AVX, and {what} has none.")
