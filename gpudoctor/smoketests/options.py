"""What the user asked of the smoke tests, checked against what there is."""

from collections.abc import Sequence

import msgspec

from gpudoctor.registry import SMOKED
from gpudoctor.smoketests.suite import BY_NAME, COMPARE, DTYPES, MOST_STRESS, STRESS_SECONDS

BACKENDS = (*(one.area for one in SMOKED), "driver", "cpu")

# What users call a test elsewhere.
KNOWN_AS = {"ddp": "data-parallel", "nccl": "allreduce", "rccl": "allreduce", "p2p": "peer", "gemm": "matmul"}


MOST_PRICE = 100_000  # dollars per hour: beyond any machine's


class ChoiceError(Exception):
    """What was chosen cannot be run; the message is one sentence."""


class SmokeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which smoke tests the user wants.

    Attributes:
        tests: names; empty: the quick suite, or all with `everything`.
        everything: all tests.
        devices: GPUs by index, UUID or PCI address, or "cpu"; empty: every GPU, without one nothing is run.
        dtypes: of `matmul`; empty: all that backend and device have.
        seconds: that `stress` lasts.
        backends: names; empty: every framework of the examined interpreter, without one the driver.
        price: dollars per hour of this machine, for `compare`; None: not given.
        mnist: a .npz file of digits; None: what GPUDOCTOR_MNIST names, else the digits that are shipped.
    """

    tests: tuple[str, ...] = ()
    everything: bool = False
    devices: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    seconds: int = STRESS_SECONDS
    backends: tuple[str, ...] = ()
    price: float | None = None
    mnist: str | None = None


def validated(choice: SmokeOptions) -> SmokeOptions:
    """The choice, if every name in it exists and its numbers make sense.

    Raises:
        ChoiceError: one does not.
    """
    for given, known, what in (
        (choice.tests, tuple(BY_NAME), "smoke test"),
        (choice.backends, BACKENDS, "backend"),
        (choice.dtypes, DTYPES, "data type"),
    ):
        for name in given:
            if name not in known:
                raise ChoiceError(_no_such(what, name, known))
    if not 1 <= choice.seconds <= MOST_STRESS:
        raise ChoiceError(f"stress takes 1 to {MOST_STRESS} seconds, not {choice.seconds}.")
    if choice.price is not None and not 0 < choice.price < MOST_PRICE:
        raise ChoiceError(
            f"A price is more than 0 and less than {MOST_PRICE:,} dollars per hour, not {choice.price:g}."
        )
    if choice.price is not None and COMPARE not in choice.tests and not choice.everything:
        raise ChoiceError("A price is of use to the test compare alone: `gpudoctor smoke compare --price 2.50`")
    return choice


def _no_such(what: str, name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1, 0.6) if what != "data type" else []  # fp64 is not meant as fp16
    close = [KNOWN_AS[name.lower()]] if KNOWN_AS.get(name.lower()) in known else close
    hint = f'Did you mean "{close[0]}"?' if close else f"There are {', '.join(known)}."
    return f'Unknown {what} "{name}". {hint}'
