"""A program of the NVIDIA Container Toolkit that the loader cannot start."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container, loading, system, toolkit_install
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.containers import container_host
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import INSTALLER, NODE

_PROOF = query("nvidia-container-cli", "--version")
_LIBRARY = pattern(r"(\S+): error while loading shared libraries: (\S+?): (.+)")


def _parts(facts: Facts) -> tuple[str, str, str] | None:
    """Program, library and reason of the loader's message."""
    found = _LIBRARY.search(known(facts.containers.toolkit_error) or "")
    return (found[1], found[2], found[3]) if found else None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    parts = _parts(facts)
    library = parts[1] if parts else ""
    if facts.host.distribution.id == "talos":
        message = (
            "Upgrade the node to a Talos release whose system extension nvidia-container-toolkit brings "
            f"{library} (Image Factory: the same extensions, a newer version)."
        )
        upgrade = cmd("talosctl", "upgrade", "--nodes", NODE, "--image", INSTALLER)
        return (Fix(message, (upgrade,), "reinstall-package", needs="reboot", place="outside"),)
    if system.family_of(facts) is None:
        message = f"Install {library}, or a release of the toolkit that brings it."
        return (Fix(message, (), "reinstall-package", root=True, verify=_PROOF),)
    again = Fix(
        f"If {library} is of the toolkit itself: reinstall its packages.",
        system.reinstall(facts, *toolkit_install.TOOLKIT),
        "reinstall-package",
        root=True,
        verify=_PROOF,
    )
    return (*loading.of_system(facts, (library,), _PROOF), again)


@check(
    title="NVIDIA Container Toolkit does not start: nvidia-container-cli: error while loading shared libraries",
    severity=Severity.WARNING,
    cause="The toolkit's hook runs nvidia-container-cli on the host for each container with a GPU. If the loader does "
    "not find a library of it, the program ends with exit status 127, and no container with a GPU starts (error "
    "running prestart hook #0).",
    fixes=_fixes,
    references=("https://github.com/siderolabs/extensions/issues/751", container.TROUBLES),
    targets=container_host,
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def toolkit_broken(facts: Facts) -> Problem | None:
    """The loader's own message, of a program of the toolkit that was started with --version."""
    error = known(facts.containers.toolkit_error)
    parts = _parts(facts)
    if error is None or parts is None:
        return None
    program, library, reason = parts
    where = phrase(" on {}", facts.host.distribution.name)
    message = f"{program} cannot start{where}: {library}: {reason}. No container gets the GPU through it."
    return Problem(message, (error,))
