"""An editable installation whose directory is gone."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LostCheckout
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.wanted import matters
from gpudoctor.queries.packages import release
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import query


def _lost(on: OnPython) -> list[LostCheckout]:
    return sorted(on.python.lost_checkouts, key=lambda one: (not matters(one.package), not one.needed_by))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    one = _lost(on)[0]
    # Only a distribution that a table knows is the same project on PyPI; of one's own another may have the name.
    known = matters(one.package)
    spec = one.package if "dev" in one.version or "+" in one.version else f"{one.package}=={release(one.version)}"
    proof = query(on.python.path, "-c", f'import importlib.metadata as m; print(m.version("{one.package}"))')
    wheel = Fix(
        f"Install {spec} as a wheel, in place of the link.{lasting(on.facts)}",
        (install(on.python, spec, force=True, no_deps=True),),
        "reinstall-package",
        verify=proof,
    )
    gone = Fix(
        f"Put the sources back to {one.folder}, or remove {one.package} if nothing needs it.",
        () if one.needed_by else (uninstall(on.python, one.package),),
        "reinstall-package",
    )
    return (wheel, gone) if known else (gone,)


@check(
    title="The directory of an editable installation is gone",
    severity=Severity.ERROR,
    cause="An editable installation (pip install -e) is a link to a directory with the sources. After that directory "
    "was deleted, moved or not mounted, pip still lists the package, and its import fails.",
    fixes=_fixes,
    references=(
        "https://pip.pypa.io/en/stable/topics/local-project-installs/#editable-installs",
        "https://packaging.python.org/en/latest/specifications/direct-url/",
    ),
    targets=pythons,
    only_with=("pythons.lost_checkouts",),
    affects=("wheels",),
    validated_on=("environment 2026-11",),
)
def checkout_gone(on: OnPython) -> Problem | None:
    """A distribution whose direct_url.json names a directory that does not exist."""
    found = _lost(on)
    if not found:
        return None
    first = found[0]
    users = f" {' and '.join(first.needed_by[:3])} {'require' if first.needed_by[1:] else 'requires'} it."
    more = f" The same applies to {', '.join(one.package for one in found[1:6])}." if found[1:] else ""
    message = (
        f"{first.package} {first.version} was installed from {first.folder}, which does not exist: it cannot be "
        f"imported.{users if first.needed_by else ''}{more}"
    )
    severity = None if matters(first.package) or first.needed_by else Severity.ADVICE
    return Problem(message, severity=severity, breaks=(first.package, *first.needed_by))
