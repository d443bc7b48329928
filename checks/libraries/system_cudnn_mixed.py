"""An incomplete cuDNN wheel mixed with the system's cuDNN of another version."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, Need
from gpudoctor.fixes import system
from gpudoctor.fixes.python import install
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.maybe import known, phrase, phrases, present
from gpudoctor.queries.libraries import family, needs_of
from gpudoctor.queries.packages import numbers, wheels
from gpudoctor.targets import OnPython, framework_name, pythons
from gpudoctor.tasks import Tasks, as_root


def _mixed(framework: Framework) -> Iterator[tuple[Need, Need]]:
    """The wheel's main library, and each part that comes from elsewhere in another version."""
    parts = [n for n in needs_of(framework) if family(n.soname).startswith("libcudnn")]
    main = next((n for n in parts if family(n.soname) == "libcudnn" and n.wheel and n.path == n.wheel), None)
    for part in parts if main else ():
        strange = part.path and part.wheel is None and part.how != "LD_LIBRARY_PATH"
        if main and strange and part.version and numbers(part.version)[:3] != numbers(main.wheel_version or "")[:3]:
            yield main, part


def _found(on: OnPython) -> tuple[Framework, Need, Need] | None:
    for framework in on.python.frameworks:
        for main, part in _mixed(framework):
            return framework, main, part
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    framework, main, part = found
    proof = framework_proof(on.python, framework.name)
    wheel = next(iter(wheels(on.python, "cudnn")), None)
    fixes = []
    commands = _removal(on)
    if commands:
        message = (
            f"Remove the system's cuDNN {present(part.version)}, if nothing else needs it; wheels include their own."
        )
        fixes.append(Fix(message, commands, "reinstall-package", root=True, verify=proof))
    if wheel:
        major, minor = numbers(part.version or "")[:2]
        spec = f"{wheel.name}=={major}.{minor}.*"
        message = (
            "Upgrade the wheel to the version of the system's copy, so that all parts match (pip will report that "
            f"PyTorch pins {present(main.wheel_version)}; a newer minor version of cuDNN {major} works)."
        )
        fixes.append(Fix(message, (install(on.python, spec),), "reinstall-package", verify=proof))
    return tuple(fixes)


def _removal(on: OnPython) -> Tasks:
    match system.family_of(on.facts):
        case "debian":
            return (as_root("apt-get", "remove", "libcudnn9*", "cudnn9*"),)
        case "fedora":
            return (as_root("dnf", "remove", "libcudnn9*", "cudnn9*"),)
        case "suse":
            return (as_root("zypper", "remove", "libcudnn9*", "cudnn9*"),)
        case "arch":
            return (as_root("pacman", "-R", "cudnn"),)
    return ()


@check(
    title="Mixed cuDNN versions: the wheel's and the system's",
    severity=Severity.ERROR,
    cause="The cuDNN wheel lacks a sub-library that it opens by bare name; the loader then takes the system's copy of "
    "another version from its default directories, and the first convolution fails with "
    "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH. LD_LIBRARY_PATH is not involved.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/188892",
        "https://github.com/pytorch/pytorch/issues/187824",
    ),
    targets=pythons,
    only_with=("pythons.frameworks.needs.wheel",),
    caused_by=("python.*", "libraries.shadowed-by-path", "libraries.wheel-incomplete"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def system_cudnn_mixed(on: OnPython) -> Problem | None:
    """An incomplete wheel is completed by a system copy of another version."""
    for framework in on.python.frameworks:
        if framework.name == "torch" and framework.variant == "cuda":
            known(framework.needs)
    found = _found(on)
    if found is None:
        return None
    framework, main, part = found
    message = (
        f"{framework_name(framework)} loads {part.soname} from the system ({present(part.path)}, cuDNN "
        f"{present(part.version)}) together with cuDNN {present(main.wheel_version)} from its own wheel, which is "
        "incomplete: the versions differ."
    )
    evidence = phrases(
        phrase("{}: {}", main.soname, main.path), f"{part.soname}: {present(part.path)}, found by: {part.how}"
    )
    return Problem(message, evidence)
