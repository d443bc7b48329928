"""A start spares modules that packages import for others; who needs one later gets the real one."""

import json
import subprocess
import sys

import pytest

from gpudoctor.facts.text_types import is_moment

STARTED = "import sys; from gpudoctor.spared_imports import start_fast; start_fast(); import msgspec\n"


def said(code: str) -> object:
    """What a fresh interpreter prints as JSON at the end of some code."""
    code = f"{code}\nimport json; print(json.dumps(said))"
    ended = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, cwd="/")
    return json.loads(ended.stdout)


def test_a_start_has_msgspec_without_what_it_needs_for_others() -> None:
    spared = "'uuid decimal datetime gettext typing_extensions msgspec.inspect msgspec.toml msgspec._json_schema'"
    code = f"before = set(sys.modules)\nsaid = [n for n in {spared}.split() if n in before]"
    assert said(STARTED + code) == []


@pytest.mark.parametrize(
    "code",
    [
        "import datetime, uuid, decimal; said = [uuid.UUID(int=1).int, str(decimal.Decimal(1)), datetime.MINYEAR]",
        "from msgspec import inspect; said = [type(inspect.type_info(int)).__name__, 1, 1]",
        "import msgspec.toml; said = [list(msgspec.toml.decode('a = 1')), 1, 1]",
        "said = [msgspec.json.schema(int)['type'], msgspec.json.schema_components([int])[0][0]['type'], 1]",
        "from gettext import gettext; import argparse; said = [gettext('a'), argparse._('a'), 1]",
        "class One(msgspec.Struct):\n    a: 'int'\nsaid = [msgspec.json.decode(b'{\"a\": 1}', type=One).a, 1, 1]",
        "import typing; said = [typing.ForwardRef('Foo').__forward_arg__, 1, 1]",
    ],
)
def test_later_the_real_module_is_there(code: str) -> None:
    found = said(STARTED + code)
    assert isinstance(found, list)
    assert found[0] in (1, "IntType", ["a"], "integer", "a", "Foo")


def test_a_release_of_msgspec_that_needs_more_is_imported_as_it_is() -> None:
    code = (
        "import gpudoctor.spared_imports as one, types\n"
        "one._OF_MSGSPEC = one._OF_MSGSPEC | {'uuid': types.SimpleNamespace()}\n"
        "one.start_fast()\n"
        "import msgspec, uuid\n"
        "said = msgspec.json.encode([uuid.UUID(int=1)]).decode()"
    )
    assert said(code) == '["00000000-0000-0000-0000-000000000001"]'


def test_a_child_is_started_without_them_and_texts_and_communicate_work_all_the_same() -> None:
    code = (
        f"{STARTED}from gpudoctor.child import run\n"
        "ended = run([sys.executable, '-c', 'print(input())'], timeout=60, stdin=b'one')\n"
        "early = [name for name in ('locale', 'selectors') if name in sys.modules]\n"
        "import subprocess\n"
        "cat = [sys.executable, '-c', 'import sys; sys.stdout.write(sys.stdin.read())']\n"
        "again = subprocess.run(cat, input='two', capture_output=True, text=True)\n"
        "said = [ended.out, early, again.stdout]"
    )
    assert said(code) == ["one\n", [], "two"]


def test_in_somebody_elses_process_nothing_stands_for_a_module() -> None:
    code = (
        "import sys; from gpudoctor.child import run\n"
        "ended = run([sys.executable, '-c', 'print(1)'], timeout=60)\n"
        "import locale, selectors, subprocess\n"
        "said = [ended.out, subprocess.locale is locale, subprocess.selectors is selectors]"
    )
    assert said(code) == ["1\n", True, True]


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("2026-11-21T03:00:00Z", True),
        ("2026-02-28T23:59:59Z", True),
        ("2026-02-29T00:00:00Z", False),
        ("2028-02-29T00:00:00Z", False),  # it is one, which datetime says
        ("2026-01-31T00:00:00Z", True),
        ("2026-11-30T00:00:00Z", True),
        ("2026-11-31T00:00:00Z", False),
        ("2026-12-32T00:00:00Z", False),
        ("2026-13-01T00:00:00Z", False),
        ("2026-01-01T24:00:00Z", False),
        ("0000-01-01T00:00:00Z", False),
        ("2026-01-01T00:00:00.5Z", False),
        ("2026-01-01", False),
        ("", False),
    ],
)
def test_most_moments_need_no_datetime(text: str, sure: bool) -> None:
    assert is_moment(text) is sure
