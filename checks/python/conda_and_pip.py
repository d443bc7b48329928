"""A framework that pip installed over conda's own."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import CondaPackage, Package
from gpudoctor.fixes.python import conda_of, install, manager_of, pixi, prefix_of
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import numbers, packages_of, release
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import cmd

# conda's record, pip's distribution, import name.
_PAIRS = (
    ("pytorch", "torch", "torch"),
    ("tensorflow-base", "tensorflow", "tensorflow"),
    ("jaxlib", "jaxlib", "jax"),
    ("onnxruntime", "onnxruntime-gpu", "onnxruntime"),
)


def _pair(on: OnPython) -> tuple[CondaPackage, Package, str] | None:
    """Conda's record of a framework, and the distribution of another version that pip installed."""
    records = {c.name: c for c in conda_of(on.python)}
    there = {p.name: p for p in packages_of(on.python)}
    for conda, name, module in _PAIRS:
        record, found = records.get(conda), there.get(name)
        if record and found and found.installer in ("pip", "uv") and _differ(found.version, record.version):
            return record, found, module
    return None


def _differ(found: str, record: str) -> bool:
    """Whether they are different releases; conda builds add a suffix (2.5.1.post302) to the metadata."""
    return numbers(found)[:3] != numbers(record)[:3]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    pair = _pair(on)
    if pair is None:
        return ()
    record, found, module = pair
    if manager_of(on.python) == "pixi":
        message = (
            f"Keep one: remove {record.name} or {found.name} from the project's manifest, then recreate the "
            "environment."
        )
        clean = (pixi(on.python, "clean"), pixi(on.python, "install"))
        return (Fix(message, clean, "reinstall-package", verify=framework_proof(on.python, module)),)
    message = (
        f"Keep one: remove conda's {record.name}, then reinstall pip's {found.name}, because the removal deletes "
        "shared files."
    )
    again = install(on.python, f"{found.name}=={release(found.version)}", force=True, no_deps=True)
    commands = (cmd("conda", "remove", *prefix_of(on.python), "--force", record.name), again)
    return (Fix(message, commands, "reinstall-package", verify=framework_proof(on.python, module)),)


@check(
    title="pip package overwrites conda's",
    severity=Severity.ADVICE,
    cause="conda does not track what pip installed: its record still names its own build, and the next `conda "
    "install` or `conda update` may overwrite pip's files with it, or mix the two.",
    fixes=_fixes,
    references=("https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html",),
    targets=pythons,
    only_with=("pythons.conda pythons.packages?",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def conda_and_pip(on: OnPython) -> Problem | None:
    """Conda's record and pip's metadata name different versions of one framework."""
    known(on.python.packages)
    pair = _pair(on)
    if pair is None:
        return None
    record, found, module = pair
    framework = one_of(on.python, module)
    failed = framework is not None and framework.live is not None and bool(framework.live.import_error)
    message = (
        f"conda's record lists {record.name} {record.version}, but pip installed {found.name} {found.version} over it."
    )
    return Problem(message, (f"conda-meta: {record.name} {record.version} {record.build}",), severity=_worse(failed))


def _worse(failed: bool) -> Severity | None:
    return Severity.WARNING if failed else None
