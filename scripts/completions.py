"""Makes the scripts that `gpudoctor completion` prints, by shtab from the parser; docs/generate.py writes them."""

from collections.abc import Iterator
from typing import Any

import shtab

from gpudoctor import checks
from gpudoctor.cli import COMMANDS, parser
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.completion import SCRIPTS
from gpudoctor.setup.request import COMPANIONS, NAMES
from gpudoctor.smoketests.options import BACKENDS
from gpudoctor.smoketests.suite import DTYPES, TESTS

# Functions of the scripts, because a shell would hold a list of 400 names for each option that takes one of them.
_IDS = {"bash": "_gpudoctor_ids", "zsh": "_gpudoctor_ids", "fish": "(_gpudoctor_ids)"}
_ANYTHING = {"bash": "_gpudoctor_ids_files", "zsh": "_gpudoctor_ids_files", "fish": "(_gpudoctor_ids_files)"}
_HOSTS = {"bash": "_gpudoctor_hosts", "zsh": "_hosts", "fish": "(__fish_print_hostnames)"}
_FUNCTIONS = {
    "bash": """_gpudoctor_ids() {{ compgen -W "{names}" -- "$1"; }}
_gpudoctor_ids_files() {{ _gpudoctor_ids "$1"; compgen -f -- "$1"; }}
_gpudoctor_hosts() {{ compgen -A hostname -- "$1"; }}""",
    "zsh": """_gpudoctor_ids() {{ compadd "$@" -- {names}; }}
_gpudoctor_ids_files() {{ _alternative 'ids:check:_gpudoctor_ids' 'files:file:_files'; }}""",
    "fish": """function _gpudoctor_ids; string split ' ' -- '{names}'; end
function _gpudoctor_ids_files; _gpudoctor_ids; __fish_complete_path (commandline -ct); end""",
}
# By what stands for a value in the help.
_COMPLETE: dict[str, dict[str, Any]] = {
    "ID": _IDS,
    "ID|AREA": _IDS,
    "ID|AREA|TEXT": _IDS,
    "ID|AREA|CODE|MESSAGE|FILE|-": _ANYTHING,
    "NODES": _HOSTS,  # in zsh, options are offered only where the argument that is missing has completions
    "DIR": shtab.DIRECTORY,
    **dict.fromkeys(("A", "B", "DIR|FILE", "ENV", "FILE", "FILE.tar.gz", "OLD", "PATH"), shtab.FILE),
}
# By the option, or the place of an argument in its command.
_CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("smoke", "tests"): tuple(test.name for test in TESTS),
    ("smoke", "backend"): BACKENDS,
    ("smoke", "dtype"): DTYPES,
    ("setup", "frameworks"): (*NAMES, *COMPANIONS, "cuda-toolkit", "cudnn"),
    ("help", "names"): COMMANDS,
}


def completions() -> dict[str, str]:
    """Each script by its path under gpudoctor/cli/completions."""
    ids = checks.ids()
    names = " ".join([*ids, *dict.fromkeys(one.partition(".")[0] for one in ids)])
    made = {}
    for shell, path in SCRIPTS.items():
        text = shtab.complete(_marked(), shell, preamble=_FUNCTIONS[shell].format(names=names))
        made[path] = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    return made


def _marked() -> Parser:
    """The parser of all commands, with what shtab wants to know of each argument."""
    top = parser()
    for action in top.commands()["tui"]._actions:
        if action.dest != "help":
            top._add_action(action)  # without a command, these are taken
    for command, one in _every(top):
        for action in one._actions:
            if choices := _CHOICES.get((command, action.dest)):
                action.choices = choices
            elif action.choices is None and str(action.metavar) in _COMPLETE:
                action.complete = _COMPLETE[str(action.metavar)]  # type: ignore[attr-defined]
    return top


def _every(one: Parser, command: str = "") -> Iterator[tuple[str, Parser]]:
    """A parser and those of its commands, each with the name of its command and the short help in place of the long."""
    yield command, one
    for name, text in one.public_commands().items():
        found = one.command(name)
        found.description = text
        yield from _every(found, name)
