"""MIG is on and there are no instances, so CUDA has no device to run on."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import in_runs
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.reset import let_go, reset_alone
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import HANGS, NODES, NOT_LOADED, SURROUNDINGS, VERSIONS
from gpudoctor.queries.driver import CUDA_NO_DEVICE
from gpudoctor.targets import gpus_of, in_container, nvidia_hardware
from gpudoctor.tasks import as_root, query


def _empty(facts: Facts) -> tuple[Gpu, ...]:
    return tuple(g for g in gpus_of(facts, "nvidia") if g.mig is True and g.mig_devices == ())


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    numbers = tuple(g.index for g in _empty(facts))
    which = ",".join(map(str, numbers))
    off = Fix(
        "If you do not want to partition the GPUs: end the programs that use them, then disable MIG.",
        (*let_go(facts, *numbers), as_root("nvidia-smi", "-i", which, "-mig", "0"), *reset_alone(facts, *numbers)),
        "reset-gpu",
        root=True,
        undo=(as_root("nvidia-smi", "-i", which, "-mig", "1"),),
        verify=query("nvidia-smi", "-L"),
    )
    make = Fix(
        "If you do: list the profiles, then create GPU instances with their compute instances (-C); here one of the "
        "whole GPU.",
        (query("nvidia-smi", "mig", "-lgip"), as_root("nvidia-smi", "mig", "-i", which, "-cgi", "0", "-C")),
        "change-environment",
        root=True,
        undo=(
            as_root("nvidia-smi", "mig", "-i", which, "-dci"),
            as_root("nvidia-smi", "mig", "-i", which, "-dgi"),
        ),
        verify=query("nvidia-smi", "-L"),
    )
    return (off, make)


@check(
    title="MIG is enabled without any instance",
    severity=Severity.ERROR,
    cause="With Multi-Instance GPU (MIG) enabled, CUDA runs only on instances; a GPU without one is no CUDA device. "
    "The mode survives reboots on some boards, and cards from repairs and pools arrive with it enabled.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
        "https://github.com/wilicc/gpu-burn/issues/36",
    ),
    targets=nvidia_hardware,
    caused_by=(*NOT_LOADED, *VERSIONS, *NODES, *HANGS, "driver.nvml-error", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_instances(facts: Facts) -> Problem | None:
    """GPUs in MIG mode with an empty list of instances; the others may still work."""
    gpus = gpus_of(facts, "nvidia")
    known(facts.gpus)
    empty = _empty(facts)
    # NVML shows a container or job only the instances that it was given.
    given = in_container(facts) or isinstance(facts.cluster.scheduler, str)
    if empty and given and facts.nvidia.cuda.code == 0:
        return None
    if not empty:
        for gpu in gpus:
            if gpu.mig is not False:
                known(gpu.mig)
            if gpu.mig is True:
                known(gpu.mig_devices)
        return None
    names = in_runs(g.index for g in empty)
    some = f" ({len(gpus) - len(empty)} of {len(gpus)} GPUs are not affected)" if len(gpus) > len(empty) else ""
    message = f"MIG is enabled on GPU {names} without any instance, so CUDA has no device there{some}."
    if given:
        message += " Or this container or job was given no instance."
    hard = len(empty) == len(gpus) or known_or(facts.nvidia.cuda.code, 0) == CUDA_NO_DEVICE
    return Problem(message, severity=None if hard else Severity.WARNING)
