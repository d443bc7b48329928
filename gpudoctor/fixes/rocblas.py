"""Get kernels of rocBLAS for a GPU's target: a sibling's, a release that has them, or its files in this one."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, system
from gpudoctor.fixes.variables import assign
from gpudoctor.knowledge import rocm
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known_or
from gpudoctor.queries.gfx import OVERRIDE, covers
from gpudoctor.targets import in_container
from gpudoctor.tasks import Placeholder, Shell, Task, Tasks, filtered, query

_FOLDER = Placeholder("FOLDER", "the directory with that rocBLAS's files, .../lib/rocblas/library")


def kernels(facts: Facts, gfx: str, there: tuple[str, ...], verify: Task | None = None) -> tuple[Fix, ...]:
    """What gives programs that use rocBLAS its kernels for a target.

    Args:
        facts: the machine.
        gfx: the GPU's own target, for which it has none.
        there: the targets that it has kernels for.
        verify: the command that verifies the fix; None: one that looks for the files.
    """
    verify = verify or query("find", "/opt", "-path", f"*/rocblas/library/TensileLibrary_lazy_{gfx}.dat")
    value = rocm.override_for(gfx)
    sibling = rocm.gfx_of_override(value) if value else None
    fixes: list[Fix] = []
    if value and sibling and covers(there, sibling):
        message = f"Let {gfx} run the kernels of {sibling}, which has the same instruction set."
        fixes.append(assign(OVERRIDE, value, message, amd.PROOF))
    last, known_in = rocm.last_with_blas(gfx), rocm.releases_for(gfx)
    if last:
        fixes += [_older(facts, gfx, last, verify), *_files(facts, gfx, last)]
    elif known_in:
        fixes.append(_with_target(facts, gfx, known_in[0], verify))
    elif not fixes:
        message = f"Build rocBLAS from source for {gfx}, or compute with Vulkan: no release of ROCm lists it."
        fixes.append(Fix(message, impact="none"))
    return tuple(fixes)


def _replace(facts: Facts, message: str, tasks: Tasks, verify: Task) -> Fix:
    outside = in_container(facts)
    return Fix(
        message,
        () if outside else tasks,
        "restart-process" if outside else "reinstall-package",
        root=not outside,
        needs="a new container" if outside else None,
        impact="reversible" if outside else "persistent",
        verify=verify,
        place="outside" if outside else "here",
    )


def _older(facts: Facts, gfx: str, last: str, verify: Task) -> Fix:
    what = "Use an image with" if in_container(facts) else "Install"
    guide = amd.CONTAINERS if in_container(facts) else rocm.guide(last)
    message = f"{what} ROCm {last}, the last release whose rocBLAS has kernels for {gfx}. {guide}"
    return _replace(facts, message, (), verify)


def _files(facts: Facts, gfx: str, last: str) -> tuple[Fix, ...]:
    """Put the files of an older release next to those that are here, in ROCm's own directory."""
    path = known_or(facts.amd.blas_path, None)
    if path is None or not path.startswith("/opt/"):
        return ()
    message = (
        f"Or keep this release, and copy the files for {gfx} from the rocBLAS of ROCm {last}, or of a distribution "
        "that builds them, into its directory. AMD does not support that, and an upgrade may remove them."
    )
    if in_container(facts):
        message += " Do this in the image."
    copy = Shell(f"cp -n FOLDER/*{gfx}* {path}/", root=True, placeholders=(_FOLDER,))
    undo = (Shell(f"rm {path}/*{gfx}*", root=True),)
    shown = filtered(query("ls", path), query("grep", gfx))
    return (Fix(message, (copy,), "reinstall-package", root=True, impact="persistent", undo=undo, verify=shown),)


def _with_target(facts: Facts, gfx: str, first: str, verify: Task) -> Fix:
    here = known_or(facts.amd.rocm, None)
    if in_container(facts):
        return _replace(facts, f"Use an image with ROCm {first} or newer. {amd.CONTAINERS}", (), verify)
    # A release that the table lacks is between those that it has.
    if here and (rocm.supports(here, gfx) or (rocm.release(here) is None and version(here) >= version(first))):
        name = rocm.blas_package(here, gfx)
        message = f"Install the package with rocBLAS's kernels for {gfx}, {name}: ROCm {here} supports this GPU."
        return _replace(facts, message, system.reinstall(facts, name) if name == "rocblas" else (), verify)
    message = f"Install ROCm {first} or newer, whose rocBLAS has kernels for {gfx}. {amd.INSTALL}"
    return _replace(facts, message, (), verify)
