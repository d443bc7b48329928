"""An Intel GPU hung, and its driver reset an engine or the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import intel, kernel_packages
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.intel import card_name, computing_cards, guc, guc_bug
from gpudoctor.queries.kernel_log import ago, events, of_this_week, texts
from gpudoctor.targets import OnCard, in_container
from gpudoctor.tasks import Edit, Shell, filtered, query

# Video engines: a decode or encode hung, which does not affect compute.
_VIDEO = ("vcs", "vecs")
_HANGCHECK = Edit("/sys/module/i915/parameters/enable_hangcheck", text="N\n", root=True)


def _logged(on: OnCard, *kinds: str) -> tuple[LogEvent, ...]:
    found = tuple(event for event in events(on.facts, *kinds) if event.gpu == on.card.address)
    return of_this_week(on.facts, tuple(e for e in found if not e.what.get("device", "").startswith(_VIDEO)))


def _bug(on: OnCard) -> Regression | None:
    return guc_bug(on.facts, on.card) if _logged(on, "intel-reset", "intel-job-timeout") else None


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    bug = _bug(on)
    if bug:
        return intel.newer_guc(on.facts, on.card, bug)
    look = Fix(
        "If it happens again with any program: update kernel, linux-firmware and Intel's compute runtime to the newest "
        "releases, and report it with the driver's dump (devcoredump), which is kept for some minutes.",
        (
            filtered(query("dmesg", root=True), query("grep", "-iE", "xe |i915|guc"), query("tail", "-n", "40")),
            Shell("ls /sys/class/drm/card*/device/devcoredump/data", lookup=True),
        ),
        root=True,
        impact="none",
        place="outside" if in_container(on.facts) else "here",
    )
    if known_or(on.card.driver, None) != "i915":
        return (look, *kernel_packages.before_update(on.facts, intel.GUC))
    long = Fix(
        "If only long kernels hang: switch off the hang check of i915, which ends what runs longer than some seconds.",
        (_HANGCHECK,),
        "change-environment",
        root=True,
    )
    return (long, look, *kernel_packages.before_update(on.facts, intel.GUC))


@check(
    title="Intel GPU hung: the driver reset an engine (engine reset, timed out job, GPU HANG)",
    severity=Severity.WARNING,
    cause="A job on the GPU did not end in time, or accessed memory that it may not, so xe or i915 reset the engine; "
    "the program fails (DEVICE_LOST) or hangs. Causes are kernels that never finish, bugs of the GuC firmware, the "
    "kernel driver or the compute runtime, or an unstable card.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/xe/index.html",
        "https://github.com/vllm-project/vllm/issues/55425",
        "https://github.com/intel/compute-runtime/issues/948",
    ),
    targets=computing_cards,
    caused_by=("intel.firmware-missing", "intel.not-driven"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def hangs(on: OnCard) -> Problem | None:
    """Resets of compute, render and copy engines in the log; a GPU that the driver gave up is an ERROR."""
    known(on.facts.log.events)
    resets, jobs = _logged(on, "intel-reset"), _logged(on, "intel-job-timeout")
    wedged, found = _logged(on, "intel-wedged"), resets or jobs
    if not found and not wedged:
        return None
    last = (*found, *wedged)[-1]
    engines = sorted({e.what["device"] for e in resets if "device" in e.what})
    who = sorted({e.what["process"] for e in (*resets, *jobs) if "process" in e.what})
    named = f" ({', '.join(engines)})" if engines else ""
    what = f"reset an engine{named}" if resets else "ended a job"
    times = "once" if len(found) == 1 else f"{len(found)} times"
    running = f", while {' and '.join(who[:3])} {'were' if len(who) > 1 else 'was'} running" if who else ""
    message = f"{card_name(on.card)} hung: the driver {what} {times}{ago(on.facts, last)}{running}."
    if wedged:
        message += " It then declared the GPU wedged: no program can use it until a reboot."
    bug, cause = _bug(on), None
    if bug:
        message += phrase(" Its GuC firmware is {}", guc(on.facts, on.card)) + f"; {bug.fixed} does not have the bug."
        cause = f"Known bug of GuC firmware {bug.first}: {bug.what}. {bug.source}"
    evidence = texts((*resets[-2:], *jobs[-2:], *wedged[-1:]), 5)
    return Problem(message, evidence, cause, Severity.ERROR if wedged else None)
