"""A CUDA toolkit that is installed already: whether it will do, and how builds find it."""

from gpudoctor.facts import Facts, Nvcc
from gpudoctor.fixes.toolkit import use
from gpudoctor.knowledge import generations
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known_or, text_of
from gpudoctor.setup.plan import TargetPlatform
from gpudoctor.tasks.as_typed import shown


def find(facts: Facts, ground: TargetPlatform, cuda: str | None, exact: bool, driver_cuda: str | None) -> Nvcc | None:
    """An installed nvcc that will do, one on PATH first, else the newest; None: none will.

    Args:
        facts: the machine.
        ground: what decides, of it.
        cuda: the release that is wanted, or that of the framework; None: any that fits the driver and the GPUs.
        exact: whether only this release will do; else any of its major.
        driver_cuda: the CUDA release of the driver; None: there is none.
    """
    found = [n for n in known_or(facts.toolkits.nvccs, ()) if isinstance(n.version, str)]
    fits = [n for n in found if _will_do(text_of(n.version), ground, cuda, exact, driver_cuda)]
    return max(fits, key=lambda n: (n.on_path, version(text_of(n.version)), n.starts is None), default=None)


def _will_do(own: str, ground: TargetPlatform, cuda: str | None, exact: bool, driver_cuda: str | None) -> bool:
    if cuda:
        return own == cuda if exact else version(own)[0] == version(cuda)[0]
    return (not driver_cuda or version(own)[0] <= version(driver_cuda)[0]) and not _no_code(own, ground)


def _no_code(own: str, ground: TargetPlatform) -> tuple[str, ...]:
    """The compute capabilities for which a release does not compile."""
    known = {one: generations.toolkits_of(one) for one in ground.capabilities}
    return tuple(
        one
        for one, range_ in known.items()
        if range_ and (version(own) < version(range_[0]) or (range_[1] and version(own) > version(range_[1])))
    )


def note(nvcc: Nvcc, ground: TargetPlatform, driver_cuda: str | None) -> str:
    """What is there, whether it fits the driver and the GPUs, and how builds find it."""
    own, path = text_of(nvcc.version), nvcc.starts or nvcc.path
    home = path.removesuffix("/bin/nvcc")
    text = f"CUDA Toolkit {own} is already installed: nothing to do. {path} "
    text += "is the nvcc on PATH." if nvcc.on_path else "is not on PATH."
    if missing := _no_code(own, ground):
        text += f" It does not compile for compute capability {', '.join(missing)}."
    if driver_cuda and version(own) <= version(driver_cuda):
        text += f" The driver, which supports CUDA up to {driver_cuda}, runs what it compiles."
    elif driver_cuda and version(own)[0] == version(driver_cuda)[0]:
        text += (
            f" The driver supports CUDA up to {driver_cuda}: it runs what is compiled for the GPU's compute "
            "capability, but no PTX."
        )
    lines = use(home)[: 1 if nvcc.on_path else None]
    return f"{text} For builds: {'; '.join(map(shown, lines))}"
