"""The PyTorch build that we advise is one that uv takes by itself for the same driver."""

import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from gpudoctor.knowledge.drivers import drivers
from gpudoctor.knowledge.torch import torch, wheel_for

pytestmark = pytest.mark.realenv

# The capability decides nothing for uv, which looks at the driver alone: an Ampere GPU has code in every wheel.
CAPABILITY = "8.6"
# A release of each branch, so that uv takes it for one.
RELEASES = {470: "470.256.02", 525: "525.147.05", 535: "535.183.01", 550: "550.54.15", 560: "560.35.03"}
RELEASES |= {570: "570.169", 575: "575.57.08", 580: "580.95.05", 590: "590.44.01"}


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with uv from the package index."""
    folder, own = tmp_path_factory.mktemp("uv"), Path(sys.executable).with_name("uv")
    venv.create(folder)
    install: list[str | Path] = [own, "pip", "install", "-q", "--python", folder / "bin/python", "uv"]
    if subprocess.run(install, capture_output=True, timeout=300).returncode:
        pytest.skip("uv cannot be installed here")
    return folder / "bin/uv"


def indexes(uv: Path, driver: str) -> list[str]:
    """The builds that uv looks at for a driver; whether their index can be reached plays no part."""
    command = [str(uv), "pip", "install", "--dry-run", "-v", "--no-cache", "--torch-backend=auto", "torch"]
    environment = {"UV_CUDA_DRIVER_VERSION": driver, "PATH": "/usr/bin:/bin", "UV_HTTP_TIMEOUT": "5"}
    place = ["--python", sys.executable]
    done = subprocess.run([*command, *place], capture_output=True, text=True, env=environment, timeout=240)
    return list(dict.fromkeys(re.findall(r"download\.pytorch\.org/whl/(cu\d+)/torch/", done.stderr)))


@pytest.mark.parametrize("branch", RELEASES)
def test_uv_takes_this_build_for_this_driver_too(uv: Path, branch: int) -> None:
    cuda = drivers().branch[branch][0]
    ours, theirs = wheel_for(CAPABILITY, cuda), indexes(uv, RELEASES[branch])
    assert theirs
    assert ours is not None
    assert ours.variant in theirs
    known = {variant for release in torch().release for variant in release.wheels}
    # By number: uv asks several indexes at a time, and a slow answer changes the order of its lines.
    newest = max(
        (variant for variant in theirs if variant in known), key=lambda variant: int(variant.removeprefix("cu"))
    )
    assert newest.removeprefix("cu")[:2] == ours.variant.removeprefix("cu")[:2]  # the same CUDA major
