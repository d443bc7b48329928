"""PyTorch counts fewer of AMD's cards than KFD shows it."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import OnLive, gpu_name, lives
from gpudoctor.tasks import Shell, cmd, filtered, pipe, query


def _cards(on: OnLive) -> tuple[Gpu, ...]:
    """The cards that the masks leave; of integrated GPUs HIP passes over some."""
    return tuple(gpu for gpu in visible_amd(on.facts) if gpu.integrated is False)


@check(
    title="PyTorch sees fewer AMD GPUs than the driver shows",
    severity=Severity.WARNING,
    cause="ROCm leaves out a GPU that it cannot open (its render node is missing or closed), that does not answer, or "
    "that the library does not know; or something inside Python sets a mask before HIP starts.",
    fixes=(
        Fix(
            "Compare what ROCm lists with what the kernel lists, and see why a GPU is left out.",
            (
                filtered(query("rocminfo"), query("grep", "-E", "Name: +gfx|Node:")),
                Shell("ls -l /dev/dri/renderD*", lookup=True),
                pipe(cmd("rocminfo", env=(("AMD_LOG_LEVEL", "3"),)), cmd("tail")),
            ),
            impact="none",
        ),
        Fix(
            "Look what sets the mask inside the process.",
            (
                cmd(
                    "python3", "-c", 'import os; print({k: v for k, v in os.environ.items() if "VISIBLE_DEVICES" in k})'
                ),
            ),
            impact="none",
        ),
    ),
    references=(
        "https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html",
    ),
    targets=partial(lives, name="torch"),
    caused_by=(
        "rocm.not-driven",
        "rocm.render-node-closed",
        "rocm.pcie-atomics",
        "rocm.reset-failed",
        "rocm.partitions-missing",
        "rocm.override-of-another-isa",
        "rocm.override-left-on",
        "visibility.hip-hides-all",
        "visibility.hip-out-of-range",
        "visibility.rocr-and-hip",
    ),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def fewer_gpus(on: OnLive) -> Problem | None:
    """It works with some: where it sees none, another check speaks."""
    cards = _cards(on) if on.framework.variant == "rocm" else ()
    if len(cards) < 2 or known(on.live.available) is not True:
        return None
    counted = known(on.live.count)
    if counted >= len(cards):
        return None
    names = tuple(
        f"{gpu_name(gpu)}: {known_or(gpu.render_node, 'render node unknown') or 'no render node'}" for gpu in cards
    )
    return Problem(f"{on.name} counts {counted} of the {len(cards)} cards that the kernel shows.", names)
