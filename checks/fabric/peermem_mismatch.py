"""nvidia_peermem was built against another InfiniBand core than the loaded one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.maybe import known
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.tasks import as_root, filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    names = module.module_packages(facts)
    again = system.reinstall(facts, *names) if names else module.build_commands(facts)
    rebuild = Fix(
        "Rebuild NVIDIA's modules (reinstall the driver's module package) after the network driver (MLNX_OFED or "
        "DOCA-OFED) "
        "is installed, so that nvidia_peermem is compiled against the same ib_core; then load it.",
        (*again, as_root("modprobe", "nvidia_peermem")),
        "reinstall-package",
        root=True,
        verify=filtered(query("lsmod"), query("grep", "nvidia_peermem")),
    )
    dmabuf = Fix(
        "Use DMA-BUF instead: with the open kernel modules and a recent kernel, GPUDirect RDMA does not need "
        "nvidia_peermem.",
        (),
        "change-environment",
    )
    return (rebuild, dmabuf) if facts.nvidia.kernel.flavor == "open" else (rebuild,)


@check(
    title="nvidia_peermem does not match the loaded InfiniBand driver (ib_core)",
    severity=Severity.WARNING,
    cause="nvidia_peermem (GPUDirect RDMA) is compiled against one ib_core: the kernel's own or OFED's. With the "
    "other one loaded, its symbol versions disagree and the kernel rejects it; traffic between nodes then goes "
    "through host memory.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
        "https://github.com/NVIDIA/gpu-operator/issues/2868",
    ),
    targets=not_wsl,
    caused_by=("driver.not-loaded",),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def peermem_mismatch(facts: Facts) -> Problem | None:
    """The kernel's rejection in the log, and no such module loaded now."""
    known(facts.log.events)
    refused = events(facts, "symbol-mismatch", "unknown-symbol")
    logged = tuple(
        e for e in refused if e.what.get("module", "").replace("-", "_") in ("nvidia_peermem", "nv_peer_mem")
    )
    if not logged or "nvidia_peermem" in known(facts.nvidia.kernel.modules):
        return None
    symbol = next((e.what["text"] for e in logged if e.what.get("text")), None)
    named = f" (the versions of {symbol} disagree)" if symbol else ""
    message = f"The kernel rejects nvidia_peermem: it was built against another ib_core than the loaded one{named}."
    return Problem(message, texts(logged))
