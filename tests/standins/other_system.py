"""Runs gpudoctor as on another system: sys.platform says so, and what that system's Python lacks is taken away.

other_system.py darwin|win32 ARGUMENT...
"""

# ruff: noqa: F401 - the standard library is loaded first: it would ask for modules of the other system

import argparse
import ctypes
import fcntl
import importlib.metadata
import inspect
import os
import platform
import queue
import select
import selectors
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
import traceback

LINUX_ALONE = ("CLD_EXITED", "P_PID", "WEXITED", "WNOWAIT", "pipe2", "sched_getaffinity", "waitid", "waitid_result")
POSIX_ALONE = (
    "O_CLOEXEC", "O_NONBLOCK", "WNOHANG", "chown", "fork", "getegid", "geteuid", "getgid", "getgroups", "getpgid",
    "getuid", "killpg", "major", "minor", "mkfifo", "nice", "setsid", "statvfs", "uname",
)  # fmt: skip
SIGNALS = (
    "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGRTMIN", "SIGSTOP", "SIGTSTP",
    "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGXFSZ", "pthread_sigmask", "setitimer", "sigtimedwait",
    "sigwaitinfo",
)  # fmt: skip
MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty")


def become(system: str) -> None:
    """Take away what the system does not have."""
    sysconfig.get_config_vars()
    sysconfig.get_path("include")
    site.getusersitepackages()
    platform.uname()
    sys.platform = system
    lost = LINUX_ALONE if system == "darwin" else (*LINUX_ALONE, *POSIX_ALONE)
    for module, names in ((os, lost), (signal, () if system == "darwin" else SIGNALS)):
        for name in names:
            vars(module).pop(name, None)
    vars(fcntl).pop("F_SETSIG", None)
    if system == "win32":
        sys.modules.update(dict.fromkeys(MODULES))  # type: ignore[arg-type]


if __name__ == "__main__":
    become(sys.argv[1])
    from gpudoctor.cli import main

    sys.argv[0] = "gpudoctor"
    sys.exit(main(sys.argv[2:]))
