"""Fields of files under /proc, found without a regular expression."""

import pytest

from gpudoctor.parsers.proc_fields import field

STATUS = "Name:\tpython\nCapEffective:\t7\nCapEff:\t00000000a80425fb\nCpus_allowed_list:\t0-3,8\nSeccomp:\t2\nx86: yes"
CPU = "processor\t: 0\nflags\t\t: fpu sse2\nbugs\t\t:\nprocessor\t: 1\nflags\t\t: fpu\n"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (STATUS, "Name", "python"),
        (STATUS, "CapEff", "00000000a80425fb"),
        (STATUS, "Cpus_allowed_list", "0-3,8"),
        (STATUS, "x86", "yes"),
        (STATUS, "Cap", None),
        (STATUS, "python", None),
        (CPU, "flags", "fpu sse2"),
        (CPU, "bugs", ""),
        ("MemTotal:       16 kB\r\n", "MemTotal", "16 kB"),
        ("MemTotal", "MemTotal", None),
        ("", "MemTotal", None),
    ],
)
def test_the_first_line_of_the_name_gives_the_value(text: str, name: str, value: str | None) -> None:
    assert field(text, name) == value
