"""Two NVIDIA wheels that contain the same files."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import FileOverlap, Python
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.queries.packages import of_jax_alone, packages_of, wanted_by
from gpudoctor.queries.packages import overlapping_wheels as wheels_of
from gpudoctor.targets import OnPython, pythons


def _wanted(python: Python, overlap: FileOverlap) -> tuple[str, str]:
    """The wheel that a package requires, and which does, as a requirement; else the newest of them."""
    return wanted_by(python, overlap.packages) or ("", sorted(overlap.packages)[-1])


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    overlaps = wheels_of(on.python)
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
