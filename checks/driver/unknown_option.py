"""The driver does not know an option that was set for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.parsers.spelling import nearest
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.tasks import query


def _unknown(facts: Facts) -> list[str]:
    """The options, without those that are no longer set; where nothing is set, the log is from another time."""
    logged = dict.fromkeys(e.what.get("text", "") for e in events(facts, "unknown-parameter"))
    now = {name.partition(".")[2] for name in facts.nvidia.kernel.options}
    return [name for name in logged if name in now]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name = _unknown(facts)[0]
    files = query("grep", "-rn", name, "/etc/modprobe.d", "/usr/lib/modprobe.d", "/proc/cmdline")
    known = [f"NVreg_{word}" for word in facts.nvidia.kernel.parameters if word[:1].isupper()]
    like = nearest(name, known, 0.8)
    means = f" Did you mean {like}?" if like else " This driver may no longer have it."
    return (
        Fix(
            f"Find where the option is set, and correct or remove it.{means}",
            (files, query("grep", ".", "/proc/driver/nvidia/params")),
            "reload-module",
            needs="reboot",
            impact="none",
        ),
    )


@check(
    title="Unknown NVIDIA driver option is ignored",
    severity=Severity.ADVICE,
    cause="The kernel ignores module parameters that it does not know and only logs them: the setting has no effect.",
    fixes=_fixes,
    references=("https://docs.kernel.org/admin-guide/kernel-parameters.html",),
    targets=own_kernel,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def unknown_option(facts: Facts) -> Problem | None:
    """The kernel's message in the log, about an option that is still set."""
    names = _unknown(facts)
    if not names:
        return None
    message = f"The driver ignores {' and '.join(names[:3])}: there is no such option."
    lines = tuple(e for e in events(facts, "unknown-parameter") if e.what.get("text") in names)
    return Problem(message, texts(lines))
