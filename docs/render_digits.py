"""Draws the digits of the training step anew: `python docs/render_digits.py` writes gpudoctor/smoketests/digits.gz.

Each digit is drawn with the strokes of one of several hands, their points moved a little, then leant, turned by up to
15 degrees, stretched, and moved; how dark a pixel is depends on its distance from the strokes. All chance comes from
a hash of (seed, image, number), so that the same digits can be drawn again anywhere. Needs NumPy. To be run again when
the networks' first weights change (gpudoctor/workers/smoke/weights.py), which must not bring a digit near to a tie.
"""

import gzip
import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from gpudoctor.workers.smoke.weights import CNN, DEVIATION, MEAN, MLP, Weights

TARGET = Path(__file__).resolve().parent.parent / "gpudoctor" / "smoketests" / "digits.gz"
COUNT, SIDE, SEED = 256, 28, 20261121
HEIGHT = 19.0  # pixels of a digit that is not stretched; MNIST's are fitted into 20
EDGE = 1.25  # pixels over which a stroke's edge fades
TIE = 1e-4  # standard deviations; float32 rounds by 1e-6 of them, so no device takes the other side
MASK = (1 << 64) - 1

Point = tuple[float, float]
# The hands that write each digit: strokes, each round or straight between its points, which are x to the right and y
# downwards in hundredths of the digit.
HANDS = {
    0: (
        "round 55,0 24,14 12,50 26,88 50,100 76,86 88,48 74,10 50,1",
        "round 70,6 40,4 16,36 18,78 44,99 74,84 84,44 66,10 46,10",
    ),
    1: (
        "straight 50,0 50,100",
        "straight 30,24 52,0 50,100",
        "straight 28,22 50,0 50,100; straight 24,100 76,100",
    ),
    2: (
        "round 14,26 30,5 58,0 82,20 72,50 40,78 10,100; straight 10,100 92,96",
        "round 16,20 42,0 74,10 76,38 48,76 22,98 10,86 28,78 56,92 94,94",
    ),
    3: (
        "round 16,12 46,0 76,16 66,40 38,47; round 38,47 72,54 84,78 56,100 12,90",
        "straight 16,2 80,2 44,42; round 44,42 76,52 84,78 54,100 12,92",
    ),
    4: (
        "straight 22,0 10,58 92,56; straight 74,6 66,100",
        "straight 66,100 68,0 8,66 94,66",
        "round 18,4 14,38 34,52 74,44; straight 80,0 72,46 66,100",
    ),
    5: (
        "straight 84,2 28,3 22,42; round 22,42 54,36 82,60 66,93 34,100 10,90",
        "straight 26,6 20,44; round 20,44 56,40 80,66 60,97 12,94; straight 26,6 88,0",
    ),
    6: (
        "round 70,0 36,24 16,64 32,97 66,97 82,74 62,54 34,60 20,78",
        "round 46,0 22,36 16,76 42,100 76,86 74,58 46,52 20,72",
    ),
    7: (
        "straight 10,4 88,2; round 88,2 62,46 42,100",
        "straight 10,14 14,2 86,2 44,100; straight 36,50 84,50",
    ),
    8: (
        "round 76,16 48,0 22,20 50,46 80,76 50,100 18,78 50,48 78,24 72,10",
        "round 50,0 24,22 50,45 76,22 50,0; round 50,45 18,74 50,100 82,74 50,45",
    ),
    9: (
        "round 80,20 52,0 20,20 38,48 70,40 82,14; straight 82,14 76,56 66,100",
        "round 78,12 46,0 18,26 42,50 74,34 80,10 80,60 60,98 20,94",
    ),
}


class Chance:
    """Numbers for one image, from a hash (SplitMix64, public domain, S. Vigna)."""

    def __init__(self, image: int) -> None:
        self._state = (SEED * 0x9E3779B97F4A7C15 + image * 0xD1B54A32D192ED03) & MASK

    def whole(self, below: int) -> int:
        """A number from 0 to below - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % below

    def between(self, low: float, high: float) -> float:
        """A number from low to high."""
        return low + (high - low) * self.whole(1 << 32) / (1 << 32)


def strokes(hand: str, chance: Chance) -> list[list[Point]]:
    """The strokes of a hand as points close together, in the unit square around 0; the points tremble."""
    moved: dict[str, Point] = {}  # strokes that meet at a point still do
    found = []
    for stroke in hand.split("; "):
        kind, *words = stroke.split()
        points = [moved.setdefault(word, _moved(word, chance)) for word in words]
        found.append(rounded(points) if kind == "round" else points)
    return found


def _moved(word: str, chance: Chance) -> Point:
    x, y = (int(number) / 100 - 0.5 for number in word.split(","))
    return x + chance.between(-0.045, 0.045), y + chance.between(-0.035, 0.035)


def rounded(points: list[Point], steps: int = 6) -> list[Point]:
    """Points of a Catmull-Rom spline through some points."""
    padded = (points[0], *points, points[-1])
    found = [points[0]]
    for p, q, r, s in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        for step in range(1, steps + 1):
            t = step / steps
            found.append((_spline(t, p[0], q[0], r[0], s[0]), _spline(t, p[1], q[1], r[1], s[1])))
    return found


def _spline(t: float, p: float, q: float, r: float, s: float) -> float:
    return 0.5 * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t**2 + (3 * q - p - 3 * r + s) * t**3)


def pieces(digit: int, chance: Chance) -> Any:
    """The straight pieces of one written digit: x and y of their beginnings and their ends in pixels."""
    hand = HANDS[digit][chance.whole(len(HANDS[digit]))]
    angle, lean = math.radians(chance.between(-15, 15)), chance.between(-0.12, 0.22)
    wide, high = chance.between(0.66, 0.96) * HEIGHT, chance.between(0.88, 1.05) * HEIGHT
    right, down = chance.between(-2.5, 2.5), chance.between(-2, 2)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    form = turn @ np.array([[wide, -lean * wide], [0, high]])
    middle = SIDE / 2 + np.array([right, down])
    lines = [np.array(line) @ form.T + middle for line in strokes(hand, chance)]
    return np.concatenate([np.hstack([line[:-1], line[1:]]) for line in lines])


def image(digit: int, number: int) -> Any:
    """One image, 28 x 28 grey levels."""
    chance = Chance(number)
    half = chance.between(0.85, 1.75)  # pixels of half a stroke's width
    x1, y1, x2, y2 = pieces(digit, chance).T[:, :, None]
    y, x = (c.ravel()[None] + 0.5 for c in np.mgrid[:SIDE, :SIDE])
    dx, dy = x2 - x1, y2 - y1
    along = np.clip(((x - x1) * dx + (y - y1) * dy) / np.maximum(dx * dx + dy * dy, 1e-9), 0, 1)
    distance = np.sqrt((x - x1 - along * dx) ** 2 + (y - y1 - along * dy) ** 2).min(0)
    return np.rint(np.clip((half - distance) / EDGE + 0.5, 0, 1) * 255).astype(np.uint8).reshape(SIDE, SIDE)


def labels() -> list[int]:
    """The digits in the order in which they come: shuffled, each 25 or 26 times."""
    found, chance = [at % 10 for at in range(COUNT)], Chance(COUNT)
    for at in range(COUNT - 1, 0, -1):
        other = chance.whole(at + 1)
        found[at], found[other] = found[other], found[at]
    return found


def render() -> tuple[Any, Any]:
    """All images and their labels; an image too near to a tie is drawn again."""
    digits = labels()
    numbers = np.arange(COUNT)
    images = np.stack([image(digit, at) for at, digit in enumerate(digits)])
    while (near := np.flatnonzero(nearest_tie(images) < TIE)).size:
        numbers[near] += COUNT
        images[near] = [image(digits[at], int(numbers[at])) for at in near]
    return images, np.array(digits, np.uint8)


def nearest_tie(images: Any) -> Any:
    """How near each image brings the networks, with their first weights, to where rounding decides.

    At a maximum of two nearly equal numbers, and at ReLU's corner, the gradient goes to either side; one such place
    changes the gradient of the batch by up to a thousandth, which is no fault of the device.

    Returns:
        The smallest distance from such a place, in standard deviations of the layer; float64, one an image.
    """
    x = (images.reshape(-1, 1, SIDE, SIDE) / 255 - MEAN) / DEVIATION
    found = []
    for layers in (CNN, MLP):
        first = Weights(layers)
        w = [
            np.frombuffer(b, np.float32).reshape(s).astype(float)
            for b, s in zip(first.buffers, first.shapes, strict=True)
        ]
        y = x
        while w[0].ndim == 4:
            y, distance = _pooled(y, w.pop(0), w.pop(0))
            found.append(distance)
        hidden = y.reshape(len(y), -1) @ w[0].T + w[1]
        found.append(abs(hidden).min(1) / hidden.std())
    return np.min(found, 0)


def _pooled(x: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    """Convolution, ReLU and maximum over 2 x 2, and of each image the distance from the nearest tie."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (5, 5), (2, 3))
    y = np.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))) + bias
    count, high, wide, channels = y.shape
    blocks = y.reshape(count, high // 2, 2, wide // 2, 2, channels).transpose(0, 1, 3, 5, 2, 4).reshape(count, -1, 4)
    best = blocks.max(2)
    gaps = best[..., None] - blocks
    # What is equal but for float64's own rounding comes from equal pixels, and then either side is the same.
    gaps[(gaps < 1e-12) | (best < 0)[..., None]] = np.inf
    distance = np.minimum(gaps.min((1, 2)), abs(best).min(1)) / y.std()
    pooled = np.maximum(best, 0).reshape(count, high // 2, wide // 2, channels)
    return pooled.transpose(0, 3, 1, 2), distance


def main() -> None:
    """Write the images and after them the labels; and the file's SHA-256 beside it, for `sha256sum -c`."""
    images, digits = render()
    data = gzip.compress(images.tobytes() + digits.tobytes(), 9, mtime=0)
    TARGET.write_bytes(data)
    TARGET.with_suffix(".sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  {TARGET.name}\n")


if __name__ == "__main__":
    main()
