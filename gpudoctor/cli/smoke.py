"""`gpudoctor smoke`: prove that the GPU computes, trains and copies right, and how fast."""

import argparse
from typing import TYPE_CHECKING, Any

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import FAIL_ON, machine_of, python_option, report_and_facts, timeout_option
from gpudoctor.cli.output import out
from gpudoctor.cli.output_options import chosen, deliver, exit_code, leaving, options
from gpudoctor.cli.terminal import columns

if TYPE_CHECKING:
    from gpudoctor.smoketests.options import SmokeOptions

DESCRIPTION = """Run short tests on each GPU that show whether its results are right and how fast it is. Without a GPU
nothing is run, and the exit code is 3; --device cpu tests the CPU. Each backend runs in its own process: one that hangs
or crashes is killed, and the other results are kept. No GPU setting is changed, and a quarter of the free GPU memory is
used, 2 GiB at most."""

EMPTY = "Empty name; an unset shell variable gives one."


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "smoke", help="test that the GPU computes, trains and copies correctly", description=DESCRIPTION
    )
    one.add_argument(
        "tests", nargs="*", metavar="TEST", help="tests by name (--list shows them; default: the quick suite)"
    )
    one.add_argument("--all", action="store_true", help="run all tests, including the longer ones")
    one.add_argument("--list", action="store_true", help="list tests and backends without running them")
    several: Any = {"action": "append", "default": []}
    one.add_argument(
        "--device", metavar="GPU", **several, help="a GPU by number, UUID or PCI address, or cpu (default: every GPU)"
    )
    one.add_argument(
        "--backend",
        metavar="NAME",
        **several,
        help="pytorch, jax, cupy, tensorflow, driver (needs no framework) or cpu (default: the installed frameworks)",
    )
    one.add_argument("--dtype", metavar="TYPE", **several, help="of matmul: fp32, tf32, fp16, bf16, fp8 (default: all)")
    one.add_argument("--seconds", type=_seconds, metavar="N", help="how long stress lasts (default: 10, at most 600)")
    one.add_argument(
        "--price", type=_price, metavar="DOLLARS", help="what this machine costs per hour, for compare: 2.50"
    )
    one.add_argument("--mnist", metavar="FILE", help="train on these digits: a .npz file such as Keras's mnist.npz")
    python_option(one)
    timeout_option(one, "each test's own limit")
    options(one)
    one.add_argument("--fail-on", **FAIL_ON)
    one.add_argument(
        "--verbose", "-v", action="store_true", help="also list what is unknown or ruled out, and references"
    )
    one.set_defaults(run=run)


def _seconds(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"--seconds takes a whole number of seconds, not {text}.") from None


def _price(text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        raise UsageError(f"--price takes dollars per hour such as 2.50, not {text}.") from None


def run(arguments: argparse.Namespace) -> int:
    """Run the tests and report; gives the exit code."""
    if arguments.list:
        out(_listed())
        return OK
    from gpudoctor.pipeline import CheckOptions

    form = chosen(arguments)
    options = CheckOptions(pythons=tuple(arguments.python), quick=True, smoke=choice(arguments), area="smoke")
    left = leaving(*report_and_facts(machine_of(arguments, smoke=True), options), options, form)
    deliver(left.report, left.facts, form)
    return exit_code(left.report, form, arguments.fail_on)


def choice(arguments: argparse.Namespace) -> "SmokeOptions":
    """What the arguments choose.

    Raises:
        UsageError: a name is not known.
    """
    from gpudoctor.smoketests.options import ChoiceError, SmokeOptions, validated
    from gpudoctor.smoketests.suite import STRESS_SECONDS

    if arguments.mnist == "":
        raise UsageError(EMPTY)
    try:
        return validated(
            SmokeOptions(
                tests=_words(arguments.tests),
                everything=arguments.all,
                devices=_words(arguments.device),
                dtypes=_words(arguments.dtype),
                seconds=STRESS_SECONDS if arguments.seconds is None else arguments.seconds,
                backends=_words(arguments.backend),
                price=arguments.price,
                mnist=arguments.mnist,
            )
        )
    except ChoiceError as error:
        raise UsageError(str(error)) from None


def _words(given: list[str]) -> tuple[str, ...]:
    """Names given one by one or with commas between them, each once.

    Raises:
        UsageError: one is empty, as of a shell variable that is not set: that must not choose everything.
    """
    if not all(text.strip(", ") for text in given):
        raise UsageError(EMPTY)
    return tuple(dict.fromkeys(word.strip() for text in given for word in text.split(",") if word.strip()))


def _listed() -> str:
    from gpudoctor.report.sanitize import wrapped
    from gpudoctor.smoketests.options import BACKENDS
    from gpudoctor.smoketests.suite import TESTS

    lines = [
        line
        for test in TESTS
        for line in wrapped(f"{'  ' if test.quick else '* '}{test.name:<17}{test.shows}", columns(), " " * 19)
    ]
    return "\n".join(
        [*lines, "", "* not in the quick suite: run by name, or with --all", f"Backends: {', '.join(BACKENDS)}.", ""]
    )
