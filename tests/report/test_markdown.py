"""The report as Markdown: it can be pasted into an issue, and nothing in it becomes markup."""

from __future__ import annotations

import re

import msgspec
import pytest

from gpudoctor.pipeline import check
from gpudoctor.report.model import Consequence, FixEntry, Report, UnknownEntry
from gpudoctor.report.renderers.markdown import fence, folded, plain, render
from tests.checks.smoke_machines import machine
from tests.report.test_text import FINDING, REPORT

TEXTS = [
    ("plain words", "plain words"),
    ("run `nvidia-smi -q` now", "run `nvidia-smi -q` now"),
    ("a_b *c* [d](e) ~f~ |g|", r"a\_b \*c\* \[d\](e) \~f\~ \|g\|"),
    ("one ` alone_", r"one \` alone\_"),
    ("`a_b` and c_d", r"`a_b` and c\_d"),
    ("<img src=x> & co", "&lt;img src=x&gt; &amp; co"),
    ("</details><script>", "&lt;/details&gt;&lt;script&gt;"),
    ("two\nlines\r\n\nmore", r"two lines\\r more"),
    ("# no heading", r"\# no heading"),
    ("- no list", r"\- no list"),
    ("1. no list", r"1\. no list"),
    ("0.1.0", "0.1.0"),
    ("a ``` b", r"a \`\`\` b"),
    ("1 GPU", "1 GPU"),
    ("ask @somebody about #12 and !3", "ask @<!-- -->somebody about #<!-- -->12 and !<!-- -->3"),
    ("getty@tty1", "getty@tty1"),
    ("see torch/torch#12, GH-3 and a/b!4", "see torch/torch#<!-- -->12, GH-<!-- -->3 and a/b!<!-- -->4"),
    ("C# and a wiki#part", "C# and a wiki#part"),
    ("\x1b[31m\u202e", r"\\x1b\[31m\\u202e"),
]


@pytest.mark.parametrize(("text", "written"), TEXTS)
def test_text_is_never_markup(text: str, written: str) -> None:
    assert plain(text) == written


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fence(["a", "```", "````sh"]) == "`````text\na\n```\n````sh\n`````"
    assert fence(["nvidia-smi"], "sh") == "```sh\nnvidia-smi\n```"


def test_details_have_blank_lines_around_them_because_markdown_wants_them() -> None:
    assert folded("More", "- a") == "<details><summary>More</summary>\n\n- a\n\n</details>"


def test_a_finding_has_its_commands_in_fences_and_its_details_folded() -> None:
    text = render(REPORT)
    assert text.startswith("**gpudoctor 0.1.0: FAIL**\n")
    assert "### 1. FAIL: The loaded NVIDIA module and the NVIDIA libraries are of different versions" in text
    assert "**Cause:** The driver was updated while its kernel module was loaded." in text
    assert "**Fix:** Reboot. (needs root)\n\n```sh\nsudo reboot\n```" in text
    assert "**Verify:**\n\n```sh\nnvidia-smi\n```" in text
    head, details = text.split("<details><summary>Details and ", 1)
    assert "pytorch.no-gpu" not in head
    assert "- `pytorch.no-gpu`: PyTorch 2.5.1 sees no GPU." in details
    assert "Ruled out: `driver.not-loaded`" in details
    assert "- <https://docs.nvidia.com/deploy/nvml-api/>" in details


def test_the_head_is_that_of_the_text_report() -> None:
    head = render(REPORT).split("```")[1]
    assert "Ubuntu 24.04.3 LTS" in head
    assert "FAIL  1 failed" in head
    assert "--verbose" not in head


def test_what_is_not_known_is_folded() -> None:
    unknown = UnknownEntry(check="device.ecc", subject="GPU 0", reason="NVML: Not Supported")
    text = render(Report(status="incomplete", unknown=(unknown,), next=("See: --verbose lists it.", "Try again.")))
    assert "<details><summary>Unknown (1)</summary>\n\n- `device.ecc` (GPU 0): NVML: Not Supported" in text
    assert "--verbose" not in text
    assert text.endswith("Try again.\n")


def test_measurements_are_a_table_that_keeps_its_columns() -> None:
    text = render(check(facts=machine()))
    table = text.split("<summary>Smoke tests</summary>", 1)[1].split("</details>")[0]
    assert re.search(r"```text\nPyTorch [\d.]+ on GPU 0 .*\n  imported in", table)
    assert re.search(r"\n  stress .*\n(?: .*\n)*```", table)
    assert "PASS" not in table


HOSTILE = "```\n</details>\n# x @all `"


def test_no_string_leaves_its_place() -> None:
    entry = msgspec.structs.replace(
        FINDING,
        title=HOSTILE,
        message=HOSTILE,
        cause=HOSTILE,
        subject=HOSTILE,
        evidence=(HOSTILE,),
        fixes=(FixEntry(HOSTILE, (HOSTILE,), needs=HOSTILE, undo=HOSTILE, verify=HOSTILE),),
        consequences=(Consequence(check="a`b", message=HOSTILE),),
        references=("https://x/> <b>", "https://x/><b>", HOSTILE),
    )
    text = render(msgspec.structs.replace(REPORT, findings=(entry,)))
    outside, inside = [], ""
    for line in text.splitlines():
        bar = re.match(r"`{3,}", line)
        if inside:
            inside = "" if line == inside else inside
        elif bar:
            inside = bar[0]
        else:
            outside.append(line)
    assert inside == ""
    assert outside.count("</details>") == sum("<details>" in line for line in outside)
    assert [line for line in outside if line.startswith("#")] == [line for line in outside if line.startswith("### 1.")]
    assert not re.search(r"@\w", "\n".join(outside))
    assert "<b>" not in "\n".join(outside)
