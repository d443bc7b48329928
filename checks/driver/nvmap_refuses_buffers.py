"""A release of Jetson Linux whose memory manager refuses large buffers."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.knowledge.regressions import Regression, regressions
from gpudoctor.maybe import known, phrase
from gpudoctor.targets import in_container, nvidia_hardware
from gpudoctor.tasks import Tasks, as_root, export, query

_LIST = "/etc/apt/sources.list.d/nvidia-l4t-apt-source.list"
_RELEASE = query("cat", "/etc/nv_tegra_release")


def _bug(facts: Facts) -> Regression | None:
    on_jetson = facts.host.platform == "jetson" or isinstance(facts.host.l4t, str)
    release = known(facts.host.l4t) if on_jetson else None
    return next(iter(regressions("l4t", release)), None) if release else None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    bug = _bug(facts)
    mapped = Fix(
        "Until then: let PyTorch take memory in small pieces (CUDA virtual memory). If a model that was loaded before "
        "is refused, reboot: NvMap's memory is fragmented.",
        (export("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),),
        "change-environment",
        needs="restart of the program",
    )
    if bug is None:
        return (mapped,)
    upgrade: Tasks = (
        as_root("sed", "-i", f"s/r{bug.last.rpartition('.')[0]}/r{bug.fixed}/", _LIST),
        as_root("apt-get", "update"),
        as_root("apt-get", "dist-upgrade"),
        as_root("reboot"),
    )
    newer = Fix(
        f"Upgrade to Jetson Linux {bug.fixed} ({bug.also}) or newer; {bug.good} does not have it, either.",
        upgrade,
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        place="outside" if in_container(facts) else "here",
        verify=_RELEASE,
    )
    return (newer, mapped)


@check(
    title="This release of Jetson Linux refuses large CUDA buffers (NvMapMemAllocInternalTagged error 12)",
    severity=Severity.ADVICE,
    cause="A Jetson's GPU takes its memory from NvMap. The security fix for CVE-2025-33177 in this release counts "
    "memory too strictly: NvMap refuses large single buffers with error 12 (ENOMEM) although memory is free, and "
    "cudaMalloc reports out of memory.",
    fixes=_fixes,
    references=("https://github.com/ggml-org/llama.cpp/pull/23732", "https://github.com/0xShug0/audio.cpp/issues/12"),
    targets=nvidia_hardware,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def nvmap_refuses_buffers(facts: Facts) -> Problem | None:
    """The release is one that is known to do so; whether a program here met it, no log that is read shows."""
    bug = _bug(facts)
    if bug is None:
        return None
    release = phrase(" {}", facts.host.l4t)
    return Problem(f"Jetson Linux (L4T){release} refuses large CUDA buffers (NvMap), although memory is free.")
