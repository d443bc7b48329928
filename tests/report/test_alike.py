"""Eight GPUs with the same illness are one paragraph."""

import msgspec
import pytest

from gpudoctor.report.grouping import alike, sentences
from gpudoctor.report.model import Consequence, FindingEntry, FixEntry, Report
from gpudoctor.report.renderers import html, markdown, text


def hot(index: int, **changes: object) -> FindingEntry:
    made = FindingEntry(
        check="health.overheated",
        status="warn",
        subject=f"GPU {index}",
        title="A GPU is too hot",
        message=f"GPU {index} is hot at {90 + index} degrees C.",
        cause="Dust.",
        evidence=("one line",),
        fixes=(
            FixEntry(f"Cool GPU {index}.", ("nvidia-smi -q", f"sudo nvidia-smi -i {index} -lgc 300"), "ask-vendor"),
        ),
        consequences=(Consequence(check="a.b", message=f"Slow {index}."),),
    )
    return msgspec.structs.replace(made, **changes)


@pytest.mark.parametrize(
    ("findings", "sizes"),
    [
        ((), []),
        ((hot(0),), [1]),
        ((hot(0), hot(1), hot(2)), [3]),
        ((hot(0), hot(1, check="health.power-brake"), hot(2)), [2, 1]),
        ((hot(0), hot(1, status="fail")), [1, 1]),
        ((hot(0), hot(1, fixes=(FixEntry("Replace it.", (), "replace-hardware"),))), [1, 1]),
        ((hot(0), hot(1, cause="Another.")), [1, 1]),
    ],
)
def test_alike(findings: tuple[FindingEntry, ...], sizes: list[int]) -> None:
    assert [len(group) for group in alike(findings)] == sizes


def test_text_says_of_each_what_differs() -> None:
    reported = text.render(Report(findings=(hot(0), hot(1), hot(2))))
    assert (
        "\n          GPU 0 is hot at 90 degrees C.\nalso      GPU 1 is hot at 91 degrees C.\n          GPU 2 is hot"
        in reported
    )
    assert reported.count("A GPU is too hot") == reported.count("cause     Dust.") == reported.count("one line") == 1
    assert "          The same for GPU 2:\n            sudo nvidia-smi -i 2 -lgc 300\n" in reported
    assert reported.count("nvidia-smi -q") == 1
    assert all(f"Slow {i}." in reported for i in range(3))


def test_markdown_says_of_each_what_differs() -> None:
    reported = markdown.render(Report(findings=(hot(0), hot(1))))
    assert "\n\n- Also: GPU 1 is hot at 91 degrees C.\n\n" in reported
    assert "The same for GPU 1:\n\n```sh\nsudo nvidia-smi -i 1 -lgc 300\n```" in reported
    assert "applies to GPU 0, GPU 1" in reported
    assert reported.count("### ") == 1


def test_what_another_one_needs_is_below_the_fix_that_needs_it() -> None:
    report = Report(
        findings=tuple(hot(i, fixes=(*hot(i).fixes, FixEntry("Replace it.", (f"later {i}",)))) for i in range(2))
    )
    for shown in (text.render(report), markdown.render(report), html.render(report)):
        places = [shown.index(part) for part in ("-i 1 -lgc 300", "Replace it.", "later 0", "later 1")]
        assert places == sorted(places)


def test_those_of_which_the_same_is_said_are_only_named() -> None:
    entries = [hot(i, message=f"GPU {i} (A100) is hot.") for i in (0, 1, 11)]
    assert sentences(entries[0], entries[1:]) == ["GPU 1, GPU 11."]
    assert sentences(entries[0], [entries[1], hot(2)]) == ["GPU 1.", "GPU 2 is hot at 92 degrees C."]
    assert sentences(entries[0], []) == []
