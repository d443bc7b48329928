"""The smoke tests of the node with the bad link: the quick suite with PyTorch, on each of its GPUs."""

import random
from statistics import median
from typing import Any

from gpudoctor.facts import During, Figure, Smoke, SmokeRun, SmokeTest
from tests.demo import node

SIZE = 256 << 20
# TFLOP/s, SM clock in MHz and watts under that load: 350 W is where an H100 PCIe ends.
PRODUCTS = {
    "fp32": (41.9, 1620.0, 338.0),
    "tf32": (246.0, 1395.0, 348.6),
    "fp16": (474.0, 1275.0, 349.4),
    "bf16": (487.0, 1305.0, 349.1),
    "fp8": (841.0, 1215.0, 349.5),
}
ERRORS = {"fp32": 3.42e-7, "tf32": 2.93e-4, "fp16": 2.11e-4, "bf16": 1.653e-3, "fp8": 1.702e-3}
SECONDS = {
    "matmul": 0.91,
    "mnist": 0.74,
    "transfer": 1.36,
    "overlap": 0.58,
    "mixed-precision": 0.31,
    "bandwidth": 0.66,
    "inference": 0.83,
}


def smoke() -> Smoke:
    """All of them."""
    runs = tuple(Card(index).run() for index in range(8))
    return Smoke(seconds=71.4, digits="256 rendered digits", runs=runs)


class Card:
    """One card, which differs from its equals by a per cent or so."""

    def __init__(self, index: int) -> None:
        self.index, self.chance = index, random.Random(40 + index)
        self.speed = 1 + self.chance.uniform(-0.012, 0.012)
        self.lanes = node.LANES if index == node.ILL else 16

    def run(self) -> SmokeRun:
        """Its process."""
        return SmokeRun(
            backend="pytorch",
            kind="cuda",
            python=f"{node.VENV}/bin/python",
            version="2.9.1+cu128",
            gpu=node.ADDRESSES[self.index],
            label=f"GPU {self.index}",
            name=node.NAME,
            processors=114,
            copy_engines=3,
            memory_free=node.MEMORY - (545 << 20),
            others=0,
            utilization=0,
            stage="done",
            outcome="done",
            import_seconds=self.near(3.1),
            start_seconds=self.near(0.62),
            threads=24,
            tests=tuple(self.tests()),
        )

    def near(self, value: float, by: float = 0.02) -> float:
        """A value near another, with four digits."""
        return float(f"{value * (1 + self.chance.uniform(-by, by)):.4g}")

    def tests(self) -> list[SmokeTest]:
        """The quick suite."""
        return [
            *(self.matmul(dtype) for dtype in PRODUCTS),
            self.mnist(),
            self.transfer(),
            self.overlap(),
            self.mixed(),
            self.bandwidth(),
            self.inference("fp32", 5_870.0, 1_016_000.0, 14.1, 92.0, 2.1e-6),
            self.inference("bf16", 5_410.0, 1_482_000.0, 13.0, 134.0, 3.9e-3),
        ]

    def one(self, name: str, variant: str, figures: list[Figure], during: During, **notes: Any) -> SmokeTest:
        """A test that was done."""
        return SmokeTest(
            name=name,
            variant=variant,
            outcome="done",
            seconds=self.near(SECONDS[name], 0.05),
            figures=tuple(figures),
            notes=notes,
            during=during,
        )

    def rate(self, name: str, value: float, unit: str, method: str, samples: int = 7, by: float = 0.004) -> Figure:
        """A figure with its samples."""
        found = tuple(self.near(value, by) for _ in range(samples))
        return Figure(name=name, value=median(found), unit=unit, samples=found, method=method)

    def ratio(self, name: str, value: float, method: str, by: float = 0.03) -> Figure:
        """A figure without samples."""
        return Figure(name=name, value=self.near(value, by), unit="ratio", method=method)

    def during(self, clock: float, watts: float, capped: bool, samples: int) -> During:
        """What NVML said meanwhile."""
        middle = round(clock * self.speed / 15) * 15.0
        return During(
            samples=samples,
            sm_clock=middle,
            sm_clock_min=middle - 15.0 * self.chance.randint(1, 4),
            memory_clock=1593.0,
            temperature=float(self.chance.randint(54, 63)),
            power=min(349.9, self.near(watts, 0.003)),
            reasons=("sw-power-cap",) if capped else (),
            link_generation=5,
            link_width=self.lanes,
            ecc_corrected=0,
            ecc_uncorrected=0,
            pcie_replays=0,
        )

    def matmul(self, dtype: str) -> SmokeTest:
        """Products in one type."""
        rate, clock, watts = PRODUCTS[dtype]
        method = "median of batches of queued matmuls, clocks warm, N(0,1) data"
        figures = [
            Figure(
                name="first call",
                value=self.near(0.21 if dtype == "fp32" else 0.034, 0.2),
                unit="s",
                method="first matmul of this type, with loading and compiling",
            ),
            self.ratio("error", ERRORS[dtype], "relative Frobenius norm against float64, 4 projections", 0.004),
            self.rate("rate", rate * self.speed, "TFLOP/s", method),
        ]
        notes = {
            "checked": 2048,
            "not_finite": 0,
            "worst_row": self.chance.randrange(2048),
            "worst_ratio": self.near(2.5, 0.1),
            "size": 8192,
            "variation": self.near(0.004, 0.4),
            "not_repeated": 0,
            "part_error": self.near(ERRORS[dtype]),
        }
        return self.one("matmul", dtype, figures, self.during(clock, watts, dtype != "fp32", 17), **notes)

    def mnist(self) -> SmokeTest:
        """The training step."""
        truth = "against float64 on the CPU"
        figures = [
            self.ratio("loss error", 6.2e-8, truth, 0.2),
            self.ratio("gradient error", 1.31e-6, f"worst parameter, relative norm {truth}", 0.1),
            self.ratio("step error", 1.04e-5, "of the change of the weights"),
            self.ratio("descent", 1.0002, "loss fallen over rate x slope along the step", 0.00002),
            self.rate("rate", 94_300.0, "images/s", "training, batch 64, 20 steps", 18, 0.02),
            self.ratio("loss left", 0.2272, "loss after 20 steps over the loss before", 0.0002),
        ]
        return self.one(
            "mnist",
            "",
            figures,
            self.during(1755.0, 108.0, False, 14),
            worst_gradient="conv1.bias",
            smallest_gradient_error=self.near(9.4e-8),
            loss=2.834947,
            not_repeated=0,
            other_weights=0,
        )

    def transfer(self) -> SmokeTest:
        """Copies over the link."""
        to, back = (53.4, 54.1) if self.lanes == 16 else (13.31, 13.42)
        queued, single = "median of 3 times 16 queued copies of 256 MiB", "median of 5 copies of 256 MiB, one by one"
        figures = [
            self.rate("h2d pinned", to, "GB/s", queued, 3, 0.003),
            self.rate("d2h pinned", back, "GB/s", queued, 3, 0.003),
            self.rate("h2d pageable", min(0.93 * to, 14.2), "GB/s", single, 5, 0.05),
            self.rate("d2h pageable", min(0.9 * back, 12.6), "GB/s", single, 5, 0.05),
        ]
        return self.one(
            "transfer",
            "",
            figures,
            self.during(1755.0, 96.0, False, 26),
            affinity=None,
            size=SIZE,
            pinned=True,
            pinned_refused=None,
            differing=0,
            pieces_differing=0,
        )

    def overlap(self) -> SmokeTest:
        """Copies beside products."""
        copy = SIZE / ((53.4 if self.lanes == 16 else 13.31) * 1e9)
        compute = 1.08 * copy
        figures = [
            self.rate("copy", copy, "s", "one copy to the device, pinned", 5),
            self.rate("compute", compute, "s", f"{11 if self.lanes == 16 else 46} products", 5),
            self.rate("both", 1.016 * compute, "s", "both, each on its stream, in the order that takes longer", 5),
            self.ratio("overlap", 0.974, "(copy + compute - both) over the shorter one", 0.008),
            self.rate("duplex", 1.72, "ratio", "bytes a second both ways over one way", 3, 0.02),
        ]
        return self.one("overlap", "", figures, self.during(1500.0, 271.0, False, 11), size=SIZE, engines=3, wrong=0)

    def mixed(self) -> SmokeTest:
        """The training step in bf16."""
        figures = [
            self.ratio("scale", 1.0, "of the loss", 0.0),
            self.ratio("loss error", 1.37e-4, "against float64 on the CPU", 0.1),
            self.ratio("gradient error", 2.32e-2, "worst parameter, relative norm against float64 on the CPU", 0.1),
            self.ratio("difference", 2.31e-2, "worst parameter, relative norm against the step in float32", 0.1),
        ]
        return self.one(
            "mixed-precision", "bf16", figures, self.during(1755.0, 99.0, False, 6), not_finite=0, skipped=0
        )

    def bandwidth(self) -> SmokeTest:
        """The card's own memory."""
        method = "median of batches, bytes read and written"
        rates = {"copy": 1_786.0, "triad": 1_803.0, "read": 1_822.0}
        figures = [self.rate(name, value * self.speed**0.3, "GB/s", method) for name, value in rates.items()]
        return self.one(
            "bandwidth", "", figures, self.during(1710.0, 259.0, False, 12), size=1 << 30, wrong=0, variation=0.0031
        )

    def inference(self, variant: str, single: float, many: float, up: float, most: float, error: float) -> SmokeTest:
        """The GPU beside the CPU."""
        where = ["gpu 1", "gpu 256"] if variant != "fp32" else ["gpu 1", "gpu 256", "cpu 1", "cpu 256"]
        values = dict(zip(where, (single, many, single / up, many / most), strict=False))
        figures = [
            *(self.rate(n, v, "images/s", f"forward passes, batch {n.split()[1]}", 7, 0.02) for n, v in values.items()),
            self.ratio("speed-up 1", up, "over float32 on the CPU"),
            self.ratio("speed-up 256", most, "over float32 on the CPU"),
            self.ratio("error", error, "relative norm of the outputs against the CPU's", 0.1),
        ]
        return self.one("inference", variant, figures, self.during(1755.0, 121.0, False, 16))
