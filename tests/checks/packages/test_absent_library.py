"""What brings a library that a package lacks: the interpreter, a wheel, a package of the system, a page of builds."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.packages.built_for_another_torch import built_for_another_torch
from gpudoctor.checks.packages.driver_too_old import driver_too_old
from gpudoctor.checks.packages.extension_abi import extension_abi
from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.packages.library_missing import library_missing
from gpudoctor.facts import Extension, Facts, MissingLibrary, PackageImport, UnmetRequirement
from gpudoctor.facts.python import LibraryUser
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import commands, environment, one, package, severity, torch, verifies

LOADER = "cannot open shared object file: No such file or directory"
PIP = "/opt/env/bin/python -m pip"


def lacking(soname: str, name: str = "tensorrt-llm", **python: Any) -> Facts:
    error = f"ImportError: {soname}: {LOADER}"
    imported = PackageImport(package=name, version="0.20.0", module=name.replace("-", "_"), error=error)
    facts = environment(torch("2.7.1"), packages=(package(name, "0.20.0"),))
    for field, value in {"imports": (imported,), "version": "3.10.12", **python}.items():
        facts = change(facts, f"pythons.0.{field}", value)
    return facts


@pytest.mark.parametrize(("cuda", "expected"), [("11.4", "problem"), ("12.2", "pass")])
def test_a_library_of_a_cuda_release_that_the_driver_does_not_run(cuda: str, expected: str) -> None:
    absent = (MissingLibrary(soname="libcublas.so.12", needed_by="libctranslate2.so", opened=True),)
    opens = Extension(package="ctranslate2", version="4.5.0", path="/e/ctranslate2.libs/libct.so", absent=absent)
    facts = environment(packages=(package("ctranslate2", "4.5.0"),))
    facts = change(facts, "pythons.0.extensions", (opens,))
    for field in ("cuda.version", "nvml.cuda_version"):
        facts = change(facts, f"nvidia.{field}", cuda)
    found, message = one(driver_too_old, facts)
    assert found == expected
    if found == "problem":
        assert message.startswith("ctranslate2 4.5.0 is built for CUDA 12; the driver ")
        assert "nvidia-driver" in commands(driver_too_old, facts)
    of_torch = msgspec.structs.replace(opens, package="flash-attn")
    other_build = change(facts, "pythons.0.extensions", (of_torch,))
    assert one(driver_too_old, other_build) == ("pass", ""), "its build for this PyTorch is what helps"


@pytest.mark.parametrize(
    ("base", "typed"),
    [
        ("/usr", "apt-get install libpython3.10"),
        ("/home/u/miniforge3/envs/llm", "export LD_LIBRARY_PATH=/home/u/miniforge3/envs/llm/lib"),
        ("/root/.local/share/uv/python/cpython-3.10.12", "export LD_LIBRARY_PATH=/root/.local/share/uv/python/"),
        ("/root/.pyenv/versions/3.10.12", "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force 3.10.12"),
    ],
)
def test_the_interpreters_own_library(base: str, typed: str) -> None:
    facts = lacking("libpython3.10.so.1.0", base_prefix=base)
    expected = "tensorrt-llm 0.20.0 fails to import: it needs libpython3.10.so.1.0, which is not found."
    assert one(library_missing, facts) == ("problem", expected)
    assert typed in commands(library_missing, facts)
    assert "pip install" not in commands(library_missing, facts)
    problem = run(library_missing, facts)[0].problem
    assert problem is not None
    assert "the interpreter's shared library" in str(problem.cause)


def test_another_pythons_library_is_not_this_interpreters() -> None:
    facts = lacking("libpython3.12.so.1.0", base_prefix="/usr")
    assert "libpython3.12" not in commands(library_missing, facts).replace("provides libpython3.12.so.1.0", "")
    assert f"{PIP} install --upgrade tensorrt-llm" in commands(library_missing, facts)


def of_opencv(soname: str, user: str = "opencv-python", **python: Any) -> Facts:
    error, path = f"ImportError: {soname}: {LOADER}", "/opt/env/opencv_python.libs/libQt5Gui.so.5"
    other = LibraryUser(package=user, version="4.8.0.76", path=path)
    failed = PackageImport(
        package="ultralytics", version="8.3.100", module="ultralytics", error=error, dependent=True, user=other
    )
    return change(lacking(soname, **python), "pythons.0.imports", (failed,))


OVER = f"{PIP} install --no-deps opencv-python-headless==4.8.0.76"


def test_the_package_that_needs_it_is_named_and_not_the_one_that_imports_it() -> None:
    facts = of_opencv("libGL.so.1")
    said = "ultralytics 8.3.100 fails to import: opencv-python 4.8.0.76 needs libGL.so.1, which is not found."
    assert one(library_missing, facts) == ("problem", said)
    assert run(library_missing, facts)[0].problem.evidence[1] == (  # type: ignore[union-attr]
        "/opt/env/opencv_python.libs/libQt5Gui.so.5 needs libGL.so.1"
    )
    lines = commands(library_missing, facts).splitlines()
    assert lines.index("sudo apt-get install libgl1") < lines.index(OVER)


@pytest.mark.parametrize(
    ("soname", "user", "typed"),
    [
        ("libGL.so.1", "opencv-contrib-python", "opencv-contrib-python-headless==4.8.0.76"),
        ("libgthread-2.0.so.0", "opencv-python", "opencv-python-headless==4.8.0.76"),
        ("libz.so.1", "opencv-python", None),  # the headless one needs it, too
        ("libGL.so.1", "open3d", None),
    ],
)
def test_the_build_without_a_desktop(soname: str, user: str, typed: str | None) -> None:
    lines = [line for line in commands(library_missing, of_opencv(soname, user)).splitlines() if "headless=" in line]
    assert lines == ([f"{PIP} install --no-deps {typed}"] if typed else [])


def test_it_is_installed_again_where_the_other_one_lies_over_it() -> None:
    both = change(of_opencv("libGL.so.1"), "pythons.0.packages", (package("opencv-python-headless", "4.8.0.76"),))
    assert OVER.replace("--no-deps", "--force-reinstall --no-deps") in commands(library_missing, both)


@pytest.mark.parametrize(("soname", "name"), [("libmpi.so.40", "libopenmpi-dev"), ("libmpi.so.12", "libmpich12")])
def test_mpi_is_the_systems(soname: str, name: str) -> None:
    assert f"apt-get install {name}" in commands(library_missing, lacking(soname))


def test_a_wheel_that_it_requires_is_installed_and_nothing_upgraded() -> None:
    unmet = UnmetRequirement(package="paddlepaddle-gpu", version="3.2.0", requires="nvidia-cudnn-cu12==9.5.1.17")
    typed = commands(library_missing, lacking("libcudnn.so.9", "paddlepaddle-gpu", unmet=(unmet,)))
    assert f"{PIP} install nvidia-cudnn-cu12==9.5.1.17" in typed
    assert "which paddlepaddle-gpu requires and which is not installed" in typed
    assert "--upgrade" not in typed


@pytest.mark.parametrize(
    ("requires", "found"),
    [("nvidia-cublas-cu12==12.6.4.1", None), ("nvidia-cudnn-cu12==9.5.1.17", "9.1.0.70")],
)
def test_what_is_there_or_brings_another_library_is_not_named(requires: str, found: str | None) -> None:
    unmet = UnmetRequirement(package="paddlepaddle-gpu", version="3.2.0", requires=requires, found=found)
    typed = commands(library_missing, lacking("libcudnn.so.9", "paddlepaddle-gpu", unmet=(unmet,)))
    assert requires not in typed
    assert "nvidia-cudnn-cu12==9.*" in typed


@pytest.mark.parametrize(
    ("version", "cuda", "typed"),
    [
        (
            "2.4.0+cu124",
            "12.4",
            "install --upgrade --find-links https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html dgl",
        ),
        ("2.3.1+cu121", "12.1", "https://download.pytorch.org/whl/cu121 torch==2.3.0"),
        ("2.5.1+cu121", "12.1", "install torch==2.2.1"),  # no page
    ],
)
def test_dgl_has_wheels_of_its_own(version: str, cuda: str, typed: str) -> None:
    pypi = package("dgl", "2.1.0", libraries=("libdgl.so", "libgraphbolt_pytorch_2.2.1.so"))
    facts = environment(torch(version, cuda=cuda), packages=(pypi,), version="3.11.7")
    lines = commands(built_for_another_torch, facts).splitlines()
    assert typed in "\n".join(lines[:3])
    assert ("data.dgl.ai" in "\n".join(lines)) is (version < "2.5")


@pytest.mark.parametrize(("nvcc", "first"), [(None, True), ("12.6", False), (Unknown("closed"), False)])
def test_a_ready_made_wheel_needs_no_nvcc(nvcc: object, first: bool) -> None:
    lacks = Extension(package="mamba-ssm", version="2.2.5", path="/x/_C.so", missing=("libcudart.so.11.0",))
    facts = environment(torch(), packages=(package("mamba-ssm", "2.2.5"),), extensions=(lacks,))
    typed = commands(extension_abi, change(facts, "toolkits.home.nvcc", nvcc))
    options = "--force-reinstall --no-deps --no-build-isolation --no-cache-dir --no-binary mamba-ssm mamba-ssm==2.2.5"
    assert (f"MAMBA_SKIP_CUDA_BUILD=TRUE {PIP} install {options}" in typed) is first
    assert f"\n{PIP} install {options}" in typed


def test_torchcodec_loads_ffmpeg_only_when_it_is_used() -> None:
    error = f"RuntimeError: Could not load libtorchcodec. Likely causes:\nOSError: libavutil.so.61: {LOADER}"
    failed = PackageImport(package="torchcodec", version="0.17.0", module="torchcodec", error=error, later=True)
    facts = change(lacking("libavutil.so.61", "torchcodec"), "pythons.0.imports", (failed,))
    said = "torchcodec 0.17.0 opens libavutil.so.61 (FFmpeg 9), which is not found."
    assert one(library_missing, facts) == ("problem", said)
    assert severity(library_missing, facts) == "warn"  # it decodes images without
    assert verifies(library_missing, facts) == [
        "/opt/env/bin/python -c 'import torchcodec; torchcodec._internally_replaced_utils.load_core_libraries()'"
    ]
    expected = "torchcodec 0.17.0 is imported, but its libraries do not load: RuntimeError: Could not load"
    assert one(import_fails, facts)[1].startswith(expected)
    assert severity(import_fails, facts) == "warn"
