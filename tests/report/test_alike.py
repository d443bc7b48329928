"""Eight GPUs with the same illness are one paragraph."""

import msgspec
import pytest

from gpudoctor.report.grouping import alike, own_commands, sentences, together
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
        fixes=(FixEntry(f"Cool GPU {index}.", ("nvidia-smi -q", f"sudo cooler --gpu {index}"), "ask-vendor"),),
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
    assert "          The same for GPU 2:\n            sudo cooler --gpu 2\n" in reported
    assert reported.count("nvidia-smi -q") == 1
    assert all(f"Slow {i}." in reported for i in range(3))


def test_markdown_says_of_each_what_differs() -> None:
    reported = markdown.render(Report(findings=(hot(0), hot(1))))
    assert "\n\n- Also: GPU 1 is hot at 91 degrees C.\n\n" in reported
    assert "The same for GPU 1:\n\n```sh\nsudo cooler --gpu 1\n```" in reported
    assert "applies to GPU 0, GPU 1" in reported
    assert reported.count("### ") == 1


def test_what_another_one_needs_is_below_the_fix_that_needs_it() -> None:
    report = Report(
        findings=tuple(hot(i, fixes=(*hot(i).fixes, FixEntry("Replace it.", (f"later {i}",)))) for i in range(2))
    )
    for shown in (text.render(report), markdown.render(report), html.render(report)):
        places = [shown.index(part) for part in ("--gpu 1", "Replace it.", "later 0", "later 1")]
        assert places == sorted(places)


def test_those_of_which_the_same_is_said_are_only_named() -> None:
    entries = [hot(i, message=f"GPU {i} (A100) is hot.") for i in (0, 1, 11)]
    assert sentences(entries[0], entries[1:]) == ["GPU 1, GPU 11."]
    assert sentences(entries[0], [entries[1], hot(2)]) == ["GPU 1.", "GPU 2 is hot at 92 degrees C."]
    assert sentences(entries[0], []) == []


def _slow(index: int, clock: int = 300) -> FindingEntry:
    stem = f"sudo nvidia-smi -i {index}"
    look = f"nvidia-smi -q -i {index}"
    fix = FixEntry(
        "Lower its clocks.", (f"{stem} -lgc {clock}", "uptime"), verify=look, undo=f"{stem} -rgc; {stem} -rac"
    )
    return hot(index, fixes=(fix,))


def test_a_command_that_differs_in_the_index_alone_is_one_command() -> None:
    report = Report(findings=(_slow(0), _slow(2), _slow(11), _slow(12, clock=900)))
    shown = text.render(report)
    assert "            sudo nvidia-smi -i 0,2,11 -lgc 300\n            uptime\n" in shown
    assert "verify      nvidia-smi -q -i 0,2,11,12\n" in shown
    assert "          The same for GPU 12:\n            sudo nvidia-smi -i 12 -lgc 900\n" in shown
    assert shown.count("The same for") == 1
    for other in (markdown.render(report), html.render(report)):
        assert "sudo nvidia-smi -i 0,2,11 -lgc 300" in other
        assert other.count("The same for") == 1
    assert together(_slow(0), (_slow(1),))[0].undo == "sudo nvidia-smi -i 0,1 -rgc; sudo nvidia-smi -i 0,1 -rac"


@pytest.mark.parametrize("command", ["nvidia-smi nvlink -e -i {}", "dcgmi diag -r 3 -i {}", "sed -i {} file"])
def test_what_takes_one_index_is_left_alone(command: str) -> None:
    one, two = (hot(i, fixes=(FixEntry("Look.", (command.format(i),)),)) for i in (0, 1))
    assert together(one, (two,)) == one.fixes
    assert own_commands(two, together(one, (two,)), 0) == (command.format(1),)
