"""What the package index has, through the environment's own pip: it knows the index, the proxy and the password."""

import os
import shutil

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpudoctor import child

_LIST_SECONDS, _UNPACK_SECONDS = 60, 240  # an index that answers slowly; a release that has to be built


class IndexUnavailableError(Exception):
    """The index could not be asked; the message is one sentence."""


class PipIndex:
    """The releases of one package that pip could install into an environment.

    Args:
        python: the environment's interpreter.

    Attributes:
        wheels_alone: whether no release is built from its source: of a compiled package that takes long, and needs a
            compiler of that time.
    """

    def __init__(self, python: str) -> None:
        self.wheels_alone = False
        self._python = python
        self._pip: tuple[str, ...] | None = None

    def versions(self, name: str, specifier: str = "") -> list[Version]:
        """The final releases, the newest first.

        Args:
            name: the package.
            specifier: what they have to satisfy, "<2,>=1.4".

        Raises:
            IndexUnavailableError: pip gave no answer.
        """
        ended = self._run(_LIST_SECONDS, "index", "versions", name)
        line = next((one for one in ended.out.splitlines() if one.startswith("Available versions:")), None)
        if line is None:
            raise IndexUnavailableError(f"pip found no release of {name}: {_last_line(ended)}")
        try:
            wanted = SpecifierSet(specifier)
        except InvalidSpecifier:
            raise IndexUnavailableError(f'"{specifier}" is not a version specifier.') from None
        return [one for one in _parsed(line.partition(":")[2]) if one in wanted and not one.is_prerelease]

    def unpack(self, name: str, version: Version, folder: str) -> str | None:
        """Put a release's files into a directory, without what it requires; None, or why pip cannot install it."""
        built = ("--only-binary", ":all:") if self.wheels_alone else ("--prefer-binary",)
        words = ("--target", folder, "--no-deps", "--no-compile", "-q", *built, f"{name}=={version}")
        ended = self._run(_UNPACK_SECONDS, "install", *words)
        return None if ended.ok else _last_line(ended)

    def _run(self, seconds: float, *words: str) -> child.ChildResult:
        # A warning that pip itself is old would be the last line.
        env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
        env.pop("PIP_REQUIRE_VIRTUALENV", None)
        return child.run((*self._words(), *words), timeout=seconds, env=env)

    def _words(self) -> tuple[str, ...]:
        """How pip is started for this Python: its own, else one that uv brings.

        Raises:
            IndexUnavailableError: there is neither.
        """
        if self._pip is None:
            own = (self._python, "-m", "pip")
            uv = shutil.which("uv")
            if child.run((*own, "--version"), timeout=_LIST_SECONDS).ok:
                self._pip = own
            elif uv:
                self._pip = (uv, "tool", "run", "--python", self._python, "pip")
            else:
                raise IndexUnavailableError(f"{self._python} has no pip, and there is no uv to bring one.")
        return self._pip


def _parsed(listed: str) -> list[Version]:
    found = []
    for one in listed.split(","):
        try:
            found.append(Version(one.strip()))
        except InvalidVersion:
            continue
    return sorted(found, reverse=True)


def _last_line(ended: child.ChildResult) -> str:
    if ended.timed_out:
        return "it gave no answer in time."
    lines = [line.strip() for line in f"{ended.out}\n{ended.err}".splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or [ended.missing or "it said nothing."])[-1]
