"""PyTorch counts fewer AMD GPUs than KFD lists."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import OnLive, gpu_name, lives
from gpudoctor.tasks import Shell, cmd, filtered, pipe, query


def _cards(on: OnLive) -> tuple[Gpu, ...]:
    """The cards that the masks leave visible; HIP skips some integrated GPUs."""
    return tuple(gpu for gpu in visible_amd(on.facts) if gpu.integrated is False)


@check(
    title="PyTorch sees fewer AMD GPUs than the driver shows",
    severity=Severity.WARNING,
    cause="ROCm skips a GPU that it cannot open (its render node is missing or not accessible), that does not "
    "respond, or that the library does not support; or code in the Python process sets a mask before HIP initializes.",
    fixes=(
        Fix(
            "Compare the GPUs that ROCm lists with those that the kernel lists, and see why one is skipped.",
            (
                filtered(query("rocminfo"), query("grep", "-E", "Name: +gfx|Node:")),
                Shell("ls -l /dev/dri/renderD*", lookup=True),
                pipe(cmd("rocminfo", env=(("AMD_LOG_LEVEL", "3"),)), cmd("tail")),
            ),
            impact="none",
        ),
        Fix(
            "Check what sets the mask inside the process.",
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
    """It works with some GPUs; where it sees none, another check reports that."""
    cards = _cards(on) if on.framework.variant == "rocm" else ()
    if len(cards) < 2 or known(on.live.available) is not True:
        return None
    counted = known(on.live.count)
    if counted >= len(cards):
        return None
    names = tuple(
        f"{gpu_name(gpu)}: {known_or(gpu.render_node, 'render node unknown') or 'no render node'}" for gpu in cards
    )
    return Problem(f"{on.name} counts {counted} of the {len(cards)} GPUs that the kernel lists.", names)
