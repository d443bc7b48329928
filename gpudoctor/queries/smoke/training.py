"""What the numbers of a training step mean: right, TF32, or wrong."""

from gpudoctor.facts import SmokeTest
from gpudoctor.maybe import known_or
from gpudoctor.queries.smoke import OnTests, dtype_of, noted
from gpudoctor.queries.smoke.errors import kinds

# The same networks in float32 on a CPU are off by 6e-8 (loss) and 2e-6 (worst gradient), and up to 9e-4 where a
# maximum depends on the last bit. Of the faults tried, one lost image of 256 puts a gradient off by 2e-2 and the
# loss by 5e-4, one sign of 65536 weights by 5e-3 and 2e-5, images shifted by a pixel by 3e-1 and 1e-2.
LOSS, GRADIENT, GRAVE = 1e-5, 1e-4, 1e-3
# TF32, emulated: the worst gradient off by 5e-4 to 9e-3, each other by 3e-4 at least, the loss by 9e-4 at most. Some
# faults look like that too, so the matmuls have to show it as well.
TF32_LEAST, TF32_MOST, TF32_EVERY, TF32_LOSS = 3e-4, 3e-2, 1e-4, 2e-3
HAS_TF32 = 8.0  # compute capability
OVERRIDE = "NVIDIA_TF32_OVERRIDE"
# The weight update is exact except for float32's rounding of the weights themselves: 1e-5.
STEP = 1e-3
# The loss falls by rate x slope: 1.000 with convolutions, 1.001 with two layers. A step that is not taken gives 0, one
# taken twice about 2, one uphill -1.
DESCENT = 0.9, 1.1
# Twenty steps leave 0.23 (convolutions) or 0.21 (two layers) of the loss on the rendered digits.
LEFT, RENDERED = 0.6, "rendered"


def like_tf32(test: SmokeTest) -> bool:
    """Whether a float32 step looks like TF32: every gradient slightly off."""
    worst, loss = test.figure("gradient error"), test.figure("loss error")
    smallest = noted(test, "smallest_gradient_error")
    if worst is None or loss is None or smallest is None:
        return False
    return TF32_LEAST <= worst <= TF32_MOST and smallest >= TF32_EVERY and loss <= TF32_LOSS


def may_be_tf32(on: OnTests, test: SmokeTest) -> bool:
    """Whether a step looks like TF32 on a GPU that has it."""
    capability = known_or(on.gpu.capability, None) if on.gpu else None
    return on.run.kind == "cuda" and like_tf32(test) and (capability is None or float(capability) >= HAS_TF32)


def is_tf32(on: OnTests, test: SmokeTest) -> bool:
    """Whether TF32 explains a step: the float32 matmuls show it too, or were not run, or it is forced."""
    if not may_be_tf32(on, test):
        return False
    forced = on.facts.host.environment.get(OVERRIDE, "0") not in ("", "0")
    matmuls = [kinds(t) for t in on.run.tests if t.name == "matmul" and dtype_of(t) == "fp32" and kinds(t)]
    return forced or not matmuls or any("tf32" in kind for kind in matmuls)


def faults(on: OnTests, test: SmokeTest) -> tuple[str, ...]:
    """The problems of a step, each in brief; loss and gradients only where TF32 does not explain them."""
    found = [] if is_tf32(on, test) else [_far(test)]
    found += [_off(test, "step error", STEP, "the weight update does not match the gradient: off")]
    descent, left = test.figure("descent"), test.figure("loss left")
    if descent is not None and not DESCENT[0] <= descent <= DESCENT[1]:
        found.append(f"the loss fell by {descent:.2f} of what the gradient predicts")
    if left is not None and RENDERED in on.facts.smoke.digits and not left < LEFT:
        found.append(f"{left:.0%} of the loss remains after twenty steps")
    return tuple(filter(None, found))


def _far(test: SmokeTest) -> str | None:
    worst = test.notes.get("worst_gradient")
    name = f" of {worst}" if isinstance(worst, str) else ""
    gradient = _off(test, "gradient error", GRAVE, f"the gradient{name} is off")
    return gradient or _off(test, "loss error", LOSS, "the loss is off")


def _off(test: SmokeTest, figure: str, bound: float, text: str) -> str | None:
    value = test.figure(figure)
    if value is None or value <= bound:
        return None
    return f"{text} by {value:.1e}; rounding explains at most {bound:.0e}"


def inexact(test: SmokeTest) -> str | None:
    """A gradient that is off by more than rounding, but less than any fault causes; None where it is not."""
    return _off(test, "gradient error", GRADIENT, "its worst gradient is off")
