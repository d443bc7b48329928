"""The only access to the checked machine: its files, directories, commands and environment."""

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from gpudoctor import workers
from gpudoctor.child import Background, ChildResult, own_environment
from gpudoctor.child import run as run_child
from gpudoctor.maybe import Maybe, Unknown

# No file that a probe reads whole is larger; a larger one is refused rather than read for minutes.
READ_LIMIT = 16 << 20
_PART = 1 << 16  # bytes that are read at once of a file without a size
# The kernel's ring holds 128 KiB to a few MiB (CONFIG_LOG_BUF_SHIFT, log_buf_len); records are longer as text.
KMSG_LIMIT = 8 << 20
# A set-up tool such as modinfo or systemctl answers in milliseconds; ten seconds are a hang.
COMMAND_SECONDS = 10.0
# One tool that hangs gets at most this share of a short examination, so that the rest is still asked.
COMMAND_SHARE = 6
# A driver answers open(2) at once, and within three seconds where it has to start the GPU first.
OPEN_SECONDS = 8.0
# Default of the whole examination, in seconds.
TOTAL_SECONDS = 150.0
# Each smoke test has its own limit, and stress may last ten minutes on each of many GPUs: this is only a last resort.
SMOKE_SECONDS = 6 * 3600.0
OUT_OF_TIME = "the run was out of time"
# How uname(1) names the systems that are not Linux, by sys.platform.
SYSTEMS = {"darwin": "Darwin", "win32": "Windows"}


class Status(msgspec.Struct, frozen=True):
    """What stat(2) reports of a file: permission bits, owner, group, size in bytes, device numbers."""

    mode: int
    uid: int
    gid: int
    size: int
    major: int
    minor: int
    is_dir: bool


class Space(msgspec.Struct, frozen=True):
    """What statvfs(2) reports of a file system: bytes, and whether it is mounted noexec."""

    size: int
    free: int
    noexec: bool = False


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file for `open`; without waiting, should somebody put a pipe there meanwhile."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class Machine:
    """The machine on which we run, or one whose file system is mounted under another root.

    Args:
        root: the directory under which the machine's file system is mounted; commands run only where it is "/".
        env: the environment to check; None: that of this process.
        seconds: how long the whole run may take; every command gets at most what is left.
    """

    def __init__(self, root: str = "/", env: Mapping[str, str] | None = None, seconds: float = TOTAL_SECONDS) -> None:
        self.root = root if root == "/" else os.path.abspath(root)  # on Windows "/" would become a drive
        self.env: Mapping[str, str] = own_environment() if env is None else dict(env)
        self._end = time.monotonic() + seconds
        self._longest = max(1.0, seconds / COMMAND_SHARE)
        self._hung: set[str] = set()
        self._halted = False
        self.driver_hangs = False  # set by whoever found out, so that nobody waits as long again
        self.early: dict[str, Background[Any]] = {}  # interpreters that were asked before anybody wants the answer

    @property
    def system(self) -> str:
        """The system that runs here: Linux, Darwin (macOS) or Windows; under another root it is Linux."""
        return SYSTEMS.get(sys.platform, "Linux") if self.here else "Linux"

    @property
    def here(self) -> bool:
        """Whether this is the running system, so that commands and libraries can be asked."""
        return self.root == "/"

    @property
    def over(self) -> bool:
        """Whether the time of the run is used up: no further child is started."""
        return self._halted or time.monotonic() >= self._end

    def left(self, most: float) -> float:
        """The seconds that a step may take: at most `most`, and no longer than the run has left."""
        return max(0.1, min(most, self._end - time.monotonic()))

    def halt(self) -> None:
        """End the children that run for this machine, and start none any more; from any thread, without waiting."""
        self._halted = True

    def without_end(self) -> None:
        """Remove the run's time limit: for monitoring, which lasts as long as somebody watches."""
        self._end = float("inf")

    # -- files ---------------------------------------------------------------------------------------
    def place(self, path: str) -> str:
        """The path by which this process reaches a path of the machine; links are followed inside the root.

        Raises:
            OSError: ELOOP where links form a loop; EINVAL where the text cannot be a path.
        """
        if "\0" in path:  # of a damaged file: the system's calls would raise ValueError
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        if self.root == "/":
            return path
        return self._inside(path)

    def _inside(self, path: str) -> str:
        done, todo, links = "/", [p for p in path.split("/") if p], 0
        while todo:
            part = todo.pop(0)
            if part == ".":
                continue
            if part == "..":
                done = os.path.dirname(done)
                continue
            step = os.path.join(done, part)
            try:
                target = os.readlink(self.root + step)
            except OSError:
                done = step
                continue
            links += 1
            if links > 40:  # the kernel's own limit, path_resolution(7)
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                done = "/"
            todo = [p for p in target.split("/") if p] + todo
        return self.root + done

    def open(self, path: str) -> BinaryIO:
        """Open a regular file to read; pipes, devices and sockets are refused, because reading one may never end.

        Raises:
            OSError: it cannot be opened, or is not a regular file.
        """
        return open(self._regular(path), "rb", opener=_without_waiting)

    def _regular(self, path: str) -> str:
        there = self.place(path)
        if stat.S_ISREG(os.stat(there).st_mode) or os.path.isdir(there):  # which open(2) refuses itself
            return there
        raise OSError(errno.EINVAL, "not a regular file", path)

    def data(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The content of a file.

        Raises:
            OSError: it cannot be read; EFBIG where it is larger than the limit.
        """
        # Without a buffer, which takes three more system calls for each of a hundred files.
        with open(self._regular(path), "rb", buffering=0, opener=_without_waiting) as file:
            size = os.fstat(file.fileno()).st_size  # files of procfs have none, and give a page at a time
            parts, left = [b""], limit + 1 if size <= limit else 0
            while left and (part := file.read(min(left, size + 1 if size else _PART))):
                parts.append(part)
                left -= len(part)
        if not left:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", path)
        return b"".join(parts)

    def text(self, path: str, limit: int = READ_LIMIT) -> str:
        """The content of a text file; bytes that are not UTF-8 are replaced.

        Raises:
            OSError: it cannot be read.
        """
        return self.data(path, limit).decode("utf-8", "replace")

    def line(self, path: str) -> str | None:
        """The stripped content of a small file such as those of sysfs; None where it cannot be read."""
        try:
            return self.text(path, 1 << 16).strip()
        except OSError:
            return None

    def names(self, folder: str) -> list[str]:
        """The sorted names in a directory; empty where it is missing or not readable."""
        return self.listed(folder) or []

    def listed(self, folder: str) -> list[str] | None:
        """The sorted names in a directory; None where it is missing or not readable."""
        try:
            return sorted(os.listdir(self.place(folder)))
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether a path exists, links followed."""
        return self.status(path) is not None

    def status(self, path: str) -> Status | None:
        """What stat(2) reports; None where the path does not exist or cannot be reached."""
        try:
            s = os.stat(self.place(path))
        except (OSError, ValueError):
            return None
        device = (os.major(s.st_rdev), os.minor(s.st_rdev)) if sys.platform != "win32" else (0, 0)
        return Status(stat.S_IMODE(s.st_mode), s.st_uid, s.st_gid, s.st_size, *device, stat.S_ISDIR(s.st_mode))

    def age(self, path: str, written: bool = False) -> float | None:
        """Seconds since a file was put here (st_ctime: packages keep the build's mtime), or written; None: unknown."""
        try:
            found = os.stat(self.place(path))
            return max(0.0, time.time() - (found.st_mtime if written else found.st_ctime))
        except (OSError, ValueError):
            return None

    def owner(self, path: str) -> int | None:
        """The user ID that owns a path (of a link, the link's own); None where it cannot be reached."""
        try:
            parent, name = os.path.split(path.rstrip("/"))
            return os.lstat(os.path.join(self.place(parent), name)).st_uid
        except (OSError, ValueError):
            return None

    def link(self, path: str) -> str | None:
        """The target of a link as it is written; None where the path is not a link."""
        try:
            parent, name = os.path.split(path.rstrip("/"))
            return os.readlink(os.path.join(self.place(parent), name))
        except OSError:
            return None

    def real(self, path: str) -> str:
        """The path with all links resolved, as the machine names it."""
        if self.root == "/":
            return path if "\0" in path else os.path.realpath(path)
        try:
            return self._inside(path)[len(self.root) :] or "/"
        except OSError:
            return path

    def space(self, path: str) -> Space | None:
        """Size and free bytes of the file system that holds a path."""
        try:
            s = os.statvfs(self.place(path))
        except (OSError, AttributeError):  # Windows has no such call
            return None
        return Space(s.f_blocks * s.f_frsize, s.f_bavail * s.f_frsize, bool(s.f_flag & getattr(os, "ST_NOEXEC", 0)))

    def may_write(self, path: str) -> bool:
        """Whether the user may create files in a directory (access(2), nothing is written)."""
        try:
            return os.access(self.place(path), os.W_OK | os.X_OK)
        except OSError:
            return False

    def open_errors(self, paths: Sequence[str]) -> dict[str, Maybe[str | None]]:
        """The errno's name with which open(2) for reading and writing refuses each device node; None: it opens.

        All are opened in one child, because the open of a wedged driver never returns: what comes after that
        node is unknown.
        """
        if not paths:
            return {}
        script = workers.script("open_device_nodes.py")
        there = {self.place(path): path for path in paths}
        argv = [sys.executable, "-I", "-S", script, *there]
        seconds = self.left(min(OPEN_SECONDS, self._longest))
        ended = run_child(argv, timeout=seconds, env=dict(self.env))
        late = f"open() did not return within {round(seconds, 1):g} s" if ended.timed_out else "open() failed"
        found: dict[str, Maybe[str | None]] = dict.fromkeys(paths, Unknown(late))
        for line in ended.out.splitlines():
            path, error = msgspec.json.decode(line, type=tuple[str, str | None])
            found[there[path]] = error
        return found

    def kmsg(self, limit: int = KMSG_LIMIT) -> list[str]:
        """The records of /dev/kmsg as they are written, oldest first, at most `limit` bytes of them.

        Raises:
            OSError: it cannot be opened: ENOENT in most containers, EPERM where the kernel restricts its log.
        """
        fd = os.open(self.place("/dev/kmsg"), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return os.read(fd, limit).decode("utf-8", "replace").splitlines()
            from gpudoctor.kernel_ring import records  # root alone may read it

            return list(records(fd, limit))
        finally:
            os.close(fd)

    # -- the running system --------------------------------------------------------------------------

    def release(self) -> str:
        """The kernel's release as uname(2) reports it."""
        return os.uname().release if sys.platform != "win32" else _of_platform("version")

    def architecture(self) -> str:
        """The machine's architecture as uname(2) reports it: x86_64, aarch64."""
        return os.uname().machine if sys.platform != "win32" else _of_platform("machine")

    def ids(self) -> tuple[int, int, tuple[int, ...]]:
        """The effective user, the effective group, and all groups of this process."""
        if sys.platform == "win32":  # whose permissions are lists, without numbers
            return -1, -1, ()
        return os.geteuid(), os.getegid(), tuple(sorted({os.getegid(), *os.getgroups()}))

    def memlock(self) -> int | None:
        """The soft limit of locked memory in bytes; None: unlimited."""
        if sys.platform == "win32":
            return None
        import resource

        soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        return None if soft == resource.RLIM_INFINITY else soft

    def which(self, name: str, also: Sequence[str] = (), before: Sequence[str] = ()) -> str | None:
        """The first executable of a name in some directories, on PATH, then in further ones; None: there is none."""
        for folder in [*before, *self.search_path(), *also]:
            path = f"{folder.rstrip('/')}/{name}"
            if folder.startswith("/") and self._executable(path):
                return path
            if self.system == "Windows" and self._executable(f"{path}.exe"):
                return f"{path}.exe"
        return None

    def search_path(self) -> list[str]:
        """The directories of PATH; those of Windows with slashes, which it takes as well."""
        text = self.env.get("PATH", "")
        return text.replace("\\", "/").split(";") if self.system == "Windows" else text.split(":")

    def _executable(self, path: str) -> bool:
        try:
            there = self.place(path)
            return os.path.isfile(there) and os.access(there, os.X_OK)
        except OSError:
            return False

    def run(
        self,
        argv: Sequence[str],
        seconds: float = COMMAND_SECONDS,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        stdin: bytes = b"",
        patient: bool = False,
        late: Callable[[], bool] | None = None,
        grace: float = 1.0,
    ) -> ChildResult:
        """Run a program of this machine under a deadline; never raises, never waits longer.

        A program given by name is looked up on the checked PATH, then in the system's sbin directories. Without an
        environment of its own it gets the checked one, in the C locale, so that its output can be parsed.

        Args:
            argv: the program and its arguments.
            seconds: after which it counts as hung.
            env: its environment.
            on_line: gets each line of its output as it comes.
            stdin: what it can read.
            patient: it is what the run is about, and may use all of its time.
            late: called some times a second; True ends the program as if its time were over.
            grace: seconds between asking it to end and killing it.
        """
        program = argv[0] if "/" in argv[0] or "\\" in argv[0] else self.which(argv[0], SBIN)
        if not self.here or program is None:
            why = "command not found" if self.here else "commands are not run under another root"
            return ChildResult(argv=tuple(argv), missing=why)
        if self.over or program in self._hung:  # several children that hang must not take longer than one
            return ChildResult(argv=tuple(argv), missing=OUT_OF_TIME if self.over else "it hung earlier in this run")
        ended = run_child(
            [program, *argv[1:]],
            timeout=self.left(seconds if patient else min(seconds, self._longest)),
            env=dict({**self.env, "LC_ALL": "C"} if env is None else env),
            on_line=on_line,
            stdin=stdin,
            late=lambda: self._halted or (late is not None and late()),
            grace=grace,
        )
        if ended.timed_out and not patient:
            self._hung.add(program)
        return ended


# An ordinary user's PATH often lacks them, and modinfo, dkms and ldconfig live there.
SBIN = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")


def _of_platform(name: str) -> str:
    import platform  # 10 ms, and Windows alone needs it

    return str(getattr(platform, name)())
