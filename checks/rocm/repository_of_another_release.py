"""An AMD package repository is for another release of the distribution."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import AmdRepository, Facts
from gpudoctor.fixes import amd
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import as_root, query

# AMD's directories for RPM: rocm/rhel9/6.3.4, amdgpu/6.3.4/el/9.5, amdgpu/6.3.4/rhel/9.5.
_RHEL = r"/(?:rhel/?|el/)(\d+)"
_REBUILDS = ("rhel", "rocky", "almalinux", "ol", "centos")


def _wrong(facts: Facts) -> tuple[AmdRepository, ...]:
    """Only where release names can be compared: AMD's Debian packages are partly those of Ubuntu."""
    distribution = facts.host.distribution
    identity = known(distribution.id)
    if identity == "ubuntu":
        if not _is_lts(known(distribution.version) or ""):
            return ()  # AMD has no packages for interim releases: those of the LTS before are all there is
        own = known(distribution.codename)
        return tuple(r for r in known(facts.amd.repositories) or () if own and r.suite and _ubuntu(r) not in ("", own))
    if identity in _REBUILDS:
        major = (known(distribution.version) or "").partition(".")[0]
        named = [(r, re.search(_RHEL, r.address)) for r in known(facts.amd.repositories)]
        return tuple(r for r, found in named if major and found and found[1] != major)
    return ()


def _is_lts(version: str) -> bool:
    """Whether this is an Ubuntu LTS release: April of an even year."""
    year, _, month = version.partition(".")
    return month[:2] == "04" and (number_of(year) or 1) % 2 == 0


def _ubuntu(repository: AmdRepository) -> str:
    """The release that a suite names; some of AMD's suites name none."""
    suite = repository.suite or ""
    return suite if suite.isalpha() and suite not in ("stable", "main", "proprietary") else ""


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    files = dict.fromkeys(r.path for r in _wrong(facts))
    own = known_or(facts.host.distribution.codename, None) or known_or(facts.host.distribution.version, None)
    return (
        Fix(
            f"Set up AMD's repository for this release{phrase(' ({})', own)} following AMD's guide, and reinstall the "
            "packages from it.",
            (query("grep", "-n", "repo.radeon.com", *files), *(as_root("mv", path, f"{path}.off") for path in files)),
            "reinstall-package",
            root=True,
            impact="persistent",
            undo=tuple(as_root("mv", f"{path}.off", path) for path in files),
            verify=query("apt", "policy", "amdgpu-dkms", "rocm-core")
            if facts.host.distribution.id == "ubuntu"
            else query("dnf", "repolist"),
        ),
    )


@check(
    title="AMD's package repository is for another release of the distribution",
    severity=Severity.WARNING,
    cause="AMD builds its packages per distribution release: on another one dependencies are missing ('unmet "
    "dependencies'), and the DKMS module does not build for the kernel.",
    fixes=_fixes,
    references=(f"{amd.INSTALL}reference/system-requirements.html", amd.POST_INSTALL),
    targets=amd_compute,
    affects=("tools",),
    validated_on=("table 2026-11",),
)
def repository_of_another_release(facts: Facts) -> Problem | None:
    """The suite, or the release directory, is not this distribution's."""
    wrong = _wrong(facts)
    if not wrong:
        return None
    first = wrong[0]
    named = first.suite or first.address
    own = known_or(facts.host.distribution.name, "another release")
    message = f"{first.path} points to AMD's packages for {named}, but this is {own}."
    return Problem(message, tuple(f"{r.path}: {r.address} {r.suite or ''}".strip() for r in wrong[:4]))
