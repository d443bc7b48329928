"""Whose library needs what the loader did not find."""

from pathlib import Path

import pytest

from gpudoctor.probes.python import library_users
from gpudoctor.probes.python.packages import DirectoryNames, entries, find
from tests.parsers.elves import library
from tests.probes.environments import distribution, machine

QT = "opencv_python.libs/libQt5Gui.so.5"


@pytest.mark.parametrize(
    ("needs", "requires", "blamed", "expected"),
    [
        ({QT: "libGL.so.1"}, ("opencv-python>=4.6",), None, ("opencv-python", QT)),
        ({QT: "libGL.so.1"}, (), "cv2", ("opencv-python", QT)),  # the traceback names it
        ({QT: "libGL.so.1"}, (), None, None),
        ({QT: "libGL.so.1"}, ("opencv-python; extra == 'video'",), "torch", None),
        ({QT: "libGL.so.1", "detector/ext.so": "libGL.so.1"}, ("opencv-python",), "cv2", None),  # its own
        ({QT: "libX11.so.6"}, ("opencv-python",), "cv2", None),
        ({QT: "libGL.so.1", "viewer/v.so": "libGL.so.1"}, ("opencv-python",), "viewer", ("viewer", "viewer/v.so")),
    ],
)
def test_whose_library_it_is(
    tmp_path: Path,
    needs: dict[str, str],
    requires: tuple[str, ...],
    blamed: str | None,
    expected: tuple[str, str] | None,
) -> None:
    distribution(tmp_path, "opencv-python", "4.8.0.76", ("cv2/__init__.py", QT))
    distribution(tmp_path, "viewer", "1.0", ("viewer/__init__.py", "viewer/v.so"))
    distribution(tmp_path, "sgl-kernel", "1.0", ("detector/__init__.py", "detector/ext.so"), requires)
    for path, soname in needs.items():
        (tmp_path / path).write_bytes(library(needed=(soname,)))
    here = machine()
    names = DirectoryNames(here)
    found = find(here, entries(here, [str(tmp_path)], "", None, [str(tmp_path)]), names)
    failing = next(one for one in found if one.package.name == "sgl-kernel")
    user = library_users.find(here, failing, "libGL.so.1", blamed)
    assert (user and (user.package, user.path)) == (expected and (expected[0], f"{tmp_path}/{expected[1]}"))
