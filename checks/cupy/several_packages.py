"""Several CuPy packages in one environment."""

from gpudoctor.check_engine import Fix, Severity
from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import rivals
from gpudoctor.fixes.frameworks import reinstall_cupy
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.queries.cupy import packages
from gpudoctor.targets import OnFramework


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found = packages(on)
    fitting = reinstall_cupy(on.facts, on.python, *found)
    if fitting:
        return fitting
    commands = (uninstall(on.python, *found), install(on.python, found[0], force=True))
    return (Fix("Remove all of them, then install only one again.", commands, "reinstall-package"),)


several_packages = rivals.several_packages(
    CUPY,
    __name__,
    packages=packages,
    fixes=_fixes,
    severity=Severity.ERROR,
    references=(CUPY.docs, "https://github.com/rapidsai/cugraph/issues/3057"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
