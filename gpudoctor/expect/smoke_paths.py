"""The short paths to what the smoke tests measured: `smoke.pytorch.transfer.h2d pinned`."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from gpudoctor.lazy_regex import pattern
from gpudoctor.smoketests.options import BACKENDS
from gpudoctor.smoketests.suite import BY_NAME, DTYPES

# What each test measures; tests/expect/test_measured.py holds it against what the tests tell.
FIGURES: dict[str, tuple[str, ...]] = {
    "matmul": ("rate", "error", "first call", "cpu rate", "speed-up"),
    "mnist": ("rate", "loss error", "gradient error", "step error", "descent", "loss left"),
    "transfer": ("h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable", "copy"),
    "overlap": ("copy", "compute", "both", "overlap", "duplex"),
    "mixed-precision": ("loss error", "gradient error", "difference", "scale"),
    "fused": ("rate", "compile", "error", "speed-up"),
    "bandwidth": ("copy", "triad", "read"),
    "inference": ("error", "gpu 1", "gpu 256", "cpu 1", "cpu 256", "speed-up 1", "speed-up 256"),
    "peer": ("rate",),
    "allreduce": ("time", "bus rate"),
    "data-parallel": ("gradient error", "step error", "step on one", "step on all", "scaling"),
    "stress": ("rate", "error", "last third"),
    "compare": ("time 256", "with copies 256", "rate 256", "sustained", "step"),
}
_DEVICE = pattern(r"(?:GPU [0-9]+|GPUs [0-9,\-]+|CPU|\*)\Z")


class FigurePath(NamedTuple):
    """Which figure is meant; None: every one."""

    backend: str | None
    device: str | None
    test: str
    variant: str | None
    figure: str


def smoke_path(steps: Sequence[str]) -> FigurePath:
    """The figure that the steps after "smoke" mean: backend, device where one is meant, test, figure.

    Raises:
        ValueError: a name is not known; the message is a sentence with the nearest one.
    """
    if len(steps) not in (3, 4):
        raise ValueError('a measured value is written "smoke.pytorch.transfer.h2d pinned", or with a device "GPU 0".')
    backend, test, figure = steps[0], steps[-2], steps[-1]
    _known(backend, ("*", *BACKENDS), "backend")
    device = steps[1] if len(steps) == 4 else "*"
    if not _DEVICE.match(device):
        raise ValueError(f'"{device}" is not a device: use "GPU 0", "CPU" or "*".')
    name, _, variant = test.partition(" ")
    _known(name, tuple(BY_NAME), "smoke test")
    if name == "matmul" and variant:
        _known(variant, DTYPES, "data type")
    _known(figure, FIGURES[name], f"figure of {name}")
    return FigurePath(_one(backend), _one(device), name, variant or None, figure)


def _one(name: str) -> str | None:
    return None if name == "*" else name


def _known(given: str, names: Sequence[str], what: str) -> None:
    if given not in names:
        close = get_close_matches(given, names, 1, 0.6) if what != "data type" else []  # fp64 is not meant as fp16
        hint = f'Did you mean "{close[0]}"?' if close else f"Possible: {', '.join(names)}."
        raise ValueError(f'unknown {what} "{given}". {hint}')
