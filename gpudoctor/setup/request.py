"""What is wished for, compared with what there is."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches

import msgspec

from gpudoctor.registry import FRAMEWORKS

# The name that a user types, and the framework's import name; then the other names that are taken as well.
NAMES = {one.area: one.module for one in FRAMEWORKS}
_ALSO = {alias: one.module for one in FRAMEWORKS for alias in one.aliases}
DRIVER = ("auto", "yes", "no")


class RequestError(ValueError):
    """A wish is none; the message is a sentence."""


class SetupRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user request for.

    Attributes:
        frameworks: import names, in the user's order.
        manager: who is to install; None: those who does so in the environment, else uv where it is there, else pip.
        place: the directory of a new environment; relative only in a plan for another machine.
        into: the interpreter of an environment that is there; None: a new one.
        python: the release of a new environment's Python, "3.12"; None: the checked one's, where wheels exist for it.
        driver: auto: where it is needed; yes: the newest that fits; no: it stays as it is.
        container: whether containers are to have the GPU.
        cpu: wheels for the CPU, whatever the machine has.
        uv: whether there is a uv to run.
        base: the Python that makes environments; None: the checked one.
    """

    frameworks: tuple[str, ...] = ()
    manager: str | None = None
    place: str = "/opt/gpu-env"
    into: str | None = None
    python: str | None = None
    driver: str = "auto"
    container: bool = False
    cpu: bool = False
    uv: bool = True
    base: str | None = None


def frameworks(names: Iterable[str]) -> tuple[str, ...]:
    """The import names of frameworks that a user has typed, each once.

    Raises:
        WishError: there is no such framework.
    """
    return tuple(dict.fromkeys(_framework(name) for name in names))


def _framework(name: str) -> str:
    known = NAMES | _ALSO
    found = known.get(name.lower())
    if found is None:
        near = get_close_matches(name.lower(), known, 1)
        hint = f'Did you mean "{near[0]}"?' if near else f"There are {', '.join(NAMES)}."
        raise RequestError(f'Unknown framework "{name}". {hint}')
    return found


def place(text: str, home: str, folder: str | None) -> str:
    """The absolute path of an environment's folder.

    Args:
        text: as it was typed.
        home: this user's home folder.
        folder: the working directory; None: the plan is for another machine, and the path stays as it was typed.

    Raises:
        WishError: it cannot be one.
    """
    path = os.path.join(home, text[2:]) if text.startswith("~/") else text
    if not path or any(ord(c) < 32 for c in path):
        raise RequestError(f'"{text}" cannot be the directory of an environment.')
    return text if folder is None else os.path.abspath(os.path.join(folder, path))


def python(text: str) -> str:
    """A release of Python, "3.12".

    Raises:
        WishError: it is none.
    """
    found = re.fullmatch(r"(3\.\d{1,2})(?:\.\d+)?", text)
    if found is None:
        raise RequestError(f'--python-version takes a release of Python such as 3.12, not "{text}".')
    return found[1]
