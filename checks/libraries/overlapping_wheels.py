"""Two NVIDIA wheels that contain the same files."""

from typing import Literal

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import FileOverlap, Python
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.queries.packages import jax_plugins, numbers, of_jax_alone, packages_of, wanted_by
from gpudoctor.queries.packages import overlapping_wheels as wheels_of
from gpudoctor.targets import NAMES, OnPython, pythons


def _wanted(python: Python, overlap: FileOverlap) -> tuple[str, str]:
    """The wheel that a package requires, and which does, as a requirement; else the newest of them."""
    return wanted_by(python, overlap.packages) or ("", sorted(overlap.packages)[-1])


def _one_cuda(on: OnPython, overlaps: list[FileOverlap]) -> tuple[Fix, ...]:
    """Replace JAX's plugin by that for the CUDA of the other framework, which pins the wheels of its own."""
    plugins = [p.name for p in jax_plugins(on.python)]
    majors = {name.split("-")[1] for name in plugins}
    other = next((f for f in on.python.frameworks if f.name != "jax" and isinstance(f.cuda, str)), None)
    cuda = f"cuda{other.cuda.partition('.')[0]}" if other and isinstance(other.cuda, str) else ""
    number = next((p.version for p in packages_of(on.python) if p.name == "jax"), None)
    if other is None or cuda not in ("cuda12", "cuda13") or len(majors) != 1 or cuda in majors or number is None:
        return ()
    kept = [found for overlap in overlaps if (found := wanted_by(on.python, overlap.packages, plugins))]
    if len(kept) < len(overlaps):
        return ()
    # Both modules are for those few in which two frameworks are of different CUDA majors.
    from gpudoctor.fixes.environment import own_environment
    from gpudoctor.fixes.frameworks import jax_with_plugin
    from gpudoctor.knowledge.jax import lowest_cudnn, plugin

    specs = dict.fromkeys(spec for _, spec in kept)
    names = dict.fromkeys(name for overlap in overlaps for name in overlap.packages)
    again = (uninstall(on.python, *plugins, *names), install(on.python, *specs))
    which: Literal["cuda12", "cuda13"] = "cuda12" if cuda == "cuda12" else "cuda13"
    cudnn = next((spec.partition("==")[2] for spec in specs if spec.startswith("nvidia-cudnn")), "")
    fits = numbers(number) >= numbers(plugin(which).since)
    if not fits or (cudnn and numbers(cudnn) < numbers(lowest_cudnn(which, number) or "0")):
        message = f"Move JAX into an environment of its own: it and {NAMES[other.name]} need different libraries."
        spec = f"jax[{majors.pop()}]=={number}"
        return (Fix(message, (*again, *own_environment(on.python, spec)), "reinstall-package"),)
    message = (
        f"Replace JAX's plugin with the one for CUDA {cuda[4:]}, for which {NAMES[other.name]} is built: both then "
        "share the same libraries."
    )
    jax = jax_with_plugin(on.facts, on.python, number, message, extra=cuda)
    return (Fix(jax.message, (*again, *jax.tasks), "reinstall-package", verify=jax.verify),)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    overlaps = wheels_of(on.python)
    if fixes := _one_cuda(on, overlaps):
        return fixes
    wanted = [_wanted(on.python, overlap) for overlap in overlaps]
    names = [name for overlap in overlaps for name in overlap.packages]
    specs = [spec for _, spec in wanted]
    who = next((f", as {name} requires" for name, _ in wanted if name), "")
    message = (
        f"Uninstall all of them, then install only {' and '.join(specs)}{who}: uninstalling just one removes the "
        "shared files."
    )
    commands = (uninstall(on.python, *dict.fromkeys(names)), install(on.python, *dict.fromkeys(specs)))
    return (Fix(message, commands, "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="Two NVIDIA wheels overwrite each other's libraries",
    severity=Severity.WARNING,
    cause="The wheels for two CUDA major versions have different names but install into the same directory, so pip "
    "keeps both, and the one installed last overwrote the other's files.",
    fixes=_fixes,
    references=("https://github.com/pytorch/pytorch/issues/186591",),
    targets=pythons,
    only_with=("pythons.overlaps",),
    caused_by=("jax.several-plugins",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def overlapping_wheels(on: OnPython) -> Problem | None:
    """The RECORDs of two majors of one wheel claim the same files."""
    overlaps = wheels_of(on.python)
    if not overlaps:
        return None
    overlap = overlaps[0]
    versions = {p.name: p.version for p in packages_of(on.python)}
    names = " and ".join(f"{n} {versions.get(n, '')}".strip() for n in overlap.packages)
    message = f"{names} both contain {overlap.files[0]}: one overwrote the other's copy."
    live = [f.live for f in on.python.frameworks if f.live and f.live.import_error]
    broken = live[0].import_error if live and live[0] else None
    severity = Severity.ERROR if broken and "undefined symbol" in broken else None
    return Problem(
        message,
        (*(f"both claim {f}" for o in overlaps for f in o.files[:2]), *((broken,) if broken else ())),
        severity=severity,
        not_caused_by=() if all(of_jax_alone(on.python, o) for o in overlaps) else ("jax.several-plugins",),
    )
