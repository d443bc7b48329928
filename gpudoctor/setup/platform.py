"""What decides about a plan, of the facts of a machine."""

from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.driver import branch_of
from gpudoctor.fixes.system import family_of
from gpudoctor.fixes.torch_build import driver_cuda
from gpudoctor.knowledge import drivers, wheels
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known_or
from gpudoctor.queries import intel
from gpudoctor.queries.driver import driver_version
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus, torch_gfx
from gpudoctor.setup.plan import TargetPlatform
from gpudoctor.targets import gpus_of


def ground(facts: Facts, cpu: bool = False) -> TargetPlatform:
    """What decides, of this machine.

    Args:
        facts: the machine.
        cpu: leave its GPUs out.
    """
    gpus = () if cpu else nvidia_gpus(facts) or _roc(facts) or gpus_of(facts, "apple")
    cards = () if cpu or gpus or facts.host.system != "Linux" else intel.alone(facts)
    vendor = gpus[0].vendor if gpus else "intel" if cards else None
    return TargetPlatform(
        kernel=known_or(facts.host.system, None),
        system=known_or(facts.host.distribution.name, None),
        family=family_of(facts),
        release=known_or(facts.host.distribution.version, None),
        architecture=known_or(facts.host.architecture, None),
        glibc=_glibc(facts),
        vendor=vendor,
        gpus=tuple(_name(gpu) for gpu in gpus) or tuple(intel.card_name(card) for card in cards),
        capabilities=_capabilities(gpus),
        gfx=tuple(sorted({g.gfx for g in gpus if isinstance(g.gfx, str)})),
        rocm=known_or(facts.amd.rocm, None) if vendor == "amd" else None,
        driver=known_or(driver_version(facts), None) if vendor == "nvidia" else None,
        driver_cuda=_cuda(facts) if vendor == "nvidia" else None,
    )


def _cuda(facts: Facts) -> str | None:
    """The CUDA release that the driver runs, as it says, else as its branch does."""
    said = driver_cuda(facts)
    branch = branch_of(known_or(driver_version(facts), None))
    return said or (drivers.cuda_of_branch(branch) if branch else None)


def _roc(facts: Facts) -> tuple[Gpu, ...]:
    """AMD's GPUs; one inside the CPU counts where there is no other."""
    found = tuple(g for g in amd_gpus(facts) if isinstance(g.gfx, str) and torch_gfx(g.gfx))
    return tuple(g for g in found if g.integrated is not True) or found


def _capabilities(gpus: tuple[Gpu, ...]) -> tuple[str, ...]:
    return tuple(sorted({g.capability for g in gpus if isinstance(g.capability, str)}, key=version))


def _name(gpu: Gpu) -> str:
    name = gpu.name if isinstance(gpu.name, str) else f"GPU {gpu.index}"
    what = f"compute capability {gpu.capability}" if isinstance(gpu.capability, str) else known_or(gpu.gfx, None)
    return f"{name}, {what}" if what else name


def _glibc(facts: Facts) -> str | None:
    found = facts.host.distribution
    if not isinstance(found.id, str):
        return None
    return wheels.glibc_of(found.id, known_or(found.version, None))
