"""A machine made of recorded texts: what probes are tested with, and third parties' probes too."""

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import BinaryIO

from gpudoctor.child import ChildResult
from gpudoctor.machine import KMSG_LIMIT, TOTAL_SECONDS, Machine, Space, Status
from gpudoctor.maybe import Maybe


class RecordedMachine(Machine):
    """Answers from dictionaries, and raises FileNotFoundError for the rest.

    Args:
        files: path -> content; directories exist where a file or a directory is in them.
        folders: further directories, empty ones for example.
        links: path -> target, as written in the link.
        commands: a command line as typed, or its first word -> standard output, or a whole `ChildResult`.
        env: the environment.
        statuses: path -> what stat(2) says (device nodes); such a path exists.
        errors: path -> errno name with which reading or opening it fails.
        spaces: path -> size and free bytes.
        seconds: how long the whole examination may take.
        release, architecture, ids, memlock: as uname(2), getgroups(2) and getrlimit(2) answer.
        system: Linux, Darwin or Windows; files of Windows are recorded as "/C:/...".
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        folders: Sequence[str] = (),
        links: Mapping[str, str] | None = None,
        commands: Mapping[str, str | ChildResult] | None = None,
        env: Mapping[str, str] | None = None,
        statuses: Mapping[str, Status] | None = None,
        errors: Mapping[str, str] | None = None,
        spaces: Mapping[str, Space] | None = None,
        ages: Mapping[str, float] | None = None,
        seconds: float = TOTAL_SECONDS,
        release: str = "6.8.0-60-generic",
        architecture: str = "x86_64",
        ids: tuple[int, int, tuple[int, ...]] = (1000, 1000, (1000,)),
        memlock: int | None = 8 << 20,
        system: str = "Linux",
    ) -> None:
        super().__init__(env={} if env is None else env, seconds=seconds)
        self._files = dict(files or {})
        self._links = dict(links or {})
        self._commands = dict(commands or {})
        self._statuses = dict(statuses or {})
        self._errors = dict(errors or {})
        self._spaces = dict(spaces or {})
        self._ages = dict(ages or {})
        self._folders = {"/", *folders}
        for path in [*self._files, *self._links, *self._statuses, *folders]:
            while path != "/":
                path = os.path.dirname(path)
                self._folders.add(path)
        self._system = system
        self._release, self._architecture, self._ids, self._memlock = release, architecture, ids, memlock
        self.ran: list[str] = []  # the command lines that were asked for

    @property
    def system(self) -> str:
        """The recorded system."""
        return self._system

    def place(self, path: str) -> str:
        """The path with links resolved among the recorded ones."""
        done, todo = "/", [p for p in path.split("/") if p]
        for _ in range(200):
            if not todo:
                return done
            part = todo.pop(0)
            step = os.path.normpath(os.path.join(done, part))
            target = self._links.get(step)
            if target is None:
                done = step
                continue
            done = "/" if target.startswith("/") else done
            todo = [p for p in target.split("/") if p] + todo
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    def _refuse(self, path: str, there: str) -> None:
        name = self._errors.get(path) or self._errors.get(there)
        if name:
            number = getattr(errno, name)
            raise OSError(number, os.strerror(number), path)

    def data(self, path: str, limit: int = 16 << 20) -> bytes:
        """The recorded content."""
        there = self.place(path)
        self._refuse(path, there)
        if there not in self._files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        content = self._files[there]
        data = content.encode() if isinstance(content, str) else content
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", path)
        return data

    def open(self, path: str) -> BinaryIO:
        """The recorded content, as a file."""
        return BytesIO(self.data(path, sys.maxsize))

    def kmsg(self, limit: int = KMSG_LIMIT) -> list[str]:
        """The recorded lines of /dev/kmsg."""
        return self.text("/dev/kmsg", limit).splitlines()

    def listed(self, folder: str) -> list[str] | None:
        """What the recorded paths put into a folder; None where there is no such folder, or an error is recorded."""
        there = self.place(folder)
        if there not in self._folders or folder in self._errors or there in self._errors:
            return None
        prefix = there.rstrip("/") + "/"
        paths = [*self._files, *self._links, *self._statuses, *self._folders]
        return sorted({p[len(prefix) :].split("/")[0] for p in paths if p.startswith(prefix) and p != prefix})

    def status(self, path: str) -> Status | None:
        """The recorded status, or that of an ordinary file or folder of root's."""
        try:
            there = self.place(path)
        except OSError:
            return None
        if there in self._statuses:
            return self._statuses[there]
        if there in self._files:
            content = self._files[there]
            return Status(0o755 if "/bin/" in there else 0o644, 0, 0, len(content), 0, 0, False)
        return Status(0o755, 0, 0, 4096, 0, 0, True) if there in self._folders else None

    def age(self, path: str, written: bool = False) -> float | None:  # noqa: ARG002
        """The recorded age of a file, in seconds."""
        return self._ages.get(path)

    def owner(self, path: str) -> int | None:
        """The recorded owner; root of what has none."""
        there = path.rstrip("/")
        if there in self._statuses:
            return self._statuses[there].uid
        return 0 if there in (self._links | self._files) or there in self._folders else None

    def link(self, path: str) -> str | None:
        """The recorded target."""
        return self._links.get(path.rstrip("/"))

    def real(self, path: str) -> str:
        """The path with recorded links resolved."""
        try:
            return self.place(path)
        except OSError:
            return path

    def space(self, path: str) -> Space | None:
        """The recorded space."""
        return self._spaces.get(path)

    def may_write(self, path: str) -> bool:
        """A recorded folder is writable unless an error is recorded for it."""
        return self.status(path) is not None and path not in self._errors

    def open_errors(self, paths: Sequence[str]) -> dict[str, Maybe[str | None]]:
        """The recorded errors; ENOENT where nothing is recorded."""
        return {p: self._errors.get(p) or (None if self.status(p) else "ENOENT") for p in paths}

    def release(self) -> str:
        """The recorded kernel release."""
        return self._release

    def architecture(self) -> str:
        """The recorded architecture."""
        return self._architecture

    def ids(self) -> tuple[int, int, tuple[int, ...]]:
        """The recorded user."""
        return self._ids

    def memlock(self) -> int | None:
        """The recorded limit."""
        return self._memlock

    def _executable(self, path: str) -> bool:
        return self.real(path) in self._files and any(folder in path for folder in ("/bin/", "/sbin/", "/app/"))

    def which(self, name: str, also: Sequence[str] = (), before: Sequence[str] = ()) -> str | None:
        """A recorded executable where it is looked for, or /usr/bin/NAME where a command of that name is recorded."""
        found = super().which(name, also, before)
        recorded = any(line.split()[0] == name for line in self._commands)
        return found or (f"/usr/bin/{name}" if recorded else None)

    def run(
        self,
        argv: Sequence[str],
        seconds: float = 10.0,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        on_line: Callable[[str], None] | None = None,
        stdin: bytes = b"",  # noqa: ARG002
        patient: bool = False,  # noqa: ARG002
        late: Callable[[], bool] | None = None,  # noqa: ARG002
        grace: float = 1.0,  # noqa: ARG002
    ) -> ChildResult:
        """The recorded answer to a command line, else to its first word."""
        line = " ".join([argv[0].rsplit("/", 1)[-1], *argv[1:]])
        self.ran.append(line)
        answer = self._commands.get(line, self._commands.get(line.split()[0]))
        if answer is None:
            return ChildResult(argv=tuple(argv), missing="command not found")
        ended = answer if isinstance(answer, ChildResult) else ChildResult(argv=tuple(argv), code=0, out=answer)
        for text in ended.out.splitlines() if on_line else []:
            on_line(text)  # type: ignore[misc]
        return ended
