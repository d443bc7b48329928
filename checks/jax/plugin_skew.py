"""JAX, jaxlib and the plugin of versions that do not work together."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.knowledge import jax
from gpudoctor.maybe import known, phrase, present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import numbers, packages_of, release, wanted_by
from gpudoctor.targets import OnFramework, jaxes


def _parts(on: OnFramework) -> dict[str, str]:
    """The versions of all parts that have to be of one release."""
    found = {p.name: p.version for p in packages_of(on.python)}
    plugin = on.framework.plugin if isinstance(on.framework.plugin, str) else ""
    names = ("jax", "jaxlib", plugin, plugin.replace("-plugin", "-pjrt"))
    return {name: found[name] for name in names if name in found}


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    if on.framework.plugin is None:
        return _without_plugin(on)
    plugin = present(on.framework.plugin)
    extra = plugin.removeprefix("jax-").removesuffix("-plugin")
    version = present(on.framework.version)
    message = f"Install all parts of JAX in one version, {version}."
    together = jax_with_plugin(on.facts, on.python, version, message, extra=extra)
    if nvidia_gpus(on.facts):
        return (together,)
    command = uninstall(on.python, plugin, plugin.replace("-plugin", "-pjrt"))
    return (Fix("Remove the plugin: this machine has no GPU for it.", (command,), "reinstall-package"), together)


def _without_plugin(on: OnFramework) -> tuple[Fix, ...]:
    number = release(present(on.framework.version))
    command = install(on.python, f"jaxlib=={number}")
    if not nvidia_gpus(on.facts):
        return (Fix(f"Install the jaxlib of JAX {number}.", (command,), "reinstall-package"),)
    message = "Install JAX, jaxlib and the CUDA plugin in one version: the newest for this Python."
    old = f"If something needs JAX {number}, install the jaxlib of that version, which computes on the CPU only."
    newest = jax_with_plugin(on.facts, on.python, None, message)
    cpu = Fix(old, (command,), "reinstall-package")
    user = wanted_by(on.python, ("jax", "jaxlib"))
    if user is None or numbers(number) < numbers(jax.plugin("cuda12").since):
        return (newest, cpu)
    # What was written for this JAX may not run with one that is years newer.
    message = f"Install jaxlib and the CUDA plugin of JAX {number}, with which {user[0]} is installed here."
    return (jax_with_plugin(on.facts, on.python, number, message), newest, cpu)


@check(
    title="JAX, jaxlib and the CUDA plugin have different versions",
    severity=Severity.WARNING,
    cause="Plugin, pjrt and jaxlib must be of the same release; pip does not enforce it when another package upgrades "
    "or downgrades jax. JAX then ignores the plugin, lacks functions, or crashes with a segmentation fault. It "
    "refuses a jaxlib that is newer than jax, or older than it needs.",
    fixes=_fixes,
    references=(
        "https://github.com/jax-ml/jax/issues/24901",
        "https://github.com/jax-ml/jax/issues/22416",
        "https://github.com/jax-ml/jax/blob/main/jax/_src/lib/__init__.py",
        "https://github.com/octo-models/octo/issues/125",
    ),
    targets=jaxes,
    caused_by=("python.*", "jax.several-plugins"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def plugin_skew(on: OnFramework) -> Problem | None:
    """The plugin's release differs from jaxlib's."""
    plugin = known(on.framework.plugin)
    if plugin is None:
        return _refused(on)
    version, jaxlib = known(on.framework.plugin_version), known(on.framework.backend_version)
    pjrt = _parts(on).get(plugin.replace("-plugin", "-pjrt"), version)
    if version is None or jaxlib is None or numbers(version) == numbers(jaxlib) == numbers(pjrt or ""):
        return None
    parts = ", ".join(f"{name} {number}" for name, number in _parts(on).items())
    live = on.framework.live
    if _as_required(on, plugin):
        return None
    broken = live is not None and bool(live.died or live.import_error or live.available is False)
    message = f"{plugin} {version} does not match jaxlib {jaxlib} (jax{phrase(' {}', on.framework.version)})."
    return Problem(message, (parts,), severity=Severity.ERROR if broken else None)


def _as_required(on: OnFramework, plugin: str) -> bool:
    """Whether plugin and jaxlib are what jax's own extra asks for: jax 0.4.35 wants jaxlib 0.4.34 beside a plugin."""
    from packaging.requirements import Requirement  # 45 ms, for what differs alone

    there = {p.name: p for p in packages_of(on.python)}
    extra = plugin.removeprefix("jax-").removesuffix("-plugin")
    lines = [line for p in packages_of(on.python) if p.name == "jax" for line in p.requires]
    asked = [
        Requirement(line)
        for line in lines
        if line.startswith(("jaxlib", plugin)) and f"'{extra}'" in line.replace('"', "'")
    ]
    return len(asked) > 1 and all(
        one.name in there and one.specifier.contains(there[one.name].version) for one in asked
    )


def _refused(on: OnFramework) -> Problem | None:
    """A jaxlib that jax refuses: one that is newer, or older than its metadata asks for."""
    version, jaxlib = known(on.framework.version), known(on.framework.backend_version)
    if version is None or jaxlib is None:
        return None
    evidence = tuple(f"{name} {number}" for name, number in _parts(on).items())
    if numbers(jaxlib) > numbers(version) > ():
        message = f"jaxlib {jaxlib} is newer than jax {version}, and jax refuses it: the import raises RuntimeError."
        return Problem(message, evidence, severity=Severity.ERROR)
    unmet = (u for u in on.python.unmet if u.package == "jax" and u.found and u.requires.startswith("jaxlib"))
    asked = next(unmet, None)
    if asked is None:
        return None
    message = f"jax {version} requires {asked.requires}; jaxlib {jaxlib} is installed."
    return Problem(message, evidence, severity=Severity.ERROR)
