"""A file is read only where nobody but this user and root could have written it."""

import os
import stat
import struct
from pathlib import Path

import pytest

from gpudoctor.expect import ExpectFileError, file_permissions
from gpudoctor.expect.file_permissions import LIMIT, distrusted, folders, read

ME = os.geteuid()


def entry(mode: int, uid: int = ME, gid: int = 4711) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, uid, gid, 0, 0, 0, 0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "e.toml"
    path.write_text("text")
    path.chmod(0o644)
    return path


def test_a_file_of_ours(file: Path) -> None:
    assert read(str(file)) == "text"


@pytest.mark.parametrize(
    ("mode", "uid", "why"),
    [
        (stat.S_IFREG | 0o644, ME, ""),
        (stat.S_IFREG | 0o600, 0, ""),
        (stat.S_IFREG | 0o644, 54321, "belongs to another user"),
        (stat.S_IFREG | 0o646, ME, "others can write to it (mode 0646)"),
        (stat.S_IFREG | 0o664, ME, "others can write to it (mode 0664)"),
        (stat.S_IFREG | stat.S_ISVTX | 0o666, ME, "others can write to it"),
        (stat.S_IFDIR | 0o755, ME, ""),
        (stat.S_IFDIR | 0o777, ME, "others can write to it"),
        (stat.S_IFDIR | stat.S_ISVTX | 0o777, 0, ""),
        (stat.S_IFDIR | stat.S_ISVTX | 0o777, 54321, "belongs to another user"),
    ],
)
def test_whom_an_entry_is_open_to(mode: int, uid: int, why: str) -> None:
    found = distrusted(entry(mode, uid))
    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(
    ("passwd", "group", "trusted"),
    [
        ([f"me:x:{ME}:4711"], ["me:x:4711:"], True),
        ([f"me:x:{ME}:4711"], ["me:x:4711:me"], True),
        ([f"me:x:{ME}:4711"], ["me:x:4711:me,jane"], False),
        ([f"me:x:{ME}:4711", "jane:x:54321:4711"], ["me:x:4711:"], False),
        ([f"me:x:{ME}:100"], ["users:x:4711:me"], False),
        ([f"me:x:{ME}:4711"], [], False),
        ([], ["me:x:4711:"], False),
    ],
)
def test_a_group_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, passwd: list[str], group: list[str], trusted: bool
) -> None:
    files = {"/etc/passwd": passwd, "/etc/group": group}
    monkeypatch.setattr(file_permissions, "_rows", lambda path: [line.split(":") for line in files[path]])
    assert (distrusted(entry(stat.S_IFREG | 0o664)) == "") is trusted


def _entries(*entries: tuple[int, int, int]) -> bytes:
    """An access control list as the kernel keeps it: version 2, then tag, permissions and number of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)


@pytest.mark.parametrize(("permissions", "open_to_them"), [(6, True), (4, False)])
def test_who_may_write_by_an_access_control_list(file: Path, permissions: int, open_to_them: bool) -> None:
    nobody = 0xFFFFFFFF
    them = (1, 6, nobody), (2, permissions, 1234), (4, 4, nobody), (16, permissions, nobody), (32, 4, nobody)
    try:
        os.setxattr(file, "system.posix_acl_access", _entries(*them))
    except OSError:
        pytest.skip("this file system has no access control lists")
    if open_to_them:
        with pytest.raises(ExpectFileError, match="others can write to it"):
            read(str(file))
    else:
        assert read(str(file)) == "text"


def test_the_sentence_says_what_closes_it(file: Path) -> None:
    file.chmod(0o666)
    with pytest.raises(ExpectFileError) as caught:
        read(str(file))
    message = f"{file} is not used, because others can write to it (mode 0666). Fix: `chmod go-w {file}`."
    assert str(caught.value) == message


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_that_others_may_write_to(tmp_path: Path, file: Path, link: bool) -> None:
    open_ = tmp_path / "open"
    (open_ / "inner").mkdir(parents=True)
    path = open_ / "inner/e.toml"
    if link:
        path.symlink_to(file)
    else:
        path.write_text("text")
    path.chmod(0o644)
    assert read(str(path)) == "text"
    open_.chmod(0o777)
    with pytest.raises(ExpectFileError, match=f"because others can replace it in its directory {open_}"):
        read(str(path))


def test_folders_of_a_link_and_of_what_it_leads_to(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b/e.toml").write_text("")
    (tmp_path / "a/e.toml").symlink_to("../b/e.toml")
    found = folders(str(tmp_path / "a/e.toml"))
    assert {str(tmp_path / "a"), str(tmp_path / "b"), "/"} <= set(found)


def test_what_is_no_file_does_not_hold_us_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "pipe", "is not a file."),
        (tmp_path, "cannot be read"),
        (Path("/dev/zero"), "not a file"),
    ):
        with pytest.raises(ExpectFileError, match=message):
            read(str(path))
    with pytest.raises(ExpectFileError, match="cannot be read: No such file or directory"):
        read(str(tmp_path / "none"))


def test_a_file_that_is_too_large_or_no_text(file: Path) -> None:
    file.write_bytes(b"#" * LIMIT)
    assert len(read(str(file))) == LIMIT
    file.write_bytes(b"#" * (LIMIT + 1))
    with pytest.raises(ExpectFileError, match="is larger than 256 KiB"):
        read(str(file))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ExpectFileError, match="is not valid UTF-8"):
        read(str(file))
