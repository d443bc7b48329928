"""A file that cannot be used is refused in one sentence with file, line, path and the nearest right name."""

from pathlib import Path

import pytest

from gpudoctor.check_engine import Severity
from gpudoctor.expect import ExpectFileError
from gpudoctor.expect.loader import load, loads
from tests.expect import one

NAME = "gpus.*.name"
WRONG = {
    "no field": (
        one("gpus.*.nam", 'is="a"'),
        '1: gpus.*.nam: unknown "nam" in gpus.*. Did you mean "gpus.*.name"?',
    ),
    "no such thing": (one("xyzzy", "count=1"), '1: xyzzy: unknown fact "xyzzy". Possible: schema, version,'),
    "at the root": (one("gpu", "count=1"), '1: gpu: unknown fact "gpu". Did you mean "gpus"?'),
    "element forgotten": (
        one("gpus.name", 'is="a"'),
        '1: gpus.name: gpus is a list: use "gpus.*.name" for all entries, or a number instead of "*".',
    ),
    "framework forgotten": (one("pythons.0.frameworks.version", 'is="1"'), "pythons.0.frameworks is a list: use"),
    "another name of it": (
        one("pythons.0.frameworks.pytorch.version", 'is="1"'),
        'Did you mean "pythons.0.frameworks.torch.version"?',
    ),
    "below a text": (
        one(NAME + ".x", 'is="a"'),
        '1: gpus.*.name.x: gpus.*.name is a text, so it has no "x".',
    ),
    "of three": (one("nvidia.kernel.packages.0.3", 'is="a"'), "has 3 parts: use 0 to 2, not 3."),
    "an empty step": (one("gpus..name", 'is="a"'), "gpus..name: not a path"),
    "an open quotation": (one('gpus."name', 'is="a"'), "not a path"),
    "unquoted": (
        '[expect.nvidia.kernel.loaded]\nversion=">=5"',
        '1: nvidia: write the path between quotes, [expect."nvidia',
    ),
    "operator of another kind": (
        one("gpus", 'is="a"'),
        '2: gpus: it is a list, so "is" cannot be used; possible: contains, lacks, count, present.',
    ),
    "no operator": (one("gpus"), "1: gpus: no operator; possible: contains, lacks, count"),
    "misspelt operator": (one("gpus.0.memory", "", "at_lest=1"), '3: gpus.0.memory: unknown operator "at_lest".'),
    "the nearest operator": (one("gpus.0.memory", "at_lest=1"), 'Did you mean "at_least"?'),
    "a far operator": (one("gpus.0.memory", "foo=1"), "Possible: is, one_of, version,"),
    "no specifier": (one("nvidia.kernel.loaded", 'version="580"'), "takes a version specifier such as"),
    "no number": (one("gpus.0.memory", 'at_least="8"'), '2: gpus.0.memory: "at_least" takes a number, not "8".'),
    "truth is no number": (one("gpus.0.memory", "at_least=true"), "takes a number, not true."),
    "nan": (one("gpus.0.memory", "at_least=nan"), "takes a number, not nan."),
    "the wrong way round": (one("gpus.0.memory", "between=[2, 1]"), "the lower one first, not [2, 1]."),
    "one of two": (one("gpus.0.memory", "between=[2]"), "takes a list of two numbers"),
    "another type": (one("gpus.0.ecc", "is=1"), '"is" takes true or false, not 1.'),
    "no text": (one(NAME, "is=8"), '"is" takes a text, not 8.'),
    "a date": (one(NAME, "is=2026-01-01"), '"is" takes a text, not 2026-01-01.'),
    "one of nothing": (one(NAME, "one_of=[]"), '"one_of" takes a list of values'),
    "one of another type": (one(NAME, "one_of=['a', 1]"), '"one_of" takes a list of values'),
    "out of form": (one("gpus.0.capability", 'is="nine"'), '"is" takes a text of the form ^[0-9]{1,3}'),
    "out of the list": (one("smoke.runs.*.outcome", 'is="good"'), 'takes one of "done", "unsupported"'),
    "count of less than nothing": (one("gpus", "count=-1"), '"count" takes a whole number, or a comparison'),
    "count of truth": (one("gpus", "count=true"), '"count" takes a whole number'),
    "count of nonsense": (one("gpus", 'count="8"'), '"count" takes a whole number'),
    "presence in words": (one("gpus", 'present="yes"'), '"present" takes true or false'),
    "severity": (one("gpus", "count=1", 'severity="bad"'), '3: gpus: "severity" is one of fail, warn, advice,'),
    "an empty sentence": (one("gpus", "count=1", 'message=" "'), '3: gpus: "message" must be a string.'),
    "a fix that is a command": (one("gpus", "count=1", 'fix=["rm"]'), '3: gpus: "fix" must be a string.'),
    "a backend": (one("smoke.torch.transfer.h2d pinned", "at_least=1"), 'unknown backend "torch".'),
    "a test": (one("smoke.pytorch.transfers.rate", "at_least=1"), 'Did you mean "transfer"?'),
    "a figure": (one("smoke.pytorch.transfer.h2d pined", "at_least=1"), 'Did you mean "h2d pinned"?'),
    "a data type": (one("smoke.pytorch.matmul fp64.rate", "at_least=1"), 'unknown data type "fp64". Possible: fp32,'),
    "a device": (one("smoke.pytorch.gpu0.transfer.h2d pinned", "at_least=1"), '"gpu0" is not a device'),
    "too short": (one("smoke.pytorch.transfer", "at_least=1"), "a measured value is written"),
    "no TOML": ("[expect.gpus]\ncount = \n", "2: invalid TOML: Invalid value."),
    "no end": ('[expect.gpus]\nis = "', "2: invalid TOML: Unterminated string."),
    "another table": (
        '\n[expct."gpus"]\ncount=1',
        '2: unknown key "expct"; expectations belong in [expect."PATH"]',
    ),
    "no tables": ("expect = 1", '1: "expect" must contain tables'),
    "no table": ("expect.gpus = 1", '1: gpus has no operator: write [expect."gpus"] and below it'),
    "nothing": ("# nothing\n", " contains no expectations: it needs tables such as"),
    "a line's end in a path": ('[expect."gp\\nus"]\ncount=1', "1: gp\\nus: unknown fact"),
    "an endless path": (one("a" * 5000, "count=1"), " ..."),
    "too many digits": (one("gpus", "count=" + "9" * 5000), "invalid TOML"),
    "too deep": (one("gpus", "count=" + "[" * 5000), "too deep"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ExpectFileError) as caught:
        loads(text, "e.toml")
    found = str(caught.value)
    assert found.startswith("e.toml")
    assert message in found
    assert "\n" not in found
    assert found.endswith((".", "?", " ..."))
    assert len(found) < 650


def test_lines_of_every_way_to_write_it() -> None:
    text = """\
expect."gpus.*.ecc" = { is = true }
# a comment with [expect."gpus"]
[expect."gpus"]
count = 8
message = '''
A text of several lines.
'''

[[expect."gpus.*.name"]]
contains = "H100"
[[expect."gpus.*.name"]]
severity = "warn"
matches = "NVIDIA*"
"""
    found = loads(text, "e.toml")
    places = {(one.path, one.place, one.severity) for one in found}
    assert places == {
        ("gpus.*.ecc", "e.toml:1", Severity.ERROR),
        ("gpus", "e.toml:3", Severity.ERROR),
        ("gpus.*.name", "e.toml:9", Severity.ERROR),
        ("gpus.*.name", "e.toml:11", Severity.WARNING),
    }
    assert len({one.id for one in found}) == len(found)


def test_a_path_that_comes_twice_in_one_file_and_once_in_another_is_three_checks(tmp_path: Path) -> None:
    for name, times in (("a.toml", 2), ("b.toml", 1)):
        tables = "\n".join(["[[expect.gpus]]", "count=1"] * times)
        (tmp_path / name).write_text(tables)
        (tmp_path / name).chmod(0o644)
    found = load([str(tmp_path / "a.toml"), str(tmp_path / "b.toml")])
    assert [e.id for e in found] == ["expect.gpus", "expect.gpus-2", "expect.gpus-3"]


def test_the_same_path_in_several_files_is_a_check_each(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(one("gpus", "count=1"))
        (tmp_path / name).chmod(0o644)
    found = load([str(tmp_path / "a.toml"), str(tmp_path / "b.toml")])
    assert [e.id for e in found] == ["expect.gpus", "expect.gpus-2"]
    assert [Path(e.place).name for e in found] == ["a.toml:1", "b.toml:1"]


def test_a_table_that_comes_twice_says_how_several_are_written() -> None:
    with pytest.raises(ExpectFileError) as caught:
        loads('[expect."gpus.*.name"]\nis = "a"\n[expect."gpus.*.name"]\nis = "b"\n', "e.toml")
    assert str(caught.value) == ('e.toml:3: duplicate gpus.*.name; write several as [[expect."gpus.*.name"]].')
