"""A module that several distributions write, where removing one took it from the others."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.checks.python.half_removed import half_removed
from gpudoctor.facts import PackageImport, Remnant
from gpudoctor.report.build import build
from tests.checks.environments import SITE, commands, environment, one, package, severity, torch

PYTHON = "/opt/env/bin/python"


@pytest.mark.parametrize(
    ("path", "users", "level", "end", "typed"),
    [
        (f"{SITE}/cv2", ("ultralytics",), "fail", " ultralytics requires it.", [f"rm -r {SITE}/cv2"]),
        (f"{SITE}/cv2", ("ultralytics", "vllm"), "fail", " ultralytics and vllm require it.", [f"rm -r {SITE}/cv2"]),
        (f"{SITE}/opencv_python-5.0.0.93.dist-info", (), "warn", "cv2/__init__.py is missing.", []),
    ],
)
def test_a_module_that_several_distributions_write(
    path: str, users: tuple[str, ...], level: str, end: str, typed: list[str]
) -> None:
    gone = Remnant(
        module="cv2", path=path, reason="no module", package="opencv-python", version="5.0.0.93", needed_by=users
    )
    facts = environment(torch(), packages=(package("opencv-python", "5.0.0.93"),), remnants=(gone,))
    verdict, message = one(half_removed, facts)
    assert verdict == "problem"
    assert message.startswith("opencv-python 5.0.0.93 is installed, but its module cv2 is not: cv2/__init__.py is")
    assert message.endswith(end)
    assert severity(half_removed, facts) == level
    lines = commands(half_removed, facts).splitlines()
    again = f"{PYTHON} -m pip install --no-deps --ignore-installed opencv-python==5.0.0.93"
    said = "Reinstall opencv-python 5.0.0.93" + (", and remove the leftovers." if typed else ".")
    assert lines[: 2 + len(typed)] == [said, *typed, again]


def test_what_lacks_the_shared_module_is_its_effect() -> None:
    gone = Remnant(
        module="cv2",
        path=f"{SITE}/cv2",
        reason="no __init__.py",
        package="opencv-python",
        version="5",
        needed_by=("u",),
    )
    ids = ("python.half-removed", "packages.import-fails")
    said = "AttributeError: module '{}' has no attribute 'imshow'"
    for module, roots_expected in (("cv2", 1), ("matplotlib", 2)):
        failed = PackageImport(package="v", version="1", module="v", error=said.format(module), dependent=True)
        facts = environment(torch(), remnants=(gone,), imports=(failed,))
        assert len(build(facts, judge(facts, catalogue.load(ids))).findings) == roots_expected
