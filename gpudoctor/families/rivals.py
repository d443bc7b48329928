"""Several distributions of one framework in one environment: they write the same files."""

from collections.abc import Callable
from typing import Any

from gpudoctor.check_engine import Check, Fix, Problem, Severity, check
from gpudoctor.families import FrameworkFamily
from gpudoctor.maybe import text_of
from gpudoctor.targets import OnFramework


def versions_of(on: OnFramework) -> dict[str, str]:
    """The framework's distributions with their versions; empty where one is unknown."""
    return dict(on.framework.others) | {on.framework.distribution or "": text_of(on.framework.version)}


def several_packages(
    of: FrameworkFamily,
    module: str,
    *,
    packages: Callable[[OnFramework], tuple[str, ...]],
    fixes: Callable[[OnFramework], tuple[Fix, ...]],
    effect: Callable[[OnFramework], tuple[str, tuple[str, ...], Severity | None]] = lambda _: ("", (), None),
    **texts: Any,
) -> Check[OnFramework]:
    """The check for several installed distributions of a framework of which only one may be installed.

    Args:
        of: the framework.
        module: the module of the check's file.
        packages: the installed ones of which only one may be.
        fixes: what leaves one of them.
        effect: what follows here, with the semicolon before it; what shows it; the severity, if not the check's own.
        texts: further arguments of `check_engine.Check`.
    """

    @check(
        module=module,
        title=f"Several {of.title} packages overwrite each other",
        cause=f"They all write the directory {of.module}, so the one installed last wins, and removing one of them "
        "leaves the others broken. Tools install another one as a dependency; only one may be installed.",
        fixes=fixes,
        targets=of.targets,
        caused_by=("python.interpreter-broken",),
        affects=("wheels",),
        **texts,
    )
    def judged(on: OnFramework) -> Problem | None:
        """More than one distribution brings the same module."""
        found, versions = packages(on), versions_of(on)
        if len(found) < 2:
            return None
        names = " and ".join(f"{name} {versions.get(name, '')}".strip() for name in found)
        then, evidence, severity = effect(on)
        return Problem(
            f"{names} are installed together and overwrite each other's files{then}.", evidence, severity=severity
        )

    return judged
