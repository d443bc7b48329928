"""Packages that compute on GPUs are imported, each in a child, and the caches of their kernels are read."""

import itertools
import os
import sys
from pathlib import Path

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Framework, PackageImport, Python, UnmetRequirement
from gpudoctor.maybe import Unknown, known
from gpudoctor.probes.python import imports, jit_caches
from gpudoctor.probes.python.gpu_packages import declaring, gpu_packages, modules_of
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, entries, find
from tests.builders import live
from tests.parsers.elves import library
from tests.probes.environments import distribution, machine

ASKED = PackageImport(package="vllm", version="1.0", module="vllm")


def found_in(site: Path, **env: str) -> tuple[FoundDistribution, ...]:
    here = machine(**env)
    names = DirectoryNames(here)
    return gpu_packages(here, find(here, entries(here, [str(site)], "", None, [str(site)]), names), names)


def lay(site: Path, name: str, *files: str, requires: tuple[str, ...] = (), code: str = "") -> None:
    module = name.replace("-", "_")
    distribution(site, name, "1.0", (f"{module}/__init__.py", *files))
    (site / f"{module}/__init__.py").write_text(code)
    metadata = next(site.glob(f"{module}-1.0.dist-info")) / "METADATA"
    metadata.write_text(f"Name: {name}\nVersion: 1.0\n" + "".join(f"Requires-Dist: {r}\n" for r in requires))


def test_packages_that_no_table_names_count_where_they_are_compiled_against_a_framework(tmp_path: Path) -> None:
    lay(tmp_path, "ctranslate2")
    lay(tmp_path, "triton")
    lay(tmp_path, "ktransformers", "ktransformers/ext.so", requires=("torch (>=2)",))
    lay(tmp_path, "openequivariance", "openequivariance/kernel.cu", requires=("torch>=2", "ninja"))
    lay(tmp_path, "torchmetricsx", requires=("torch",))
    lay(tmp_path, "optional", "optional/ext.so", requires=("torch; extra == 'gpu'",))
    lay(tmp_path, "plain", "plain/ext.so", requires=("torch-geometric",))
    found = found_in(tmp_path)
    assert [one.package.name for one in found] == ["ctranslate2", "ktransformers", "openequivariance"]
    assert [modules_of(one) for one in found] == [("ctranslate2",), ("ktransformers",), ("openequivariance",)]


@pytest.mark.parametrize(
    ("name", "file", "head", "counts"),
    [
        ("fbgemm-gpu", "config.so", "Requires-Dist: numpy\n", True),
        ("cumm-cu126", "core_cc.so", "", True),
        ("torch-points-kernels", "points.so", "", True),
        ("open3d", "pybind.so", "Classifier: Environment :: GPU :: NVIDIA CUDA\n", True),
        ("kernels", "ops.so", "Keywords: deep learning,PyTorch,CUDA\n", True),
        ("gpu-names", "names.py", "Keywords: CUDA\n", False),  # nothing compiled
        ("scientific", "fast.so", "Keywords: science\n\nKeywords: CUDA, which the description speaks of\n", False),
        ("gpujoke", "fast.so", "", False),
        ("recurrent", "fast.so", "", False),
    ],
)
def test_packages_that_are_for_gpus_by_name_or_description(
    tmp_path: Path, name: str, file: str, head: str, counts: bool
) -> None:
    """Where the user is to choose the build of PyTorch, the metadata requires none."""
    module = name.replace("-", "_")
    lay(tmp_path, name, f"{module}/{file}")
    (tmp_path / f"{module}-1.0.dist-info/METADATA").write_text(f"Name: {name}\nVersion: 1.0\n{head}")
    assert [one.package.name for one in found_in(tmp_path)] == [name] * counts


def test_each_is_imported_in_a_child(tmp_path: Path) -> None:
    lay(tmp_path, "ctranslate2", code="raise OSError('libcublas.so.12: cannot open shared object file')")
    lay(tmp_path, "bitsandbytes", code="import sys; print('careful', file=sys.stderr)")
    lay(tmp_path, "flash-attn", requires=("torch",))
    broken = Framework(name="torch", live=live(0, import_error="ImportError: x"))
    python = Python(path=sys.executable, frameworks=(broken,))
    here = machine(PYTHONPATH=str(tmp_path), PATH=os.environ["PATH"], HOME=str(tmp_path))
    answer = imports.probe(here, python, found_in(tmp_path))
    assert not isinstance(answer, Unknown)
    said = {one.package: one for one in answer}
    assert said["ctranslate2"].error == "OSError: libcublas.so.12: cannot open shared object file"
    assert said["bitsandbytes"].error is None
    assert said["bitsandbytes"].stderr == "careful"
    assert said["flash-attn"].error == Unknown("it needs torch, which does not import")


def dependents_in(site: Path) -> tuple[FoundDistribution, ...]:
    here = machine()
    names = DirectoryNames(here)
    return declaring(here, find(here, entries(here, [str(site)], "", None, [str(site)]), names), names)


def test_who_runs_on_a_framework_and_does_not_say_so_is_imported_too(tmp_path: Path) -> None:
    lay(tmp_path, "diffusers")
    lay(tmp_path, "transformers", "transformers/kernel.cu", requires=("torch; extra == 'torch'",))
    lay(tmp_path, "torchtnt", requires=("torch",))  # a name like PyTorch's own
    lay(tmp_path, "nvidia-cublas-cu12", requires=("torch",))
    lay(tmp_path, "other")
    assert [one.package.name for one in dependents_in(tmp_path)] == ["torchtnt", "diffusers", "transformers"]


def test_a_package_in_a_namespace_of_its_own_name(tmp_path: Path) -> None:
    distribution(tmp_path, "pyannote-audio", "3.4.0", ("pyannote/audio/__init__.py",))
    (tmp_path / "pyannote/audio/__init__.py").write_text(
        "raise AttributeError(\"module 'torchaudio' has no attribute 'x'\")"
    )
    metadata = next(tmp_path.glob("pyannote*.dist-info")) / "METADATA"
    metadata.write_text("Name: pyannote.audio\nVersion: 3.4.0\nRequires-Dist: torch\nRequires-Dist: torchaudio\n")
    here = machine(PYTHONPATH=str(tmp_path), PATH=os.environ["PATH"], HOME=str(tmp_path))
    (one,) = imports.probe(here, Python(path=sys.executable), (), dependents_in(tmp_path))  # type: ignore[misc]
    assert (one.module, one.dependent) == ("pyannote.audio", True)


def test_what_only_requires_a_gpu_package_is_imported_after_the_others(tmp_path: Path) -> None:
    lay(tmp_path, "aplain", requires=("torch>=2",))
    lay(
        tmp_path,
        "spikes",
        requires=("numpy", "cuda-python"),
        code="raise ImportError(\"cannot import name 'cuda' from 'cuda' (x)\")",
    )
    lay(tmp_path, "display", requires=("triton",), code="raise RuntimeError('no display')")
    lay(tmp_path, "optional", requires=("torch; extra == 'gpu'",))
    found = dependents_in(tmp_path)
    assert [one.package.name for one in found] == ["spikes", "display", "aplain"]
    here = machine(PYTHONPATH=str(tmp_path), PATH=os.environ["PATH"], HOME=str(tmp_path))
    answer = imports.probe(here, Python(path=sys.executable), (), found)
    assert not isinstance(answer, Unknown)
    said = {one.package: one for one in answer}
    assert said["spikes"].error == "ImportError: cannot import name 'cuda' from 'cuda' (x)"
    assert said["display"].error == Unknown("its import needs something else: RuntimeError: no display")
    assert said["aplain"].error is None
    assert all(one.dependent for one in answer)


def test_no_more_than_some_are_imported_and_the_rest_is_said(tmp_path: Path) -> None:
    for number in range(imports.MOST_DEPENDENTS + 2):
        lay(tmp_path, f"needs{number}", requires=("torch",))
    here = machine(PYTHONPATH=str(tmp_path), PATH=os.environ["PATH"], HOME=str(tmp_path))
    answer = imports.probe(here, Python(path=sys.executable), (), dependents_in(tmp_path))
    assert not isinstance(answer, Unknown)
    left = [one.package for one in answer if one.error == Unknown("more packages than one run imports")]
    assert left == [f"needs{imports.MOST_DEPENDENTS}", f"needs{imports.MOST_DEPENDENTS + 1}"]


def test_after_the_time_for_all_of_them_none_is_begun_and_those_most_likely_broken_came_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker, so that they run in turn; when the second is to begin, the time is over."""
    lay(tmp_path, "acompiled", "acompiled/ext.so", requires=("torch",))
    lay(tmp_path, "bitsandbytes")
    lay(tmp_path, "vllm")
    lay(tmp_path, "later", requires=("torch",))
    clock = itertools.chain([0.0, imports.BUDGET / 2], itertools.repeat(imports.BUDGET))
    monkeypatch.setattr(imports, "monotonic", lambda: next(clock))
    monkeypatch.setattr(imports, "_cores", lambda: 1)
    here = machine(PYTHONPATH=str(tmp_path), PATH=os.environ["PATH"], HOME=str(tmp_path))
    unmet = UnmetRequirement(package="vllm", version="1.0", requires="torch==2.6.0")
    python = Python(path=sys.executable, unmet=(unmet,))
    answer = imports.probe(here, python, found_in(tmp_path), dependents_in(tmp_path))
    assert not isinstance(answer, Unknown)
    assert [one.package for one in answer] == ["vllm", "bitsandbytes", "acompiled", "later"]
    late = Unknown("not imported: the imports before it took 30 s")
    assert [one.error for one in answer] == [None, late, late, late]
    assert [one.dependent for one in answer] == [False, False, False, True]


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        ("ModuleNotFoundError: No module named 'cuda.cudart'", True),
        ("ModuleNotFoundError: No module named 'cuda'", True),  # it is required
        ("ModuleNotFoundError: No module named 'gradio'", False),  # an optional part
        ("ModuleNotFoundError: No module named 'spikes.extra'", False),
        ("ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler'", True),
        ("AttributeError: module 'triton' has no attribute 'ops'", True),
        # Python says so only of a module that is there, whether it is required or not.
        ("AttributeError: module 'torch' has no attribute 'xpu'", True),
        ("ImportError: cannot import name 'x' from 'gradio.components' (/x/gradio/components.py)", True),
        ("ImportError: cannot import name 'x' from 'spikes.own' (/x/spikes/own.py)", False),
        ("AttributeError: triton.ops was deprecated in Triton v2.5 and removed in Triton v3.0.", True),
        ("AttributeError: 'NoneType' object has no attribute 'x'", False),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", True),
        ("KeyError: 'OPENAI_API_KEY'", False),
        ("ModuleNotFoundError: No module named 'pkg_resources'", True),  # which setuptools dropped
        ("ImportError: Spikes needs Triton 3.3 or less. Got Triton 3.4.", True),
        ("ImportError: please run the installer of spikes 2", False),
        ("SystemExit: 2", False),
    ],
)
def test_which_errors_are_about_others(tmp_path: Path, error: str, counts: bool) -> None:
    lay(tmp_path, "spikes", requires=("triton>=3", "cuda-python", "gradio; extra == 'ui'"))
    (found,) = dependents_in(tmp_path)
    said = imports.about_others(PackageImport(package="spikes", version="1.0", module="spikes", error=error), found)
    assert isinstance(said.error, str) == counts


@pytest.mark.parametrize(
    ("package", "error", "counts"),
    [
        # What a table says that a package needs unsaid.
        ("retina-face", "ValueError: You have tensorflow 2.21.0 and this requires tf-keras package.", True),
        ("retina-face", "ValueError: no model", False),
        ("trl", "ModuleNotFoundError: No module named 'vllm'", True),
        ("spikes", "ModuleNotFoundError: No module named 'vllm'", False),
    ],
)
def test_errors_of_a_table_count(tmp_path: Path, package: str, error: str, counts: bool) -> None:
    lay(tmp_path, package, requires=("tensorflow", "triton"))
    (found,) = dependents_in(tmp_path)
    said = imports.about_others(PackageImport(package=package, version="1.0", module="x", error=error), found)
    assert isinstance(said.error, str) == counts


@pytest.mark.parametrize(
    ("error", "blamed", "counts"),
    [
        ("AttributeError: 'Config' object has no attribute 'define_bool_state'", "jax", True),
        ("AttributeError: 'Config' object has no attribute 'define_bool_state'", "spikes", False),  # its own
        ("AttributeError: 'Config' object has no attribute 'define_bool_state'", None, False),
        ("TypeError: Descriptors cannot be created directly.", "google", True),
        ("ValueError: no model", "jax", False),
    ],
)
def test_whose_object_lacks_something(tmp_path: Path, error: str, blamed: str | None, counts: bool) -> None:
    lay(tmp_path, "spikes", requires=("triton",))
    (found,) = dependents_in(tmp_path)
    failed = PackageImport(package="spikes", version="1.0", module="spikes", error=error, blamed=blamed)
    assert isinstance(imports.about_others(failed, found).error, str) == counts


@pytest.mark.parametrize(("error", "counts"), [("KeyError: 'x'", True), ("OSError: Network is unreachable", False)])
def test_a_name_that_always_loads_counts(tmp_path: Path, error: str, counts: bool) -> None:
    lay(tmp_path, "trl", requires=("transformers",))
    (found,) = dependents_in(tmp_path)
    failed = PackageImport(package="trl", version="1.0", module="trl", error=error, part="SFTTrainer")
    assert failed.statement == "from trl import SFTTrainer"
    assert isinstance(imports.about_others(failed, found).error, str) == counts


@pytest.mark.parametrize(
    ("module", "requires", "counts"),
    [
        ("imaging", ("pillow-like",), True),  # by the files of what is required
        ("cv2", ("opencv-python>=4.6",), True),  # the table knows it where nothing is installed
        ("cv2", ("opencv-python; extra == 'video'",), False),
        ("imaging", ("other",), False),
        ("imagingtools", ("pillow-like",), False),
        ("langchain.docstore", ("other",), True),  # Python has found the package, and not the module in it
    ],
)
def test_an_error_about_a_module_of_another_name(
    tmp_path: Path, module: str, requires: tuple[str, ...], counts: bool
) -> None:
    distribution(tmp_path, "pillow-like", "1.0", ("imaging/__init__.py",))
    error = f"raise ModuleNotFoundError(\"No module named '{module}'\")"
    lay(tmp_path, "detector", requires=(*requires, "triton"), code=error)
    (said,) = known(
        imports.probe(machine(PYTHONPATH=str(tmp_path)), Python(path=sys.executable), (), dependents_in(tmp_path))
    )
    assert isinstance(said.error, str) == counts


def test_a_driver_that_hangs_is_not_waited_for_again(tmp_path: Path) -> None:
    lay(tmp_path, "ctranslate2")
    here = machine()
    here.driver_hangs = True
    assert isinstance(imports.probe(here, Python(path=sys.executable), found_in(tmp_path)), Unknown)
    assert imports.probe(here, Python(path=sys.executable), ()) == ()


def ended(out: str = "", **changes: object) -> ChildResult:
    plain: dict[str, object] = {"argv": ("python",), "out": out, "err": "", "code": 0, "seconds": 60.0}
    return ChildResult(**(plain | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("child", "hurried", "error", "hung"),
    [
        (ended("gpudoctor:" + '{"imported": true}'), False, None, False),
        (ended("gpudoctor:" + '{"builds": true}'), False, "it compiles an extension when it is imported", False),
        (ended(timed_out=True, code=None), False, "the import did not end", True),
        (ended(timed_out=True, code=None), True, "no response within 60 s, all the time that was left", False),
        (ended(code=3), False, "the process exited with code 3", False),
        (ended("gpudoctor:{"), False, "the process exited with code 0", False),
    ],
)
def test_how_a_child_ended(child: ChildResult, hurried: bool, error: str | None, hung: bool) -> None:
    said = imports.read(ASKED, child, hurried=hurried)
    assert (said.error, said.hung) == (error if error is None else Unknown(error), hung)


def test_the_part_that_fails_is_kept() -> None:
    out = "gpudoctor:" + '{"import_error": "KeyError: 1", "part": "Trainer", "imported": true}'
    said = imports.read(ASKED, ended(out), hurried=False)
    assert (said.error, said.part) == ("KeyError: 1", "Trainer")


def test_kernels_in_caches(tmp_path: Path) -> None:
    site = tmp_path / "site"
    distribution(site, "torch", "2.7.0", ("torch/lib/libtorch_cuda.so",))
    (site / "torch/lib/libtorch_cuda.so").write_bytes(library("libtorch_cuda.so", needed=("libcudart.so.12",)))
    lay(site, "flashinfer-python")
    cache = tmp_path / ".cache"
    for place, runtime in (
        ("flashinfer/1.0/90a/cached_ops/sampling", "libcudart.so.99"),
        ("flashinfer/1.0/90a/cached_ops/norm", "libcudart.so.12"),
        ("flashinfer/0.9.0/90a/cached_ops/old", "libcudart.so.13"),
        ("torch_extensions/py311_cu128/own", "libcudart.so.12"),
        ("torch_extensions/py310_cu121/other", "libcudart.so.11.0"),
    ):
        (cache / place).mkdir(parents=True)
        (cache / place / "kernel.so").write_bytes(library("kernel.so", needed=(runtime,)))
    locked = cache / "torch_extensions/py311_cu128/locked"
    locked.mkdir()
    (locked / "lock").write_text("")
    (locked / "build.ninja").write_text("build own.o: compile /src/own.cpp | dep\nbuild own.so: link own.o\n")
    here = machine(HOME=str(tmp_path))
    names = DirectoryNames(here)
    found = find(here, entries(here, [str(site)], "", None, [str(site)]), names)
    kernels = {k.directory.rpartition("/")[2]: k for k in jit_caches.probe(here, "/none", "3.11.7", found, names)}
    assert set(kernels) == {"locked", "sampling"}
    assert kernels["sampling"].missing == ("libcudart.so.99",)
    assert kernels["locked"].lock == f"{locked}/lock"
    assert kernels["locked"].holder is None
    assert kernels["locked"].sources == ("/src/own.cpp",)
    with (locked / "lock").open():
        (again,) = (k for k in jit_caches.probe(here, "/none", "3.11.7", found, names) if k.lock)
    assert again.holder == os.getpid()


@pytest.mark.parametrize(
    ("code", "file", "found"),
    [
        ("import numkern.interface", "interface.py", True),
        ("import numkern.ops.interface", "interface.py", True),
        ("import numkern.interface", "other.py", False),
        ("import interface_of_nobody", "interface.py", False),
    ],
)
def test_a_module_that_lies_next_to_its_package(tmp_path: Path, code: str, file: str, found: bool) -> None:
    lay(tmp_path, "bitsandbytes", code=code)
    for folder in (tmp_path / "numkern", tmp_path / "numkern/ops"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    (tmp_path / file).touch()
    python = Python(path=sys.executable, sys_path=(str(tmp_path),))
    (one,) = known(imports.probe(machine(PYTHONPATH=str(tmp_path)), python, found_in(tmp_path)))
    assert isinstance(one.error, str)
    assert one.outside == (str(tmp_path / file) if found else None)
