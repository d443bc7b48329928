"""What ssh says, and what it means."""

import pytest

from gpudoctor.fleet.runner.engines.ssh_messages import verdict

# What OpenSSH 9.2 wrote in each case, by what became of the node; the last column: whether the command had begun.
CASES = [
    ("ssh: connect to host n1 port 22: No route to host", "unreachable", False),
    ("ssh: connect to host n1 port 22: Connection timed out", "unreachable", False),
    ("ssh: connect to host n1 port 22: Connection refused", "unreachable", False),
    ("ssh: Could not resolve hostname n1: Name or service not known", "unreachable", False),
    ("Connection timed out during banner exchange", "unreachable", False),
    ("Timeout, server n1 not responding.", "unreachable", False),
    ("root@n1: Permission denied (publickey).", "refused", False),
    ("Host key verification failed.", "refused", False),
    ("Received disconnect from n1 port 22:2: Too many authentication failures", "refused", False),
    ("Unable to negotiate with n1 port 22: no matching host key type found. Their offer: ssh-rsa", "refused", False),
    ("Access denied by pam_slurm_adopt: you have no active jobs on this node", "refused", False),
    ("kex_exchange_identification: Connection closed by remote host", "refused", False),
    ("Connection closed by 10.0.0.1 port 22", "refused", False),
    ("Timeout, server n1 not responding.", "unreachable", True),
    ("Connection to n1 closed by remote host.", "unreachable", True),
    ("client_loop: send disconnect: Broken pipe", "unreachable", True),
    ("Connection reset by 10.0.0.1 port 22", "unreachable", True),
]


@pytest.mark.parametrize(("words", "state", "began"), CASES)
def test_what_ssh_says_of_its_own_failure(words: str, state: str, began: bool) -> None:
    found, why = verdict(255, ("Warning: Permanently added 'n1' (ED25519) to the list of known hosts.", words), began)
    assert found == state
    assert words.rstrip(".") in why
    assert ("during the run" in why) == began
    assert why.endswith(".")


def test_a_jump_host_that_is_down_is_no_refusal() -> None:
    words = (
        "ssh: connect to host jump port 22: Connection timed out",
        "kex_exchange_identification: Connection closed by remote host",
        "Connection closed by UNKNOWN port 65535",
    )
    assert verdict(255, words, began=False) == ("unreachable", f"{words[0]}.")


def test_what_the_command_says_is_not_taken_for_sshs_own_words() -> None:
    words = ("open /dev/nvidia0: Permission denied (13)", "torch: Connection refused")
    assert verdict(1, words, began=True) == (
        "failed",
        "The command failed there with exit code 1 (torch: Connection refused).",
    )
    assert verdict(255, words, began=True)[0] == "failed"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (127, "bash: line 1: gpudoctor: command not found"),
        (126, "bash: line 1: /opt/bin/gpudoctor: Permission denied"),
        (1, "/usr/bin/python3: No module named gpudoctor"),
    ],
)
def test_gpudoctor_that_is_not_there(code: int, said: str) -> None:
    why = f"gpudoctor does not start there ({said}): install it there, or give its command with --with."
    assert verdict(code, (said,), began=False) == ("failed", why)


@pytest.mark.parametrize(
    ("code", "words", "why"),
    [
        (0, (), "The command ended there without a report."),
        (0, ("Connection to n1 closed.",), "The command ended there without a report."),
        (3, ("It is unknown.", ""), "The command failed there with exit code 3 (It is unknown)."),
        (137, (), "The command was killed there by SIGKILL."),
        (254, (), "The command was killed there by signal 126."),
        (255, (), "ssh failed with exit code 255 without output."),
        (255, ("Bad configuration option: foo",), "ssh failed with exit code 255 (Bad configuration option: foo)."),
    ],
)
def test_every_other_end_is_a_failure_in_its_own_words(code: int, words: tuple[str, ...], why: str) -> None:
    assert verdict(code, words, began=False) == ("failed", why)
