"""PyTorch without GPU support next to a Radeon that AMD's wheels support."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, PciDevice
from gpudoctor.fixes.python import version_of
from gpudoctor.knowledge import windows
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.windows import windows_torches
from gpudoctor.targets import OnFramework, cards_of, has_nvidia

_PAGE = "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/windows/install-pytorch.html"


def _served(facts: Facts) -> PciDevice | None:
    cards = cards_of(facts, "amd")
    return next((card for card in cards if isinstance(card.gfx, str) and windows.rocm_serves(card.gfx)), None)


@check(
    title="PyTorch is not a ROCm build: it cannot use the AMD GPU",
    severity=Severity.ADVICE,
    cause="PyPI and PyTorch's own index have no ROCm build for Windows; AMD has one for Radeon RX 7000 and 9000 and "
    "the newest Ryzen AI CPUs.",
    fixes=(
        Fix(
            "Install AMD's PyTorch builds for Windows, in an environment with the Python version that they need: "
            f"{_PAGE}",
            (),
            "reinstall-package",
        ),
    ),
    references=(_PAGE, "https://github.com/pytorch/pytorch/issues/109204"),
    targets=windows_torches,
    caused_by=("python.*", "windows.adapter-stopped", "windows.driver-missing"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def torch_not_for_amd(on: OnFramework) -> Problem | None:
    """A CPU build, without torch-directml, and no NVIDIA GPU."""
    if known(on.framework.variant) != "cpu" or has_nvidia(on.facts) or version_of(on.python, "torch-directml"):
        return None
    known(on.facts.pci)
    card = _served(on.facts)
    return (
        Problem(f"{on.name} is a CPU-only build, so {known_or(card.name, None) or 'an AMD GPU'} is not used.")
        if card
        else None
    )
