"""kubectl as the way to Kubernetes: it knows the user's clusters and how they let him in, so no library is needed."""

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from gpudoctor import child
from gpudoctor.child import ChildResult
from gpudoctor.fleet.runner.engine import EngineError

ANSWER = 30  # seconds for a request, --request-timeout
WHOLE = 90.0  # seconds for a command, which may make many requests (a list comes in pages of 500)
T = TypeVar("T")


class KubectlError(Exception):
    """A command failed; the message is what kubectl said, in one line."""


class _Items(msgspec.Struct):
    """A list, as kubectl prints it; of a single object there is none."""

    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct):
    kind: str = ""


class Kubectl:
    """The program, with the cluster and the namespace that it is to speak to.

    Args:
        context: of kubectl's configuration; empty: the current one.
        namespace: empty: the context's.
        kubeconfig: a file; empty: where kubectl looks.
        ended: asked some times a second; True ends a command.
    """

    def __init__(
        self, context: str, namespace: str, kubeconfig: str, ended: Callable[[], bool] = lambda: False
    ) -> None:
        options = {"context": context, "namespace": namespace, "kubeconfig": kubeconfig}
        self._words = ["kubectl", *(f"--{name}={value}" for name, value in options.items() if value)]
        self._words.append(f"--request-timeout={ANSWER}s")
        self._ended = ended

    def ending_with(self, ended: Callable[[], bool]) -> "Kubectl":
        """The same, whose commands end when this says so."""
        other = Kubectl("", "", "", ended)
        other._words = self._words
        return other

    def line(self, *words: str) -> str:
        """A command as it would be typed."""
        return shlex.join((*self._words, *words))

    def call(
        self, *words: str, stdin: bytes = b"", on_line: Callable[[str], object] | None = None, seconds: float = WHOLE
    ) -> ChildResult:
        """Run a command, however it ends.

        Raises:
            EngineError: there is no kubectl.
        """
        ended = child.run(
            [*self._words, *words], timeout=seconds, stdin=stdin, on_line=on_line, cwd=_here(), late=self._ended
        )
        if ended.missing:
            raise EngineError(
                f"kubectl cannot be started ({ended.missing}): gpudoctor uses it to reach Kubernetes, so it has to be "
                "on PATH."
            )
        return ended

    def lines(self, *words: str, stdin: bytes = b"") -> list[str]:
        """The lines of a command that has to succeed, however many there are.

        Raises:
            KubectlError: it failed.
            EngineError: there is no kubectl.
        """
        found: list[str] = []
        ended = self.call(*words, stdin=stdin, on_line=found.append)
        if not ended.ok:
            raise KubectlError(last_words(ended))
        return found

    def objects(self, kinds: dict[str, type[T]], *words: str) -> list[T]:
        """What `get` finds of some kinds, as these types.

        Raises:
            KubectlError: it failed, or what it says is no list.
            EngineError: there is no kubectl.
        """
        text = "\n".join(self.lines("get", *words, "--output=json", "--ignore-not-found"))
        if not text.strip():
            return []
        try:
            listed = msgspec.json.decode(text, type=_Items).items
            whole = [msgspec.Raw(text.encode())] if listed is None else listed
            named = [(kinds.get(msgspec.json.decode(one, type=_Kind).kind), one) for one in whole]
            return [msgspec.json.decode(one, type=kind) for kind, one in named if kind]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise KubectlError(f"the output of kubectl cannot be parsed ({error})") from None


def last_words(ended: ChildResult) -> str:
    """The last words of a command that failed, in one line."""
    if ended.timed_out:
        return f"kubectl did not respond within {ended.seconds:.0f} s"
    words = complaints(ended.err.splitlines())
    how = f"kubectl was killed by {ended.signal}" if ended.signal else f"kubectl failed with exit code {ended.code}"
    return words[-1] if words else how


def complaints(lines: Iterable[str]) -> Sequence[str]:
    """What is wrong, of what stands on standard error: without warnings, and without klog's lines."""
    kept = [" ".join(line.split()) for line in lines if line.strip() and not line.startswith("Warning:")]
    return [line for line in kept if not _is_klog(line)] or kept


def _is_klog(line: str) -> bool:
    """Whether it looks like `E1122 02:14:43.000000    1234 memcache.go:265] ...`."""
    return line[:1] in "IWEF" and line[1:5].isdecimal() and "]" in line


def _here() -> str:
    """Where a relative path in KUBECONFIG begins."""
    try:
        return os.getcwd()
    except OSError:  # somebody has deleted the directory
        return "/"
