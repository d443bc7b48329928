"""Which commands are run without a shell, and which are shown alone."""

import pytest

from gpudoctor.setup.commands import needs_root, of, of_shell


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("nvidia-smi", ("nvidia-smi",)),
        ("/opt/env/bin/python -m pip install 'jax[cuda13]>=0.7'", None),
        ('python -c "print(1)"', ("python", "-c", "print(1)")),
        ("rm -r ~/gpu-env", ("rm", "-r", "/home/a/gpu-env")),
        ("pip install a~=1.0", ("pip", "install", "a~=1.0")),
    ],
)
def test_plain_words_are_split(text: str, argv: tuple[str, ...] | None) -> None:
    expected = argv or ("/opt/env/bin/python", "-m", "pip", "install", "jax[cuda13]>=0.7")
    assert of_shell(text, "/home/a").argv == expected
    assert of_shell(text).shown == text


@pytest.mark.parametrize(
    "text",
    [
        "a | b", "a && b", "a; b", "a &", "a > f", "a < f", "a $HOME", "a `b`", "a $(b)", 'a "$HOME"', 'a "`b`"', "a *",
        "a b?", "rm {a,b}", "rm [ab]", "a \\\nb", "a\nb", "# a remark", "cd /tmp", "export A=b", "A=b c", "ls ~bob",
        "docker restart CONTAINER", "docker run ...", "unset A", "a 'open", "", "a !b", "source x",
    ],
)  # fmt: skip
def test_what_a_shell_would_do_more_with_is_only_shown(text: str) -> None:
    assert of_shell(text).argv == ()
    assert of_shell(text).shown == text


def test_words_become_a_line_that_splits_into_them_again() -> None:
    words = ("pip", "install", "jax[cuda13]>=0.7", "it's")
    assert of_shell(of(*words).shown).argv == words


@pytest.mark.parametrize(
    ("text", "root"),
    [("sudo reboot", True), ("a | sudo tee b", True), ("a && sudo b", True), ("pip install pseudo", False)],
)
def test_root_is_seen(text: str, root: bool) -> None:
    assert needs_root(of_shell(text)) is root
