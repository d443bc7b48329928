"""Device nodes that the container's control group does not let it open."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known_or
from gpudoctor.queries.containers import nvidia_container, refused

_LXC = (
    "LXC's device rules (lxc.cgroup2.devices.allow) name device numbers. Nodes with another number are denied (EPERM, "
    "Operation not permitted); that of nvidia-uvm is assigned at each boot of the host."
)


@check(
    title="GPU device nodes no longer open in the container (cgroup: Operation not permitted)",
    severity=Severity.ERROR,
    cause="The device rules of the container's cgroup deny the nodes (EPERM, Operation not permitted). The NVIDIA "
    "hook grants them without the engine's knowledge: systemctl daemon-reload on the host makes systemd rewrite its "
    "own rules, without them, and a running container loses the GPU. With no-cgroups = true they were never granted.",
    fixes=container.lost_access,
    references=(
        container.TROUBLES,
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/48",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/251",
    ),
    targets=nvidia_container,
    caused_by=("cluster.job-without-gpu",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def device_access_lost(facts: Facts) -> Problem | None:
    """A node that computing needs exists and returns EPERM."""
    shut = refused(facts, "EPERM")
    if not shut:
        return None
    names = ", ".join(n.path for n in shut)
    nvml, text = facts.nvidia.nvml.code, known_or(facts.nvidia.nvml.text, None)
    words = f" ({text})" if text else ""
    answers = f" NVML returns {nvml}{words}." if isinstance(nvml, int) and nvml else ""
    message = f"The container's cgroup denies access to {names}: they exist, but open() gives EPERM.{answers}"
    lines = tuple(f"{n.path} mode {known_or(n.mode, '?')}, major {known_or(n.major, '?')}: EPERM" for n in shut)
    return Problem(message, lines, _LXC if facts.host.container == "lxc" else None)
