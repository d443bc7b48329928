"""NVIDIA's repository is the one for an older Debian, whose key apt rejects."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import driver, system
from gpudoctor.knowledge import repositories
from gpudoctor.maybe import known_or, text_of
from gpudoctor.queries.cards import any_works
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.repositories import sources_of_older_debian
from gpudoctor.tasks import Command, Tasks, as_root, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    paths = tuple(dict.fromkeys(source.path for source in sources_of_older_debian(facts)))
    off = tuple(as_root("mv", path, f"{path}.off") for path in paths)
    back = tuple(as_root("mv", f"{path}.off", path) for path in paths)
    own = facts.host.distribution
    new = repositories.commands("debian", text_of(own.version), known_or(facts.host.architecture, "x86_64"))
    flavor = "nvidia-open" if driver.flavor_for(facts) == "open" else "cuda-drivers"
    name = () if any_works(facts) else system.install(facts, f"linux-headers-{system.kernel_of(facts)}", flavor)
    verify = query("apt-get", "update") if any_works(facts) else query("nvidia-smi")
    needs = None if any_works(facts) else "reboot"
    fixes = [_fix("Disable this repository; Debian's own packages stay.", off, back, verify, None)]
    last, first = driver.last_branch(facts), repositories.first_branch("debian", text_of(own.version))
    # NVIDIA/cuda-repo-management#38: it has no branch for GPUs that the newest ones dropped.
    if new and (last is None or last >= first):
        message = "Replace the repository by NVIDIA's for this release of Debian, with its keyring"
        message += "." if any_works(facts) else ", and install the driver from it; then reboot."
        commands: Tasks = (*off, *map(_again, new), as_root("apt-get", "update"), *name)
        fixes.insert(0, _fix(message, commands, back, verify, needs))
    if not any_works(facts):
        usual = driver.install_driver(facts)
        fixes[-1] = _fix(f"Disable this repository. {usual.message}", (*off, *usual.tasks), back, verify, "reboot")
    return tuple(fixes)


def _again(found: Command) -> Command:
    """The keyring's package has the same version for every release, and one that is installed is not replaced."""
    if found.argv[:2] == ("apt-get", "install") and found.argv[-1].endswith(".deb"):
        return msgspec.structs.replace(found, argv=("apt-get", "install", "--reinstall", *found.argv[2:]))
    return found


def _fix(message: str, commands: Tasks, undo: Tasks, verify: Command, needs: str | None) -> Fix:
    return Fix(message, commands, "reinstall-package", root=True, needs=needs, undo=undo, verify=verify)


@check(
    title="NVIDIA's repository is for an older Debian: apt rejects its key",
    severity=Severity.WARNING,
    cause="From Debian 13 on apt verifies repositories with Sequoia (sqv), which rejects SHA-1 signatures since "
    "2026-02-01. The signing key of NVIDIA's repositories for older releases is bound by such a signature, so apt "
    "calls the repository not signed and ignores it: no package comes from it.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/cuda-repo-management/issues/34",
        "https://github.com/NVIDIA/cuda-repo-management/issues/38",
        "https://wiki.debian.org/NvidiaGraphicsDrivers",
    ),
    targets=own_kernel,
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def repository_of_another_release(facts: Facts) -> Problem | None:
    """NVIDIA's address names the release that it is for."""
    found = sources_of_older_debian(facts)
    if not found:
        return None
    own = text_of(facts.host.distribution.name) or "a newer release"
    made_for = found[0].release or "another release"
    message = (
        f"{found[0].path} names NVIDIA's repository for {made_for}, but this is {own}, whose apt rejects the "
        "key of that repository (SHA-1 signature)."
    )
    severity = Severity.ADVICE if any_works(facts) else Severity.ERROR
    return Problem(message, tuple(f"{s.path}: {s.release or ''}" for s in found[:4]), severity=severity)
