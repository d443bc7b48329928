"""A distribution of OpenCV whose library is another one's."""

from gpudoctor.checks.packages.modules_overwritten import modules_overwritten
from gpudoctor.facts import Overwritten
from tests.checks.environments import commands, environment, one, package, torch


def test_both_are_named_and_the_fuller_one_is_installed_once_more() -> None:
    lost = Overwritten(package="opencv-contrib-python", by="opencv-python-headless", file="cv2/cv2.abi3.so")
    both = (package("opencv-contrib-python", "4.10.0.84"), package("opencv-python-headless", "4.11.0.86"))
    facts = environment(torch(), packages=both, overwritten=(lost,))
    assert one(modules_overwritten, facts) == (
        "problem",
        "opencv-python-headless 4.11.0.86 has overwritten cv2/cv2.abi3.so of opencv-contrib-python 4.10.0.84: "
        "cv2.ximgproc, cv2.face, cv2.xfeatures2d and others are missing.",
    )
    typed = commands(modules_overwritten, facts)
    assert "install --force-reinstall --no-deps opencv-contrib-python==4.10.0.84" in typed
    assert one(modules_overwritten, environment(torch(), packages=both)) == ("pass", "")
