"""Packages in ~/.local that shadow the environment's."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Shadow
from gpudoctor.fixes.python import uninstall, without_user_site
from gpudoctor.knowledge.wanted import is_framework
from gpudoctor.targets import OnPython, about_modules, in_container, pythons
from gpudoctor.tasks import query


def _shadows(on: OnPython) -> list[Shadow]:
    """User-site copies over an environment's own; over the distribution's packages they are meant to win."""
    mine = [s for s in on.python.shadows if s.origin == "user site" and s.loses]
    if on.python.kind == "system" and not in_container(on.facts):
        return []
    return sorted(mine, key=lambda s: not is_framework(s.module))


def _targets(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for about, on in pythons(facts):
        yield about_modules(about, (s.module for s in _shadows(on))), on


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    shadows = _shadows(on)
    python = on.python.path
    verify = query(python, "-c", f"import {shadows[0].module} as m; print(m.__file__)") if shadows else None
    leave = without_user_site(verify)
    remove = Fix(
        "If nothing else needs the copies in ~/.local, uninstall them: pip removes the first copy that it finds.",
        (uninstall(on.python, *(s.module for s in shadows)),),
        "reinstall-package",
        impact="persistent",
        verify=verify,
    )
    return leave, remove


@check(
    title="Packages in ~/.local shadow this environment's",
    severity=Severity.WARNING,
    cause="Conda environments and a container's Python put the user site (~/.local) before their own packages; what "
    "`pip install --user` put there, perhaps on another machine with the same home directory, shadows them. A venv "
    "ignores it.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/library/site.html#site.ENABLE_USER_SITE",
        "https://github.com/cloveranon/Clover-Edition/issues/128",
    ),
    targets=_targets,
    only_with=("pythons.shadows",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def user_site_leaks(on: OnPython) -> Problem | None:
    """The user site has a module that the environment has too, and wins."""
    shadows = _shadows(on)
    if not shadows:
        return None
    first = shadows[0]
    version = f" {first.version}" if first.version else ""
    more = f" ({len(shadows)} modules in all)" if len(shadows) > 1 else ""
    message = f"`import {first.module}` loads the copy{version} in the user site, {first.wins}, "
    message += f"instead of {first.loses[0]}{more}."
    severity = None if is_framework(first.module) else Severity.ADVICE
    return Problem(message, tuple(f"{s.module}: {s.wins} hides {s.loses[0]}" for s in shadows[:5]), severity=severity)
