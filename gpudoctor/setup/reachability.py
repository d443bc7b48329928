"""Whether the package indexes of a plan can be reached, asked before anything is changed."""

import os
import urllib.error
import urllib.request
from collections.abc import Iterable

from gpudoctor.setup.plan import SetupStep
from gpudoctor.tasks import Command

SECONDS = 10.0


def indexes(steps: Iterable[SetupStep]) -> tuple[tuple[str, Command], ...]:
    """The indexes of their own that commands name, each with the first command that does."""
    found: dict[str, Command] = {}
    for step in steps:
        for task in step.commands:
            if isinstance(task, Command) and "--index-url" in task.argv:
                found.setdefault(task.argv[task.argv.index("--index-url") + 1], task)
    return tuple(found.items())


def unreachable(index: str) -> str | None:
    """Why an index does not respond; None: it does, whatever it answers.

    The proxy of the environment is used (https_proxy), which pip and uv use as well.
    """
    try:
        urllib.request.urlopen(  # noqa: S310 - the addresses are the plan's own
            urllib.request.Request(f"{index}/", method="HEAD"),  # noqa: S310
            timeout=SECONDS,
        ).close()
    except urllib.error.HTTPError:
        return None
    except OSError as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return getattr(reason, "strerror", None) or str(reason)
    return None


def dry_run(command: Command, base: str) -> tuple[str, ...]:
    """The words by which the installer itself tries a command, with its own settings and without a change.

    Args:
        command: of pip or uv.
        base: a Python, for where the environment is not there yet.
    """
    if command.packages is None:
        return command.argv
    place = command.packages.python
    there = place if os.path.exists(place) else base
    words = tuple(there if word == place else word for word in command.packages.resolve)
    if command.packages.installer == "uv":
        return words
    after = words.index("install") + 1
    return (*words[:after], "--retries", "0", "--ignore-installed", *words[after:])


def base_of(steps: Iterable[SetupStep]) -> str | None:
    """The Python from which the steps make an environment; None: uv or conda makes it."""
    made = (t.argv for step in steps if step.id == "environment" for t in step.commands if isinstance(t, Command))
    return next((argv[0] for argv in made if argv[1:3] == ("-m", "venv")), None)
