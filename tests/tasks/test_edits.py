"""What an edit makes of a file, and of which files it keeps its hands."""

import pytest

from gpudoctor.fixes.python import uv_index
from gpudoctor.tasks import Edit, FileSection
from gpudoctor.tasks.edits import EditError, edited

UV = uv_index("/p", "pytorch-cu126", "https://x/cu126", ("torch",))
BLOCK = """[[tool.uv.index]]
name = "pytorch-cu126"
url = "https://x/cu126"
explicit = true
"""


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (Edit("/f", text="a\n"), None, "a\n"),
        (Edit("/f", text="a\n"), "b\n", "a\n"),
        (Edit("/f", gone=True), "b\n", None),
        (Edit("/f", add=("a", "b")), None, "a\nb\n"),
        (Edit("/f", add=("a", "b")), "b\nc", "b\nc\na\n"),  # the last line had no end
        (Edit("/f", word=("G", "w=1")), 'A=1\nG="quiet"\n', 'A=1\nG="quiet w=1"\n'),
        (Edit("/f", word=("G", "w=1")), 'G=""\n', 'G="w=1"\n'),
        (Edit("/f", word=("G", "w=1")), 'G="a w=1 b"\n', 'G="a w=1 b"\n'),
        (Edit("/f", sections=(FileSection("[g]", ("a=1",)),)), None, "[g]\na=1\n"),
        (
            Edit("/f", sections=(FileSection("[g]", ("a=1",)),)),
            "[g]\na = 0\nb=2\n[h]\na=3\n",
            "[g]\na=1\nb=2\n[h]\na=3\n",
        ),
        (Edit("/f", sections=(FileSection("[g]", ("a=1",)),)), "[g]\nb=2\n\n[h]\n", "[g]\nb=2\na=1\n\n[h]\n"),
        (UV, None, f'{BLOCK}\n[tool.uv.sources]\ntorch = {{ index = "pytorch-cu126" }}\n'),
        (
            UV,
            '[tool.uv.sources]\ntorch = { index = "cpu" }\nx = { path = "y" }\n',
            f'[tool.uv.sources]\ntorch = {{ index = "pytorch-cu126" }}\nx = {{ path = "y" }}\n\n{BLOCK}',
        ),
    ],
)
def test_the_file_afterwards(edit: Edit, before: str | None, after: str | None) -> None:
    assert edited(edit, before) == after
    if not edit.gone and after is not None:
        assert edited(edit, after) == after  # a second time nothing changes


@pytest.mark.parametrize(
    ("edit", "before"),
    [
        (Edit("/f", word=("G", "w=1")), "G=quiet\n"),
        (UV, "[tool.uv]\nsources = { torch = { index = 'cpu' } }\n"),
        (UV, "[tool.uv.sources.torch]\nindex = 'cpu'\n"),
        (UV, "no toml at all\n"),
    ],
)
def test_what_is_written_in_another_way_is_left_to_a_person(edit: Edit, before: str) -> None:
    with pytest.raises(EditError, match="by hand"):
        edited(edit, before)
