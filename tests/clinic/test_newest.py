"""What `gpudoctor setup` chooses is installed as it stands, and finds the GPU: so no table leads to a broken wheel."""

import sys
from pathlib import Path

import pytest

from gpudoctor.setup.choice import choose
from gpudoctor.setup.plan import TargetPlatform
from tests.clinic.kit import TABLE, Environment, Shell, copy, make
from tests.standins import needs_gcc

pytestmark = [pytest.mark.realenv, pytest.mark.nightly, pytest.mark.timeout(2400), needs_gcc]

# The stand-in does not start JAX 0.12 and later: its plugin and what that opens have to load.
LOADS = """
import ctypes, glob, importlib, jax_plugins
(path,) = [p for place in jax_plugins.__path__ for p in glob.glob(place + "/xla_cuda*/xla_cuda_plugin.so")]
importlib.import_module("jax_plugins." + path.split("/")[-2])._load_nvidia_libraries()
ctypes.CDLL(path)
import jax
"""
PROGRAMS = {name: TABLE.program[name] for name in ("torch", "tensorflow", "cupy", "onnxruntime")} | {"jax": LOADS}
HOSTS = {"rtx-4090": "12.8", "rtx-4090-new": "13.0"}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("framework", PROGRAMS)
def test_what_setup_chooses_works(framework: str, host: str, folder: Path, driver: Path, tmp_path: Path) -> None:
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    ground = TargetPlatform(kernel="Linux", architecture="x86_64", glibc="2.36", vendor="nvidia", capabilities=("8.9",))
    (wheel,) = choose(ground, [framework], HOSTS[host], [minor]).wheels
    options = ("--index-url", wheel.index) if wheel.index else ()
    place = folder / f"clinic-newest-{framework}-{host}"
    make(place, Environment(requirements=(*options, wheel.requirement, "numpy")))
    project = tmp_path / "project"
    project.mkdir()
    copy(place, project / "env")
    runs, words = Shell(project, driver, TABLE.host[host]).runs(PROGRAMS[framework])
    assert runs, (wheel.requirement, words)
