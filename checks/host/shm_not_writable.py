"""A /dev/shm into which ordinary users may not write."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import has_framework
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import as_root, query

WORLD_WRITABLE = "1777"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    now = known_or(facts.host.shm.mode, None) or "0755"
    stays = "start the container with another tmpfs on /dev/shm" if in_container(facts) else "correct /etc/fstab"
    return (
        Fix(
            f"Give /dev/shm the usual mode 1777 (writable for all, sticky); {stays} if it comes back.",
            (as_root("chmod", "1777", "/dev/shm"), query("grep", "-n", "shm", "/etc/fstab")),
            "change-environment",
            root=True,
            undo=(as_root("chmod", now, "/dev/shm"),),
            verify=query("ls", "-ld", "/dev/shm"),
        ),
    )


@check(
    title="Shared memory, /dev/shm, is not writable for everybody",
    severity=Severity.ERROR,
    cause="NCCL, PyTorch's DataLoader and every multiprocessing program make files in /dev/shm (shared memory). Its "
    "mode has to be 1777; with less only root, or nobody, may write there.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nccl/issues/328",
        "https://man7.org/linux/man-pages/man7/shm_overview.7.html",
    ),
    targets=machine,
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
        message = f"You may not write to /dev/shm (mode {mode}): shared memory cannot be made there, permission denied."
        return Problem(message, (f"mode {mode}",), severity=Severity.ERROR if needed else Severity.WARNING)
    if mode[-1:] not in ("2", "3", "6", "7"):
        message = f"/dev/shm has mode {mode} instead of {WORLD_WRITABLE}: you may write there, other users may not."
        return Problem(message, (f"mode {mode}",), severity=Severity.WARNING)
    return None
