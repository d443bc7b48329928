"""`gpudoctor serve`: the application in a browser, one process a visitor."""

from __future__ import annotations

import argparse
import os
import platform
from typing import TYPE_CHECKING

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import source
from gpudoctor.cli.run_program.spawn import ourselves
from gpudoctor.cli.tui import fleet_of, recorded, source_of
from gpudoctor.extras import install_command

if TYPE_CHECKING:
    from types import ModuleType

    from gpudoctor.tui.session import SessionSource

DESCRIPTION = """Show the application in a browser. Each visitor gets a process of its own, which ends when the page is
closed. Only this machine can connect, unless --host names another address, and only with the printed address, which
contains a token. Saved files are downloads."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "serve", help='show the application in a browser (needs the extra "web")', description=DESCRIPTION
    )
    one.add_argument("--host", default=LOOPBACK[1], metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    one.add_argument("--port", type=_port, default=8000, metavar="N", help="port to listen on (default: 8000)")
    source(one)
    recorded(one)
    one.set_defaults(run=run)


def _port(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 65535):
        raise UsageError(f"--port takes 1 to 65535, not {text}.")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    chosen, fleet = source_of(arguments), fleet_of(arguments)  # tells what cannot be used before a browser is opened
    serving = _serving()
    from gpudoctor.cli.output import complain

    if arguments.host not in LOOPBACK:
        complain(
            f"Warning: {arguments.host} port {arguments.port} is reachable over the network without encryption: "
            "anybody who can read the traffic gets the token, and with it this machine's facts and its smoke tests."
        )
    try:
        serving.Server(command(arguments), arguments.host, arguments.port, shown(chosen, fleet)).serve()
    except OSError as error:
        where = f"{arguments.host} port {arguments.port}"
        raise UsageError(f"Cannot listen on {where}: {_why(error)}.") from None
    return OK


def shown(chosen: SessionSource, fleet: tuple[str, ...]) -> str:
    """What the page is about, for its title: the name of this machine, or of what was opened instead."""
    if fleet:
        from gpudoctor.tui.fleet.model import Opened

        return Opened(fleet).title
    return chosen.title if chosen.title != "this machine" else platform.node() or chosen.title


def _why(error: OSError) -> str:
    """The kernel's words: asyncio puts its own around them."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)


def _serving() -> ModuleType:
    """The module that serves; loaded here, because it needs the extra."""
    try:
        from gpudoctor.cli import web_server
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "gpudoctor":
            raise
        raise UsageError(f'`gpudoctor serve` needs the extra "web": `{install_command("web")}`.') from None
    return web_server


def command(arguments: argparse.Namespace) -> list[str]:
    """The words that start one visitor's application: the same options, in this interpreter."""
    words = ["tui"]
    for name in ("facts", "demo", "samples", "timeout"):
        if getattr(arguments, name) is not None:
            words += [f"--{name}", str(getattr(arguments, name))]
    for path in arguments.python:
        words += ["--python", path]
    words += ["--root", arguments.root] if arguments.root != "/" else []
    words += ["--fleet", *(os.path.abspath(path) for path in arguments.fleet)] if arguments.fleet else []
    words += ["--quick"] if arguments.quick else []
    return ourselves(*words)
