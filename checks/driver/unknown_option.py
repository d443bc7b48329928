"""The driver does not know an option that was set for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.parsers.spelling import nearest
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.tasks import query


def _unknown(facts: Facts) -> list[str]:
    """The options, without those that are not set any more; where nothing is set, the log is of another time."""
    said = dict.fromkeys(e.what.get("text", "") for e in events(facts, "unknown-parameter"))
    now = {name.partition(".")[2] for name in facts.nvidia.kernel.options}
    return [name for name in said if name in now]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name = _unknown(facts)[0]
    files = query("grep", "-rn", name, "/etc/modprobe.d", "/usr/lib/modprobe.d", "/proc/cmdline")
    known = [f"NVreg_{word}" for word in facts.nvidia.kernel.parameters]
    like = nearest(name, known, 0.8)
    means = f" {like} may be meant." if like else " This driver may have dropped it."
    return (
        Fix(
            f"Look where the option is set, and correct or remove it.{means}",
            (files, query("grep", ".", "/proc/driver/nvidia/params")),
            "reload-module",
            needs="reboot",
            impact="none",
        ),
    )


@check(
    title="The driver does not know an option that is set for it",
    severity=Severity.ADVICE,
    cause="A module leaves out a parameter whose name it does not know, says so in the kernel's log, and goes on: what "
    "was wanted does not happen.",
    fixes=_fixes,
    references=("https://docs.kernel.org/admin-guide/kernel-parameters.html",),
    targets=own_kernel,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def unknown_option(facts: Facts) -> Problem | None:
    """The kernel's words in the log, of an option that is still set."""
    names = _unknown(facts)
    if not names:
        return None
    message = f"The driver ignores {' and '.join(names[:3])}: it knows no such option."
    return Problem(message, texts(events(facts, "unknown-parameter")))
