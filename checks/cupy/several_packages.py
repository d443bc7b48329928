"""Several CuPy packages in one environment."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import reinstall_cupy
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.maybe import text_of
from gpudoctor.queries.cupy import packages
from gpudoctor.targets import OnFramework, cupys


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found = packages(on)
    fitting = reinstall_cupy(on.facts, on.python, *found)
    if fitting:
        return fitting
    commands = (uninstall(on.python, *found), install(on.python, found[0], force=True))
    return (Fix("Remove all of them, then install only one again.", commands, "reinstall-package"),)


@check(
    title="Several CuPy packages are installed in one environment",
    severity=Severity.ERROR,
    cause="All CuPy packages write the same folder, so the files of two builds are mixed; only one may be installed. "
    "Removing one of them alone leaves a broken folder.",
    fixes=_fixes,
    references=(
        "https://docs.cupy.dev/en/stable/install.html",
        "https://github.com/rapidsai/cugraph/issues/3057",
    ),
    targets=cupys,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def several_packages(on: OnFramework) -> Problem | None:
    """More than one distribution brings the module cupy."""
    found = packages(on)
    if len(found) < 2:
        return None
    versions = dict(on.framework.others) | {on.framework.distribution or "": text_of(on.framework.version)}
    names = " and ".join(f"{name} {versions.get(name, '')}".strip() for name in found)
    return Problem(f"{names} are both installed and overwrite each other's files.")
