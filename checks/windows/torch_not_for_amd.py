"""PyTorch without GPU support beside a Radeon that AMD's wheels serve."""

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
    title="PyTorch is not built for the AMD GPU of this machine",
    severity=Severity.ADVICE,
    cause="PyPI and PyTorch's own index have no build with ROCm for Windows; AMD has, for Radeon RX 7000 and 9000 and "
    "the newest Ryzen AI processors.",
    fixes=(
        Fix(
            f"Install AMD's builds of PyTorch for Windows, in an environment with the Python that they ask: {_PAGE}",
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
    """A CPU build, without torch-directml, and no NVIDIA GPU beside."""
    if known(on.framework.variant) != "cpu" or has_nvidia(on.facts) or version_of(on.python, "torch-directml"):
        return None
    known(on.facts.pci)
    card = _served(on.facts)
    return (
        Problem(f"{on.name} is built for the CPU alone, and {known_or(card.name, None) or 'an AMD GPU'} lies idle.")
        if card
        else None
    )
