"""The packages of an environment before a change, and the commands that bring exactly these back."""

import re
from collections.abc import Callable, Iterable

import msgspec

from gpudoctor.fixes.pip import Installer, pip
from gpudoctor.knowledge import torch
from gpudoctor.tasks import Tasks

# What pip calls --dry-run came with 22.2: https://pip.pypa.io/en/stable/news/#v22-2
DRY_RUN = (22, 2)


class Installed(msgspec.Struct, frozen=True):
    """One distribution.

    Attributes:
        name: its name.
        version: its version, with the local part ("2.7.1+cu126").
        url: where it came from, where that was no index.
        editable: whether it is a link to a source tree.
    """

    name: str
    version: str
    url: str = ""
    editable: bool = False

    @property
    def key(self) -> str:
        """The name as installers compare names (PEP 503)."""
        return re.sub(r"[-_.]+", "-", self.name).lower()

    @property
    def words(self) -> tuple[str, ...]:
        """The words by which an installer takes exactly this one."""
        if self.editable:
            return ("--editable", self.url.removeprefix("file://"))
        return (f"{self.name} @ {self.url}",) if self.url else (f"{self.name}=={self.version}",)

    @property
    def index(self) -> str | None:
        """The index of its build, where its local version names one of PyTorch's; None: the usual one."""
        return None if self.url else torch.index_of_build(self.version)


# Asks an interpreter; None: it could not be asked.
Ask = Callable[[str], tuple[Installed, ...] | None]


def resolves(installed: Iterable[Installed]) -> bool:
    """Whether the environment's pip can show a change without making it."""
    own = next((one.version for one in installed if one.key == "pip"), "")
    numbers = tuple(int(part) for part in re.findall(r"\d+", own)[:2])
    return numbers >= DRY_RUN


def back(
    installer: Installer,
    python: str,
    options: tuple[str, ...],
    before: Iterable[Installed],
    now: Iterable[Installed],
) -> Tasks:
    """The commands that install again what was there, in its versions, and remove what came.

    Args:
        installer: pip or uv.
        python: the environment's interpreter.
        options: options that the change needed too.
        before: what was there.
        now: what is there.
    """
    old, new = ({one.key: one for one in some} for some in (before, now))
    came = [one.name for key, one in new.items() if key not in old]
    gone = [one for key, one in old.items() if new.get(key) != one]
    sure = () if installer == "uv" else ("--yes",)
    tasks: Tasks = (pip(installer, python, "uninstall", *sure, *options, *came),) if came else ()
    for index in dict.fromkeys(one.index for one in gone):
        words = [word for one in gone if one.index == index for word in one.words]
        source = ("--index-url", index) if index else ()
        tasks += (pip(installer, python, "install", *options, "--no-deps", *source, *words),)
    return tasks
