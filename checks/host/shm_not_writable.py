"""A /dev/shm that ordinary users cannot write to."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import has_framework
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import as_root, query

WORLD_WRITABLE = "1777"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    now = known_or(facts.host.shm.mode, None) or "0755"
    stays = "start the container with its own tmpfs on /dev/shm" if in_container(facts) else "fix /etc/fstab"
    return (
        Fix(
            f"Set /dev/shm to its usual mode 1777 (world-writable, sticky); {stays} if the old mode comes back.",
            (as_root("chmod", "1777", "/dev/shm"), query("grep", "-n", "shm", "/etc/fstab")),
            "change-environment",
            root=True,
            undo=(as_root("chmod", now, "/dev/shm"),),
            verify=query("ls", "-ld", "/dev/shm"),
        ),
    )


@check(
    title="/dev/shm (shared memory) is not world-writable",
    severity=Severity.ERROR,
    cause="NCCL, PyTorch's DataLoader and every multiprocessing program create files in /dev/shm (shared memory). Its "
    "mode has to be 1777; otherwise only root, or nobody, can write there.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nccl/issues/328",
        "https://man7.org/linux/man-pages/man7/shm_overview.7.html",
    ),
    targets=machine,
    only_with=("gpus",),
    caused_by=("driver.*", "device.*"),
    affects=("several-gpus", "wheels"),
    validated_on=("simulated 2026-11",),
)
def shm_not_writable(facts: Facts) -> Problem | None:
    """ERROR where the user may not write and something needs it; WARNING where only other users may not."""
    if not gpus_of(facts):
        return None
    mode, writable = known(facts.host.shm.mode), known(facts.host.shm.writable)
    if mode is None or writable is None:
        return None
    if not writable:
        needed = len(gpus_of(facts)) > 1 or has_framework(facts, "torch", "tensorflow", "jax")
        message = f"You cannot write to /dev/shm (mode {mode}): creating shared memory fails with permission denied."
        return Problem(message, (f"mode {mode}",), severity=Severity.ERROR if needed else Severity.WARNING)
    if mode[-1:] not in ("2", "3", "6", "7"):
        message = f"/dev/shm has mode {mode} instead of {WORLD_WRITABLE}: you can write there, other users cannot."
        return Problem(message, (f"mode {mode}",), severity=Severity.WARNING)
    return None
