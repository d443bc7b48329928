"""The Windows driver answers in WSL, and offers no GPU."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.queries.driver import CUDA_NO_DEVICE
from gpudoctor.targets import gpus_of, has_dxg, in_container, on_wsl


def _distributions(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The WSL 2 distribution that has the Windows host's GPU device; a container may have none on purpose."""
    if on_wsl(facts) and has_dxg(facts) and not in_container(facts):
        yield MACHINE, facts


_MODEL = wsl.driver_model(
    "On Windows, in an administrator prompt, look at the driver model of every card, and set WDDM for each that has "
    "TCC (here for card 0): a single card in TCC keeps WSL from all others too."
)
_UPDATE = wsl.update_wsl("Update WSL, and restart it")
_DRIVER = wsl.windows_driver(
    "If Windows' own nvidia-smi lists no card either, enable it in the Device Manager, and install NVIDIA's current "
    "driver on Windows."
)


@check(
    title="Windows offers no NVIDIA GPU to WSL: driver model TCC, or no card",
    severity=Severity.ERROR,
    cause="WSL reaches GPUs through /dev/dxg, and Windows offers only cards in the driver model WDDM there. "
    "Professional cards (Tesla, RTX, Quadro) may be in TCC instead: then the Windows driver's library answers in WSL "
    "and has no GPU, not even another card of the same machine that is in WDDM. The same is seen where Windows itself "
    "has no working NVIDIA GPU.",
    fixes=(_MODEL, _UPDATE, _DRIVER),
    references=(
        wsl.CUDA_ON_WSL,
        "https://github.com/microsoft/WSL/issues/13027",
        "https://github.com/microsoft/WSL/issues/9952",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    targets=_distributions,
    caused_by=("wsl.kernel-too-old", "wsl.linux-driver-installed", "driver.stub-library"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_gpu_listed(facts: Facts) -> Problem | None:
    """NVML starts, and lists no GPU or refuses all of them; cuInit finds none, whatever is masked.

    An ADVICE where nothing is built for CUDA: laptops turn a GPU off on purpose, and the driver's files stay.
    """
    nvml, cuda = facts.nvidia.nvml, facts.nvidia.cuda
    if known(nvml.code) != 0 or known(cuda.code) != CUDA_NO_DEVICE or cuda.unmasked_code == 0:
        return None
    gpus, count = gpus_of(facts, "nvidia"), known(nvml.count) or 0
    if count and not (gpus and all(isinstance(gpu.status, Unknown) for gpu in gpus)):
        return None
    if count:
        known(cuda.unmasked_code)
    wanted = bool(count) or has_cuda_wheel(facts)
    said = "lists no GPU" if not count else f"can open none of its GPUs ({count})"
    return Problem(
        f"NVML starts in WSL and {said}: Windows offers no NVIDIA GPU in the driver model WDDM.",
        (f"nvmlInit: 0, GPUs: {count}", f"cuInit: {CUDA_NO_DEVICE}"),
        severity=None if wanted else Severity.ADVICE,
    )
