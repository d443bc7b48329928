"""What ssh says when it fails, and what that means for the node."""

import signal
from collections.abc import Sequence

from gpudoctor.fleet.runner.engines.launcher_messages import NO_PACKAGE, first, last, not_started
from gpudoctor.lazy_regex import pattern

OWN = 255  # what ssh ends with where the fault is its own, ssh(1); a command killed by a signal ends so too, in silence
NOT_RUN, NOT_FOUND = 126, 127  # of a shell: POSIX, 2.8.2

# Messages of OpenSSH (sshconnect.c, sshconnect2.c, packet.c, clientloop.c and misc.c of 9.2), libc's names of errors,
# and what pam_slurm_adopt and pam_nologin say through it before they close the connection.
_CLOSED_TO_US = pattern(
    r"Permission denied \(|Host key verification failed|Too many authentication failures|[Aa]ccess denied"
    r"|Unable to negotiate with|not permitted to log in|account is currently not available"
)
_NO_WAY = pattern(
    r"No route to host|[Tt]imed out|Could not resolve hostname|Connection refused|Network is unreachable|Host is down"
)
_HUNG_UP = pattern(r"^(?:kex|ssh)_exchange_identification: |^Connection (?:closed|reset) by ")
_CUT = pattern(
    r"^Timeout, server .* not responding|^Connection to .* closed by remote host|^client_loop: |Broken pipe"
    r"|^Connection (?:closed|reset) by |^Read from remote host |^Connection to .* timed out"
)
# Before the command has written anything, in this order: a jump host that does not respond makes us hear both.
_BEFORE = (
    ("refused", _CLOSED_TO_US),
    ("unreachable", _NO_WAY),
    ("refused", _HUNG_UP),
    ("unreachable", _CUT),
)
# What ssh and gateways say next to the matter.
_BESIDE = pattern(r"^(?:\*\* |Warning: |debug\d: |@|Connection to .* closed\.$|\s*$)")


def closed_to_us(text: str) -> bool:
    """Whether a line says that this user may not use the node."""
    return bool(_CLOSED_TO_US.search(text))


def verdict(code: int, words: Sequence[str], began: bool) -> tuple[str, str]:
    """How a node ended whose ssh has ended, if it sends no report: one of the ledger's states, and one sentence.

    Args:
        code: what ssh ended with, which is what the command ended with, or 255.
        words: the last lines of ssh's standard error, which is the command's too.
        began: whether the command wrote something there.
    """
    if code == OWN:
        return _own(words, began)
    said = last(_BESIDE, words)
    if not began and (closed := first(_CLOSED_TO_US, words)):
        return "refused", _ended(closed)
    if code in (NOT_RUN, NOT_FOUND) or first(NO_PACKAGE, words):
        return not_started(_quoted(said))
    if code > 128:
        return "failed", f"The command was killed there by {_signal(code - 128)}{_quoted(said)}."
    if code:
        return "failed", f"The command failed there with exit code {code}{_quoted(said)}."
    return "failed", f"The command ended there without a report{_quoted(said)}."


def _own(words: Sequence[str], began: bool) -> tuple[str, str]:
    if began:
        found = first(_CUT, words)
        if found:
            return "unreachable", f"The connection was lost during the run: {_ended(found)}"
        return (
            "failed",
            f"The command was killed there by a signal, or failed with exit code 255{_quoted(last(_BESIDE, words))}.",
        )
    for state, known in _BEFORE:
        if found := first(known, words):
            return state, _ended(found)
    return "failed", f"ssh failed with exit code 255{_quoted(last(_BESIDE, words)) or ' without output'}."


def _quoted(said: str) -> str:
    return f" ({said.rstrip('.')})" if said else ""


def _ended(said: str) -> str:
    return said if said.endswith((".", "!")) else f"{said}."


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
