"""Which compiled code runs on which capability."""

import pytest

from gpudoctor.knowledge.kernels import coverage, runs_on, version


@pytest.mark.parametrize(
    ("compiled", "capability", "runs"),
    [
        ("8.0", "8.6", True),
        ("8.0", "8.9", True),
        ("8.6", "8.0", False),
        ("8.0", "9.0", False),
        ("12.0", "12.1", True),
        ("10.0", "10.3", True),
        ("10.0", "11.0", False),
        ("8.0", "8.7", False),
        ("8.7", "8.7", True),
        ("8.7", "8.9", False),
        ("5.3", "5.3", True),
    ],
)
def test_machine_code_runs_within_its_major(compiled: str, capability: str, runs: bool) -> None:
    assert runs_on(compiled, capability) is runs


@pytest.mark.parametrize(
    ("targets", "capability", "what"),
    [
        ("7.5 8.0 12.0+PTX", "8.6", "machine code"),
        ("7.5 8.0 12.0+PTX", "12.0", "ptx"),
        ("7.5 8.0 9.0+PTX", "12.0", "ptx"),
        ("7.5 8.0", "12.0", None),
        ("12.0+PTX", "9.0", None),
        ("", "8.0", None),
    ],
)
def test_ptx_runs_on_later_capabilities(targets: str, capability: str, what: str | None) -> None:
    assert coverage(targets, capability) == what


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("12.0", (12, 0)), ("2.15.0rc1+cu132", (2, 15, 0)), ("0.12.0.1", (0, 12, 0, 1)), ("3", (3,))],
)
def test_version(text: str, numbers: tuple[int, ...]) -> None:
    assert version(text) == numbers


@pytest.mark.parametrize("text", ["", "next", "v1.2"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        version(text)
