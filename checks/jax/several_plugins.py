"""JAX's plugins for two CUDA majors side by side."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_extra, jax_with_plugin
from gpudoctor.fixes.python import uninstall
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import jax_plugins, of_jax_alone, overlapping_wheels
from gpudoctor.targets import OnFramework, jaxes


def _majors(on: OnFramework) -> list[str]:
    return sorted({p.name.split("-")[1] for p in jax_plugins(on.python)})


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = on.framework.version if isinstance(on.framework.version, str) else None
    extra = jax_extra(on.facts, version)
    message = f"Remove all of them, then install only the plugin for {extra}, which fits this driver and GPU."
    again = jax_with_plugin(on.facts, on.python, version, message, extra=extra)
    # Of the libraries that both plugins brought, one overwrote the other's files: the extra brings its own again.
    mixed = [n for o in overlapping_wheels(on.python) if of_jax_alone(on.python, o) for n in o.packages]
    first = uninstall(on.python, *(p.name for p in jax_plugins(on.python)), *dict.fromkeys(mixed))
    return (Fix(again.message, (first, *again.tasks), "reinstall-package", verify=again.verify),)


@check(
    title="Two JAX CUDA plugins are installed together",
    severity=Severity.WARNING,
    cause="Each plugin registers itself for the platform cuda, and the second is refused: 'PJRT_Api already exists for "
    "device type cuda'. Which one comes first is undefined, and JAX may compute on the CPU.",
    fixes=_fixes,
    references=(
        "https://docs.jax.dev/en/latest/installation.html",
        "https://github.com/jax-ml/jax/blob/main/jax_plugins/cuda/__init__.py",
    ),
    targets=jaxes,
    affects=("wheels",),
    validated_on=("environment 2026-11",),
)
def several_plugins(on: OnFramework) -> Problem | None:
    """Plugins named after two CUDA majors, beside an NVIDIA GPU."""
    known(on.python.packages)
    majors = _majors(on)
    if len(majors) < 2 or not nvidia_gpus(on.facts):
        return None
    live = on.framework.live
    seen = tuple(line.strip() for line in (live.stderr.splitlines() if live else ()) if "already exists" in line)[:2]
    names = " and ".join(f"{p.name} {p.version}" for p in jax_plugins(on.python) if p.name.endswith("-plugin"))
    blind = live is not None and live.available is False
    message = f"{names or ' and '.join(majors)} are both installed; JAX registers one of them and refuses the other."
    return Problem(message, seen, severity=Severity.ERROR if blind else None)
