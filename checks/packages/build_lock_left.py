"""A killed build of a PyTorch extension left its lock."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import present
from gpudoctor.queries.loading import stale_locks
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import cmd, query


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    locks = [present(kernel.lock) for kernel in stale_locks(on.python)]
    message = "Delete the lock, unless somebody builds the extension now on another node or in a container."
    verify = query("ls", locks[0].rpartition("/")[0])
    return (Fix(message, tuple(cmd("rm", lock) for lock in locks[:8]), "change-environment", verify=verify),)


@check(
    title="A killed build left its lock in torch_extensions: every import of the extension hangs",
    severity=Severity.WARNING,
    cause="torch.utils.cpp_extension.load() makes a file called lock while it builds, and others wait until the file "
    "is gone. If the build is killed (Ctrl-C, out of memory, end of a job), the file stays, and every later load waits "
    "for ever without a message.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/blob/main/torch/utils/file_baton.py",
        "https://github.com/PASSIONLab/OpenEquivariance/issues/207",
        "https://github.com/pytorch/pytorch/issues/189245",
    ),
    targets=pythons,
    only_with=("pythons.kernels",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def build_lock_left(on: OnPython) -> Problem | None:
    """A lock in the cache of this interpreter's extensions that no process has open."""
    found = stale_locks(on.python)
    if not found:
        return None
    first = found[0]
    name = first.directory.rpartition("/")[2]
    built = "" if first.library else " and the extension was never built"
    more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
    message = f"{present(first.lock)} exists, no process has it open{built}: loading {name} hangs{more}."
    return Problem(message, tuple(f"{name} is built from {source}" for source in first.sources[:3]))
