"""The mutants of a file: each operator, and that they are Python."""

from pathlib import Path

import pytest

from scripts.mutating.mutants import mutants

SOURCE = '''"""A check."""

DEAD = ("a.b", "c.d")
LIMIT = 3


@check(severity=Severity.ERROR, caused_by=("a.b", *DEAD))
def one(on):
    """Its problem."""
    if not on.value or on.other < LIMIT:
        return None
    return Fix("Say it", root=True, needs="reboot", impact="none")
'''


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("comparison", [(" < ", " >= ")]),
        ("not", [("not on.value", "on.value")]),
        ("and/or", [(" or ", " and ")]),
        ("constant", [("3", "4")]),
        ("early return", [("", "return None\n    ")]),
        ("caused_by", [('"a.b"', "(*DEAD,)"), ("*DEAD", '("a.b",)')]),
        ("severity", [("Severity.ERROR", "Severity.WARNING")]),
        ("root", [("True", "False")]),
        ("needs", [('"reboot"', "None")]),
        ("impact", [('"none"', '"reversible"')]),
    ],
)
def test_operators(tmp_path: Path, operator: str, expected: list[tuple[str, str]]) -> None:
    (tmp_path / "one.py").write_text(SOURCE)
    found = [one for one in mutants(tmp_path, Path("one.py")) if one.operator == operator]
    assert [(one.before, one.after) for one in found] == expected
    for one in found:
        made = one.of(SOURCE.encode())
        assert made != SOURCE.encode()
        compile(made, "one.py", "exec")


def test_an_element_of_a_group_of_causes(tmp_path: Path) -> None:
    (tmp_path / "cause_groups.py").write_text(SOURCE)
    found = [one for one in mutants(tmp_path, Path("cause_groups.py")) if one.operator == "caused_by"]
    assert ('"a.b"', '("c.d",)') in [(one.before, one.after) for one in found]
