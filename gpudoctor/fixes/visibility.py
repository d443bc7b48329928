"""Fixes masks that hide GPUs: unset them, or set them to existing GPUs."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.variables import unset_where_set
from gpudoctor.fixes.verify_commands import cuda_proof, hip_proof
from gpudoctor.parsers.visible_devices import is_quoted, listed
from gpudoctor.queries.visibility import CUDA, HIP, ROCR, amd_masks, job_without_gpu, read_cuda
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import Shell, cmd, export, unset
from gpudoctor.tasks.placeholders import JOB_SCRIPT


def cuda_fixes(facts: Facts) -> tuple[Fix, ...]:
    """Request a GPU from the scheduler, or unset the variable, or set it to existing GPUs."""
    value = facts.host.environment.get(CUDA, "")
    if job_without_gpu(facts):
        return (_ask_slurm(),)
    verify = cuda_proof(facts)
    fixes = [
        Fix(
            unset_where_set(facts, CUDA),
            (unset(CUDA),),
            action="change-environment",
            needs="restart of the program",
            undo=(export(CUDA, value),),
            verify=verify,
        )
    ]
    right = _right_value(facts, value)
    if right:
        message = f"Set {CUDA} to existing GPUs" + (", without quotation marks." if is_quoted(value) else ".")
        if isinstance(facts.cluster.scheduler, str):
            message += " In a job they count from 0, whatever their numbers on the node are."
        fixes.append(Fix(message, (export(CUDA, right),), action="change-environment", verify=verify))
    return tuple(fixes)


def _right_value(facts: Facts, value: str) -> str | None:
    """The wanted GPUs as far as they exist; GPU 0 where none of them does."""
    bare = value.strip().strip("'\"")
    mask = read_cuda(facts, bare)
    if not gpus_of(facts, "nvidia"):
        return None
    return bare if mask.bad is None and bare else listed(mask.visible or (0,))


def _ask_slurm() -> Fix:
    return Fix(
        f"Request a GPU from Slurm when you submit the job: Slurm then sets {CUDA} itself. Unsetting it could use a "
        "GPU that Slurm gave to another job.",
        (cmd("srun", "--gpus=1", "--pty", "bash", person=True), cmd("sbatch", "--gpus=1", JOB_SCRIPT)),
        action="change-environment",
        needs="a new job",
        impact="none",
        verify=Shell(f"echo ${CUDA}; nvidia-smi -L", lookup=True),
    )


def amd_fixes(facts: Facts) -> tuple[Fix, ...]:
    """Unset AMD's masks, or set one of them to the discrete GPUs."""
    masks = amd_masks(facts)
    if masks is None:
        return ()
    names = [name for name, value in ((ROCR, masks.rocr), (masks.variable, masks.hip)) if value is not None]
    verify = hip_proof(facts)
    free = Fix(
        unset_where_set(facts, *names), tuple(unset(n) for n in names), action="change-environment", verify=verify
    )
    good = listed(n for n, gpu in enumerate(masks.gpus) if gpu.integrated is not True)
    if not good or good == masks.hip:
        return (free,)
    message = "Select with HIP_VISIBLE_DEVICES only; the discrete GPUs here have these indices."
    only = (*(unset(name) for name in names if name != HIP), export(HIP, good))
    return free, Fix(message, only, action="change-environment", verify=verify)
