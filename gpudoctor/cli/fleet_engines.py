"""The options of each engine: what the user types, and which parameter of the engine takes it."""

import argparse
from typing import Any, NamedTuple

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser


class Option(NamedTuple):
    """One option.

    Attributes:
        flag: as it is typed.
        engine: whose it is.
        parameter: of the engine's class.
        metavar: what stands for its value in the help; empty: it takes none.
        help: one line.
        several: whether it may be repeated.
    """

    flag: str
    engine: str
    parameter: str
    metavar: str
    help: str
    several: bool = False

    @property
    def dest(self) -> str:
        """Where argparse keeps it."""
        return self.flag.removeprefix("--").replace("-", "_")


OPTIONS = (
    Option("--partition", "slurm", "partition", "NAME", "the partition (default: the cluster's own)"),
    Option("--srun-option", "slurm", "options", "OPTION", "one more option of srun, as --srun-option=--qos=high", True),
    Option("--user", "ssh", "user", "NAME", "who to be on the nodes (default: as ssh is configured)"),
    Option("--ssh-option", "ssh", "options", "OPTION", "one more option of ssh, as --ssh-option=-p2222", True),
    Option("--topology", "ssh", "topology", "FILE", "a tree of gateways, as ClusterShell's topology.conf"),
    Option("--address", "ray", "address", "ADDRESS", "of the Ray cluster (default: auto, the one of this machine)"),
    Option("--image", "kubernetes", "image", "IMAGE", "a container image with gpudoctor in it"),
    Option("--namespace", "kubernetes", "namespace", "NAME", "the namespace (default: as kubectl is configured)"),
)


def engine_options(one: Parser) -> None:
    """Add the options of all engines."""
    for option in OPTIONS:
        given: Any = {"metavar": option.metavar} if option.metavar else {}
        action = "append" if option.several else "store" if option.metavar else "store_true"
        default: Any = [] if option.several else None
        told = f"{option.engine}: {option.help}" + ("; may be repeated" if option.several else "")
        one.add_argument(option.flag, dest=option.dest, action=action, default=default, help=told, **given)


def typed_options(arguments: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """The options that were given, as they were typed."""
    found = {one.flag: getattr(arguments, one.dest) for one in OPTIONS}
    given = {flag: value for flag, value in found.items() if value not in (None, [], False)}
    return {flag: tuple(value) if isinstance(value, list) else (str(value),) for flag, value in given.items()}


def chosen_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The engine's parameters of which the arguments give one.

    Raises:
        UsageError: an option is another engine's, or empty, as a shell variable that is not set makes it.
    """
    found: dict[str, Any] = {}
    for option in OPTIONS:
        value = getattr(arguments, option.dest)
        if value in (None, [], False):
            continue
        if option.engine != arguments.engine:
            raise UsageError(f"{option.flag} has no meaning with {arguments.engine}: it is {option.engine}'s.")
        if value == "" or (option.several and "" in value):
            raise UsageError(f"{option.flag} takes a text; a shell variable that is not set gives an empty one.")
        found[option.parameter] = tuple(value) if option.several else value
    return found
