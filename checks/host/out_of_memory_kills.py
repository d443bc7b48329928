"""The kernel killed programs because memory ran out."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import size
from gpudoctor.queries.gpus import COHERENT
from gpudoctor.queries.kernel_log import WEEK, of_this_week
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import filtered, query

# Programs that compute: names as the kernel truncates them (15 characters).
COMPUTES = ("python", "pt_", "vllm", "ray", "torchrun", "jupyter", "ipython", "ollama", "llama", "text-generation")

_UNIFIED = (
    "The OOM killer (out of memory) ends a process with SIGKILL ('Killed', exit code 137) when the machine or its "
    "cgroup runs out of memory. Here the GPU shares system memory, so what a model uses on the GPU counts too."
)


_LESS = Fix(
    "Use less memory: fewer DataLoader workers, models loaded in parts (low_cpu_mem_usage, safetensors); or give the "
    "machine, container or job more memory or swap.",
    (query("free", "-h"), filtered(query("dmesg", root=True), query("grep", "-i", "out of memory"))),
    verify=query("free", "-h"),
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (wsl.MORE_MEMORY, _LESS) if isinstance(facts.host.wsl, int) else (_LESS,)


def _kills(facts: Facts) -> list[LogEvent]:
    kills = of_this_week(facts, tuple(e for e in known(facts.log.events) if e.kind == "oom-kill"))
    return [e for e in kills if e.what.get("process", "").lower().startswith(COMPUTES)]


@check(
    title="OOM killer ended programs (out of memory)",
    severity=Severity.ADVICE,
    cause="The OOM killer (out of memory) ends a process with SIGKILL ('Killed', exit code 137) when the machine or "
    "its cgroup runs out of memory. Loading a model needs as much memory as its file is large, and each DataLoader "
    "worker adds its share; GPU memory is not involved.",
    fixes=_fixes,
    references=("https://docs.kernel.org/admin-guide/mm/concepts.html",),
    targets=machine,
    only_with=("gpus", "log.events.kind=oom-kill"),
    caused_by=("health.unified-memory-exhausted", "host.memory-limit"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def out_of_memory_kills(facts: Facts) -> Problem | None:
    """Programs that compute were killed; in a container the log is the host's, so it is skipped."""
    if not gpus_of(facts) or in_container(facts):
        return None
    kills = _kills(facts)
    if not kills:
        return None
    names = ", ".join(sorted({e.what.get("process", "?") for e in kills}))
    total = known_or(facts.host.memory, None)
    memory = f" The machine has {size(total)}." if total else ""
    times = "once" if len(kills) == 1 else f"{len(kills)} times"
    since = "Since boot" if known_or(facts.host.uptime, 0.0) <= WEEK else "In the last week"
    message = f"{since} the kernel's OOM killer ended {names} {times} (out of memory).{memory}"
    unified = known_or(facts.host.platform, "") in COHERENT
    return Problem(message, tuple(e.text for e in kills[:3]), cause=_UNIFIED if unified else None)
