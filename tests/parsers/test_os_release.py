"""os-release is read with and without quotes."""

import pytest

from gpudoctor.parsers.os_release import os_release


def test_ubuntu() -> None:
    text = 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n'
    assert os_release(text) == {
        "PRETTY_NAME": "Ubuntu 22.04.5 LTS",
        "NAME": "Ubuntu",
        "VERSION_ID": "22.04",
        "ID": "ubuntu",
        "ID_LIKE": "debian",
    }


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=", ""),
        ('A=""', ""),
        ("A='x y'", "x y"),
        (r'A="say \"hi\" for \$5"', 'say "hi" for $5'),
        (r"A='a\$b'", r"a\$b"),
        ('A="open', '"open'),
        ("  A=b  ", "b"),
        ('A="', '"'),
        ("A=b=c", "b=c"),
    ],
)
def test_values(line: str, value: str) -> None:
    assert os_release(f"{line}\n") == {"A": value}


@pytest.mark.parametrize("line", ["# A=b", "", "A", "1A=b", "A B=c"])
def test_lines_that_say_nothing(line: str) -> None:
    assert os_release(f"{line}\n") == {}
