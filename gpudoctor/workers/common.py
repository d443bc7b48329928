"""What the scripts in this directory share: a channel on which they tell what they find, a JSON object a line.

What was told before a crash or a hang is kept, and the stage that began last names where it happened.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PREFIX = "gpudoctor:"

# The libraries that decide whether a framework reaches a GPU, by the beginning of their file names.
LIBRARIES = (
    "libcuda.",
    "libcudart",
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcupti",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libnccl",
    "libnvidia-ml",
    "libnvidia-ptxjitcompiler",
    "libnvJitLink",
    "libnvrtc",
    "libnvshmem",
    "libamdhip64",
    "libhipblas",
    "libhsa-runtime64",
    "libMIOpen",
    "librccl",
    "librocblas",
    "librocm_smi64",
)
# Every message that a framework is known to print is shorter.
LONGEST_TEXT = 4000
MOST_WARNINGS = 20


class Teller:
    """Tells facts under the names that gpudoctor.facts.LiveFramework has for them."""

    def __init__(self) -> None:
        # From here on whatever the framework prints goes to stderr, and only we write to the old stdout.
        self._channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
        sys.stdout.flush()
        os.dup2(2, 1)
        self._warnings: list[str] = []
        warnings.showwarning = self._warned

    def tell(self, **facts: Any) -> None:
        """Write facts."""
        self._channel.write(PREFIX + json.dumps(facts, default=str) + "\n")
        self._channel.flush()

    def stage(self, name: str) -> None:
        """Say which stage begins."""
        self.tell(stage=name)

    def fact(self, name: str, ask: Callable[[], Any]) -> Any:
        """Tell one fact, or in the error's own words why it cannot be had; return it, or None."""
        try:
            value = ask()
        except Exception as error:
            self.tell(**{name: {"unknown": self.full_text(error)}})
            return None
        self.tell(**{name: value})
        return value

    def bring(self, name: str, blame: bool = False) -> Any:
        """Import the framework and tell how that went; None where it cannot be imported.

        Args:
            name: its import name.
            blame: tell as well which other package an error is about.
        """
        import importlib

        self.stage("import")
        started = time.monotonic()
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:
            self.tell(import_error=self.full_text(error), import_seconds=time.monotonic() - started)
            if blame:
                self.tell(blamed=blamed(error, name))
            return None
        self.tell(import_seconds=time.monotonic() - started, file=getattr(module, "__file__", None))
        self.stage("version")
        self.fact("version", lambda: str(module.__version__))
        return module

    def finish(self) -> None:
        """Tell which libraries are mapped, and end without the framework's own tidying, which can take seconds."""
        self.stage("libraries")
        self.fact("libraries", mapped)
        self.stage("done")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    @staticmethod
    def text(error: BaseException) -> str:
        """The words of an exception; its type where it has none."""
        return (str(error).strip() or type(error).__name__)[:LONGEST_TEXT]

    @staticmethod
    def full_text(error: BaseException) -> str:
        """Type and words of an exception, and the loader's where they only name libraries."""
        words = str(error).strip()
        words = "\n".join((words, *refusals(words)))
        return f"{type(error).__name__}: {words}"[:LONGEST_TEXT] if words else type(error).__name__

    @staticmethod
    def find(start: Any, path: str, fallback: Any = None) -> Any:
        """The attribute at the end of a dotted path, or the fallback where a part of it is missing."""
        for part in path.split("."):
            try:
                start = getattr(start, part)
            except Exception:
                return fallback
        return start

    @staticmethod
    def release(number: int) -> str:
        """A CUDA version's number as people write it: 12040 is "12.4"."""
        return f"{int(number) // 1000}.{int(number) % 1000 // 10}"

    def _warned(self, message: Any, category: type, *_where: Any, **_more: Any) -> None:
        text = f"{category.__name__}: {str(message).strip()}"[:LONGEST_TEXT]
        if text not in self._warnings and len(self._warnings) < MOST_WARNINGS:
            self._warnings.append(text)
            self.tell(warnings=self._warnings)


def refusals(words: str) -> list[str]:
    """What the loader says of the libraries of which an error only says that they could not be loaded.

    PyTorch keeps its words for the exception before, from 2.9 on (torch/_ops.py), and torchcodec prints the last alone.
    """
    mark, said = "Could not load this library: ", []
    paths = [line.partition(mark)[2].strip() for line in words.splitlines() if mark in line]
    for path in [path for path in paths if os.path.isfile(path)][:8]:
        import ctypes

        try:
            ctypes.CDLL(path)
        except OSError as error:
            said.append("OSError: " + str(error))
    return said


def blamed(error: BaseException, name: str) -> str | None:
    """The top package, other than the imported one, that an import's error is about; None where there is none.

    It is the one whose name or attribute is missing, else the one in which the error was raised.
    """
    own, found, trace = name.partition(".")[0], [], error.__traceback__
    while trace is not None:
        found.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    found = found[-1:]  # the innermost
    thing = getattr(error, "obj", None)  # AttributeError, from Python 3.10 on
    if isinstance(error, AttributeError) and thing is not None:
        found.append(str(getattr(thing, "__module__", None) or getattr(thing, "__name__", "")))
    if isinstance(error, ImportError):
        found.append(error.name or "")
    tops = [each.partition(".")[0] for each in reversed(found)]
    ignored = (own, "", "__main__", "importlib", "builtins", "ctypes", "_gpudoctor_common")
    return next((top for top in tops if top not in ignored and not top.startswith("_")), None)


def mapped() -> list[str]:
    """The CUDA and ROCm libraries that this process has mapped, sorted."""
    found = set()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            path = "/" + line.rstrip("\n").partition("/")[2]
            if ".so" in path and path.rsplit("/", 1)[-1].startswith(LIBRARIES):
                found.add(path)
    return sorted(found)
