"""Fixes where a framework does not import, or dies."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import LiveFramework
from gpudoctor.fixes.loading import clear_executable_stack, of_cuda_repository, of_driver, of_system
from gpudoctor.fixes.pip import twice
from gpudoctor.fixes.python import another_build, conda_install, conda_of, install, manager_of, version_of
from gpudoctor.fixes.torch_build import torch_family
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge import import_errors
from gpudoctor.knowledge.torch import index_of_build
from gpudoctor.queries.loading import lacks_driver_library, missing_in_words
from gpudoctor.queries.packages import release
from gpudoctor.targets import OnLive
from gpudoctor.tasks import Shell, Task


def install_again(on: OnLive) -> tuple[Fix, ...]:
    """What the error message asks for, where known, then a reinstall of the same version with its dependencies."""
    # A reinstall brings the same libraries.
    return hinted(on) if on.live.executable_stack or of_the_driver(on) else (*hinted(on), _again(on))


def of_the_driver(on: OnLive) -> bool:
    """Whether the import fails because of a missing library of the NVIDIA driver, which no package brings."""
    return lacks_driver_library(on.live.import_error or "")


def after_crash(on: OnLive) -> tuple[Fix, ...]:
    """What to do about a framework whose process dies of a signal."""
    if outside_fixes := outside(on.live):
        return outside_fixes
    return (_again(on),)


def _again(on: OnLive) -> Fix:
    name, version = on.framework.distribution or on.framework.name, on.framework.version
    spec = f"{name}=={release(version)}" if isinstance(version, str) and version else name
    message = f"Reinstall it with its dependencies, with {manager_of(on.python)}."
    return Fix(message, (install(on.python, spec, force=True),), "reinstall-package", verify=_proof(on))


def outside(live: LiveFramework) -> tuple[Fix, ...]:
    """What to do where the signal shows that no package is at fault; empty for other signals."""
    if live.died == "SIGKILL":
        return (Fix("Give the machine or container more memory, or stop what uses it; dmesg shows the OOM kill."),)
    if live.died == "SIGILL":
        message = (
            "Set the virtual machine's CPU type to its host's (QEMU and Proxmox: host), or use a build without the "
            "missing CPU instructions; the command shows which ones this CPU has."
        )
        return (Fix(message, (Shell("lscpu | grep -E 'Model name|Flags'", lookup=True),), impact="none"),)
    return ()


def hinted(on: OnLive) -> tuple[Fix, ...]:
    """What the error message asks for, where it is known."""
    if on.live.executable_stack:
        return (clear_executable_stack(on.facts, on.live.executable_stack, _proof(on)),)
    missing = missing_in_words(on.live.import_error or "")
    found = of_driver(on.facts, missing) or of_system(on.facts, missing, _proof(on))
    if found := found or of_cuda_repository(on.facts, missing, _proof(on)):
        return found
    hint = import_errors.hint(on.live.import_error or "")
    if not hint or not hint.fix:
        return ()
    commands = (conda_install(on.python, *hint.conda, channel=None),) if hint.conda and conda_of(on.python) else ()
    return (Fix(hint.fix, commands, "reinstall-package", verify=_proof(on)),)


def torch_again(on: OnLive) -> tuple[Fix, ...]:
    """Reinstall the same PyTorch over the damaged one, with the packages that are compiled against it."""
    versions = {name: version_of(on.python, name) for name in torch_family(on.python)}
    own = on.framework.version if isinstance(on.framework.version, str) else None
    versions["torch"] = versions["torch"] or own
    specs = [f"{name}=={version}" if version else name for name, version in versions.items()]
    index = index_of_build(versions["torch"] or "")
    message = f"Reinstall the same PyTorch version with its libraries, with {manager_of(on.python)}."
    tasks = another_build(on.python, *specs, index=index)
    message += twice(tasks)
    return (Fix(message, tasks, "reinstall-package", verify=_proof(on)),)


def _proof(on: OnLive) -> Task | None:
    return framework_proof(on.python, on.framework.name)
