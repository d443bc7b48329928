"""AMD's packages are only half installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_driver import amd_driver, works

# dpkg-query(1), second letter of db:Status-Abbrev: half-installed, unpacked, half-configured.
WORDS = {"H": "half-installed", "U": "unpacked but not configured", "F": "half-configured (its postinst script failed)"}


def _halves(facts: Facts) -> tuple[tuple[str, str, str], ...]:
    return tuple(p for p in known(facts.amd.packages) if p[2][1:2] in WORDS)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    names = tuple(name for name, _, _ in _halves(facts))
    finish, remove = amd.finish_packages(facts, names)
    # The script of a DKMS package fails where its build does: with the headers there, it would fail again.
    repeats = facts.host.kernel.headers is True and any("dkms" in name for name in names)
    return (remove, finish) if repeats else (finish, remove)


@check(
    title="AMD's driver packages are only half installed",
    severity=Severity.ERROR,
    cause="The package's installation stopped, usually because DKMS could not build the module for this kernel. The "
    "kernel then loads its own amdgpu or a mix of files, and libraries and driver do not match. apt ends each "
    "later installation with the same error, and ROCm's packages that it was to set up next may be missing.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/1211",
        "https://github.com/ROCm/legacy-rocm-build/issues/6193",
        amd.INSTALL,
    ),
    targets=amd_driver,
    caused_by=("rocm.repository-of-another-release",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def half_installed(facts: Facts) -> Problem | None:
    """Dpkg lists packages between unpacked and configured; a WARNING where the GPU works anyway."""
    halves = _halves(facts)
    if not halves:
        return None
    named = "; ".join(f"{name} {version} is {WORDS[state[1]]}" for name, version, state in halves)
    node = next(iter(known_or(facts.amd.kfd, ())), None)
    error = known_or(node.error, None) if node else "ENOENT"
    what = f" Opening /dev/kfd fails with {error}." if error else ""
    lines = tuple(f"{state}  {name}  {version}" for name, version, state in halves)
    dkms = tuple(
        f"{d.module}/{d.version}, {d.kernel or 'no kernel'}: {d.state}" for d in known_or(facts.amd.dkms, ()) or ()
    )
    return Problem(f"{named}.{what}", (*lines, *dkms), severity=Severity.WARNING if works(facts) else Severity.ERROR)
