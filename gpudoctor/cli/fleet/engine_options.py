"""The options of each engine: what the user types, and which parameter of the engine takes it."""

import argparse
from typing import Any, NamedTuple

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet.node import MOST


class EngineOption(NamedTuple):
    """One option.

    Attributes:
        flag: as it is typed.
        engines: whose it is.
        parameter: of the engine's class.
        metavar: what stands for its value in the help; empty: it takes none.
        help: one line.
        several: whether it may be repeated.
        number: whether its value is a number of seconds.
        former: the name that it once had.
    """

    flag: str
    engines: tuple[str, ...]
    parameter: str
    metavar: str
    help: str
    several: bool = False
    number: bool = False
    former: str = ""

    @property
    def dest(self) -> str:
        """Where argparse keeps it."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def whose(self) -> str:
        """Whose it is, for people."""
        return " and ".join(self.engines)


SLURM, SSH, RAY, KUBERNETES = ("slurm",), ("ssh",), ("ray",), ("kubernetes",)
OPTIONS = (
    EngineOption("--partition", SLURM, "partition", "NAME", "the partition (default: each node's own)"),
    EngineOption("--srun-option", SLURM, "options", "OPTION", "an option of srun, as --srun-option=--qos=high", True),
    EngineOption("--user", SSH, "user", "NAME", "the user on the nodes (default: as configured for ssh)"),
    EngineOption("--ssh-option", SSH, "options", "OPTION", "one more option of ssh, as --ssh-option=-p2222", True),
    EngineOption("--topology", SSH, "topology", "FILE", "a tree of gateways, as in ClusterShell's topology.conf"),
    EngineOption("--address", RAY, "address", "ADDRESS", "the cluster's address (default: the cluster of this "
                                                         "machine)"),
    EngineOption("--ray-python", RAY, "python", "PATH", "the Python with the cluster's Ray (default: this one)"),
    EngineOption("--image", KUBERNETES, "image", "IMAGE", "a container image with gpudoctor"),
    EngineOption("--namespace", KUBERNETES, "namespace", "NAME", "the namespace (default: as configured for kubectl)"),
    EngineOption("--context", KUBERNETES, "context", "NAME", "the kubectl context (default: the current one)"),
    EngineOption("--kubeconfig", KUBERNETES, "kubeconfig", "FILE", "kubectl's configuration"),
    EngineOption("--runtime-class", KUBERNETES, "runtime_class", "NAME", "runtime class of nodes with NVIDIA GPUs "
                                                                         "(default: nvidia)"),
    EngineOption("--exclusive", KUBERNETES, "exclusive", "", "request all GPUs of a node, instead of running next "
                                                             "to jobs"),
    EngineOption(
        "--queue-timeout", (*SLURM, *KUBERNETES), "patience", "SECONDS",
        "how long to wait for a busy node (default: 60; 30)",
        number=True, former="--patience",
    ),
)  # fmt: skip


def engine_options(one: Parser) -> "dict[str, argparse._ArgumentGroup]":
    """Add the options of all engines, each engine's in a group; gives the groups by engine."""
    groups = {option.whose: one.add_argument_group(f"with {option.whose}") for option in OPTIONS}
    for option in OPTIONS:
        given: Any = {"metavar": option.metavar} if option.metavar else {}
        action = "append" if option.several else "store" if option.metavar else "store_true"
        default: Any = [] if option.several else None
        shown = option.help + ("; repeatable" if option.several else "")
        added = groups[option.whose].add_argument(
            option.flag, dest=option.dest, action=action, default=default, help=shown, **given
        )
        if option.former:
            one.former(added, option.former)
    return groups


def typed_options(arguments: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """The options that were given, as they were typed."""
    found = {one.flag: getattr(arguments, one.dest) for one in OPTIONS}
    given = {flag: value for flag, value in found.items() if value not in (None, [], False)}
    return {flag: tuple(value) if isinstance(value, list) else (str(value),) for flag, value in given.items()}


def chosen_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The engine's parameters of which the arguments give one.

    Raises:
        UsageError: one is another engine's, or missing, or empty, as a shell variable that is not set makes it.
    """
    found: dict[str, Any] = {}
    for option in OPTIONS:
        value = getattr(arguments, option.dest)
        if value in (None, [], False):
            continue
        if arguments.engine not in option.engines:
            raise UsageError(f"{option.flag} cannot be used with {arguments.engine}; it is for {option.whose}.")
        if value == "" or (option.several and "" in value):
            raise UsageError(f"{option.flag} needs a value; an unset shell variable gives an empty one.")
        found[option.parameter] = _seconds(option, value) if option.number else _value(value)
    if arguments.engine == "kubernetes" and "image" not in found:
        raise UsageError("kubernetes needs --image: a container image with gpudoctor.")
    return found


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _seconds(option: EngineOption, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MOST:
        raise UsageError(f"{option.flag} takes 0 to {MOST:g} seconds, not {text}.")
    return value
