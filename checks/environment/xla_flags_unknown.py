"""XLA aborts the program, because XLA_FLAGS contains an unknown flag."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.lazy_regex import pattern
from gpudoctor.targets import OnLive, lives
from gpudoctor.tasks import query

VARIABLE = "XLA_FLAGS"
_UNKNOWN = pattern(r"Unknown flags? in XLA_FLAGS: ([^\n]*)")  # xla/parse_flags_from_env.cc

# TensorFlow reads the variable when it first compiles for XLA, JAX when it lists its devices.
_COMPILES = {"tensorflow": "import tensorflow as t; print(t.function(lambda: t.constant(1.0), jit_compile=True)())"}


def _named(on: OnLive) -> list[str]:
    """The flags in the variable that XLA reports as unknown."""
    value = on.facts.host.environment.get(VARIABLE, "")
    text = "\n".join((on.live.stderr, on.live.import_error or "", *on.live.warnings))
    reported = {flag for match in _UNKNOWN.finditer(text) for flag in match[1].split()}
    return [flag for flag in value.split() if flag in reported]


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    bad = _named(on)
    rest = " ".join(f for f in on.facts.host.environment.get(VARIABLE, "").split() if f not in bad)
    proof = _COMPILES.get(on.framework.name)
    verify = query(on.python.path, "-c", proof) if proof else framework_proof(on.python, on.framework.name)
    if not rest:
        return (unset(on.facts, VARIABLE, verify=verify),)
    return (assign(VARIABLE, rest, "Remove the flags that this release does not know.", verify),)


@check(
    title="Unknown flag in XLA_FLAGS",
    severity=Severity.ERROR,
    cause="XLA's flags are not a stable interface: releases remove them. An unknown flag aborts the whole program as "
    "soon as XLA reads the variable.",
    fixes=_fixes,
    references=(
        "https://github.com/talmolab/track-mjx/issues/67",
        "https://github.com/apple/axlearn/issues/463",
        "https://openxla.org/xla/flags_guidance",
    ),
    targets=lives,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def xla_flags_unknown(on: OnLive) -> Problem | None:
    """The framework exited with XLA's error about a flag that is set here."""
    if VARIABLE not in on.facts.host.environment or not (on.live.died or on.live.import_error or on.live.exit_code):
        return None
    bad = _named(on)
    if not bad:
        return None
    message = f"{on.name} aborts: its XLA does not know {' and '.join(bad)} in XLA_FLAGS."
    return Problem(message, (f"{VARIABLE}={on.facts.host.environment[VARIABLE]}",))
