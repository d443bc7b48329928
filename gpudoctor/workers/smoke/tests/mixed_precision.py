"""`mixed-precision`: is a training step right in bf16, or in fp16 with a scaled loss, and is it really taken there?

The step is the one of `mnist`, compared with the same float64. Against the framework's own float32 step it must differ:
where autocast does nothing, all else looks well.
"""

from __future__ import annotations

from .mnist import reference, relative, weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runner import Bench

# Where PyTorch's GradScaler starts (torch.amp.GradScaler, init_scale); it halves where gradients are not finite.
SCALE, HALVINGS = 2.0**16, 2


def run(bench: Bench) -> None:
    """Test the step in bf16 where the backend has it, else in fp16."""
    wanted = [dtype for dtype in ("bf16", "fp16") if bench.wants(dtype)]
    if not wanted:
        return
    dtype = next((d for d in wanted if bench.has(d)), wanted[0])
    with bench.test("mixed-precision", dtype):
        _one(bench, dtype)


def _one(bench: Bench, dtype: str) -> None:
    images, labels = bench.digits()
    with bench.backend.precision(dtype):
        network = bench.backend.network(weights(bench), images, labels)
        loss, found = _step(bench, network, dtype)
    bench.pause()
    with bench.backend.precision("fp32"):
        _, strict = network.gradients()
    true_loss, true = reference(bench)
    bench.figure("loss error", abs(loss - true_loss) / true_loss, "ratio", "against float64 on the CPU")
    bench.figure(
        "gradient error", max(relative(bench, found, true)), "ratio", "worst parameter, relative norm against float64"
    )
    bench.figure(
        "difference", max(relative(bench, found, strict)), "ratio", "worst parameter, against the float32 step"
    )


def _step(bench: Bench, network: Any, dtype: str) -> tuple[float, list[Any]]:
    """Loss and gradients; in fp16 with the loss scaled, by less where that is too much."""
    scale, skipped = (SCALE if dtype == "fp16" else 1.0), 0
    while True:
        loss, found = network.gradients(dtype, scale)
        lost = sum(not_finite(g) for g in found)
        if not lost or dtype != "fp16" or skipped == HALVINGS:
            break
        bench.pause()
        scale, skipped = scale / 2, skipped + 1
    bench.figure("scale", scale, "ratio", "of the loss")
    bench.note(not_finite=lost, skipped=skipped)
    return loss, found


def not_finite(array: Any) -> int:
    """How many elements of a host array are no finite number."""
    return int((array != array).sum()) + int((abs(array) > 1e300).sum())
