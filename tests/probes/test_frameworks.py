"""What the files of real releases say, laid on a recorded machine."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpudoctor.facts import CondaPackage, Framework, Package, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.frameworks import probe, static
from gpudoctor.probes.frameworks.tensorflow import build_info
from gpudoctor.recorded_machine import RecordedMachine

SITE = "/env/lib/python3.11/site-packages"
USER = "/home/u/.local/lib/python3.11/site-packages"
TORCH = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
git_version = 'cf30153c4c131c8164ee7798e5022d810682e2cb'
hip: Optional[str] = {hip}
xpu: Optional[str] = {xpu}
"""


def package(name: str, version: str, folder: str = SITE, **more: Any) -> Package:
    return Package(name=name, version=version, directory=folder, **more)


def look(
    files: Mapping[str, str | bytes], *packages: Package, paths: tuple[str, ...] = (SITE,), **python: Any
) -> tuple[Framework, ...]:
    environment = Python(path="/env/bin/python", sys_path=paths, packages=packages, **python)
    return static(RecordedMachine(files), environment)


def torch(version: str, cuda: str = "None", hip: str = "None", xpu: str = "None", **more: Any) -> Framework:
    text = TORCH.format(version=version, cuda=cuda, hip=hip, xpu=xpu)
    files = {f"{SITE}/torch/__init__.py": "", f"{SITE}/torch/version.py": text}
    return look(files, package("torch", version, **more))[0]


@pytest.mark.parametrize(
    ("version", "platforms", "expected"),
    [
        ("2.13.0+cpu", {}, (None, None, "cpu")),
        ("2.15.0+cu132", {"cuda": "'13.2'"}, ("13.2", None, "cuda")),
        ("2.9.0+rocm6.4", {"hip": "'6.4.43482-0f2d60242'"}, (None, "6.4.43482-0f2d60242", "rocm")),
        ("2.9.0+xpu", {"xpu": "'20250201'"}, (None, None, "xpu")),
    ],
)
def test_torch_says_what_it_was_built_for(
    version: str, platforms: dict[str, str], expected: tuple[str | None, str | None, str]
) -> None:
    found = torch(version, **platforms)
    assert (found.cuda, found.hip, found.variant) == expected
    assert (found.version, found.distribution, found.location) == (version, "torch", f"{SITE}/torch")


def test_torch_for_the_cpu_has_no_gpu_code() -> None:
    found = torch("2.13.0+cpu")
    assert (found.archs, found.kernels, found.cudnn) == ((), (), None)


@pytest.mark.parametrize(
    ("version", "cuda", "requires", "cudnn"),
    [
        ("2.5.1", "'12.4'", ("nvidia-cudnn-cu12==9.1.0.70; platform_system == 'Linux'",), "9.1.0.70"),
        ("2.15.0+cu132", "'13.2'", ("filelock", "nvidia-cudnn-cu13==9.26.0.51"), "9.26.0.51"),
        ("2.0.1+cu118", "'11.8'", (), "8.7.0.84"),
    ],
)
def test_torch_pins_its_cudnn_or_a_table_knows_it(
    version: str, cuda: str, requires: tuple[str, ...], cudnn: str
) -> None:
    assert torch(version, cuda=cuda, requires=requires).cudnn == cudnn


@pytest.mark.parametrize(
    ("version", "builds", "cuda"),
    [
        ("2.4.0+cu121", None, "12.1"),
        ("2.4.0+cpu", None, None),
        ("2.1.0", (CondaPackage(name="pytorch", version="2.1.0", build="py3.11_cuda12.1_cudnn8.9.2_0"),), "12.1"),
        ("2.1.0", (CondaPackage(name="pytorch", version="2.1.0", build="cuda118_py311h"),), "11.8"),
        ("2.1.0", (CondaPackage(name="pytorch", version="2.1.0", build="cpu_generic_py311"),), None),
        ("2.1.0", None, Unknown(f"{SITE}/torch/version.py: No such file or directory")),
    ],
)
def test_without_version_py_the_local_part_or_condas_build_tells(version: str, builds: Any, cuda: Any) -> None:
    files = {f"{SITE}/torch/__init__.py": ""}
    assert look(files, package("torch", version), conda=builds)[0].cuda == cuda


@pytest.mark.parametrize(("version", "variant"), [("2.5.1+xpu", "xpu"), ("2.5.1+cu124", "cuda"), ("2.5.1", "cpu")])
def test_releases_whose_version_file_has_no_line_for_xpu(version: str, variant: str) -> None:
    cuda = "'12.4'" if variant == "cuda" else "None"
    text = f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\nhip: Optional[str] = None\n"
    files = {f"{SITE}/torch/__init__.py": "", f"{SITE}/torch/version.py": text}
    assert look(files, package("torch", version))[0].variant == variant


def test_the_folder_that_import_takes_decides_and_the_others_are_told() -> None:
    text = TORCH.format(version="2.1.0+cu121", cuda="'12.1'", hip="None", xpu="None")
    files = {f"{USER}/torch/__init__.py": "", f"{USER}/torch/version.py": text, f"{SITE}/torch/__init__.py": ""}
    packages = (package("torch", "2.5.1"), package("torch", "2.1.0+cu121", USER))
    found = look(files, *packages, paths=(USER, SITE))[0]
    assert (found.location, found.version, found.others) == (f"{USER}/torch", "2.1.0+cu121", (("torch", "2.5.1"),))


def test_a_script_in_the_way_is_named_and_not_read() -> None:
    files = {"/code/torch.py": "cuda = '12.4'\n", f"{SITE}/torch/__init__.py": ""}
    found = look(files, package("torch", "2.5.1"), paths=("/code", SITE))[0]
    assert (found.location, found.cuda) == ("/code/torch.py", Unknown("/code/torch.py is not PyTorch"))


def test_a_distribution_without_its_module() -> None:
    found = look({}, package("tensorflow-gpu", "2.12.0"))[0]
    assert (found.name, found.distribution, found.location) == ("tensorflow", "tensorflow-gpu", None)
    assert found.cuda == Unknown("no directory on sys.path contains a module tensorflow")


def test_an_environment_without_frameworks() -> None:
    assert look({f"{SITE}/numpy/__init__.py": ""}, package("numpy", "2.3.4")) == ()
    assert static(RecordedMachine(), Python(path="/env/bin/python")) == ()


PAIRS = "build_info = collections.OrderedDict([('cuda_version', '12.5.1'), ('is_cuda_build', True)])\n"
LITERAL = "build_info = collections.OrderedDict({'cuda_version': '12.5.1', 'is_cuda_build': True})\n"


@pytest.mark.parametrize("text", [PAIRS, LITERAL])
def test_reads_both_spellings_of_build_info(text: str) -> None:
    assert build_info(f"import collections\n\n{text}") == {"cuda_version": "12.5.1", "is_cuda_build": True}


@pytest.mark.parametrize("text", ["", "build_info = dict(x=1)", "build_info = f([1])", "build_info = (", "x = 1"])
def test_broken_build_info_is_empty(text: str) -> None:
    assert build_info(text) == {}


def tensorflow(build: dict[str, Any], version: str = "2.12.1") -> Framework:
    files = {
        f"{SITE}/tensorflow/__init__.py": "",
        f"{SITE}/tensorflow/python/platform/build_info.py": f"build_info = collections.OrderedDict({build!r})\n",
    }
    return look(files, package("tensorflow", version))[0]


def test_tensorflow_says_what_it_was_built_for() -> None:
    build = {
        "is_cuda_build": True,
        "is_rocm_build": False,
        "cuda_version": "11.8",
        "cudnn_version": "8",
        "cuda_compute_capabilities": ["sm_50", "compute_80"],
    }
    found = tensorflow(build)
    assert (found.cuda, found.hip, found.variant, found.archs) == ("11.8", None, "cuda", ("sm_50", "compute_80"))
    assert found.cudnn == "8.6"  # the release's, as build_info has the major alone
    assert tensorflow(build, "2.99.0").cudnn == "8"


def test_tensorflow_for_the_cpu() -> None:
    found = tensorflow({"is_cuda_build": False, "is_rocm_build": False})
    assert (found.cuda, found.hip, found.variant, found.archs, found.cudnn) == (None, None, "cpu", (), None)


@pytest.mark.parametrize(
    ("name", "wheel", "cuda", "variant"),
    [
        ("cupy-cuda12x", '{"cuda": "12.x"}', "12", "cuda"),
        ("cupy-cuda112", None, "11.2", "cuda"),
        ("cupy", '{"cuda": "12.x", "packaging": "conda"}', "12", "cuda"),
        ("cupy-rocm-5-0", None, None, "rocm"),
        ("amd-cupy", None, None, "rocm"),
    ],
)
def test_cupy_says_what_it_was_built_for(name: str, wheel: str | None, cuda: str | None, variant: str) -> None:
    files = {f"{SITE}/cupy/__init__.py": ""} | ({f"{SITE}/cupy/.data/_wheel.json": wheel} if wheel else {})
    found = look(files, package(name, "13.6.0"))[0]
    assert (found.cuda, found.variant, found.distribution) == (cuda, variant, name)


def test_cupy_from_source_does_not_say() -> None:
    found = look({f"{SITE}/cupy/__init__.py": ""}, package("cupy", "13.6.0"))[0]
    assert isinstance(found.cuda, Unknown)
    assert "built from source" in found.cuda.unknown
    assert found.variant == found.cuda


def test_two_cupys_are_told_with_the_version_in_the_folder() -> None:
    files = {f"{SITE}/cupy/__init__.py": "", f"{SITE}/cupy/_version.py": "__version__ = '13.6.0'\n"}
    found = look(files, package("cupy-cuda11x", "12.0.0"), package("cupy-cuda12x", "13.6.0", files=9))[0]
    assert (found.distribution, found.version) == ("cupy-cuda12x", "13.6.0")
    assert found.others == (("cupy-cuda11x", "12.0.0"),)


def test_jax_takes_its_cuda_from_the_plugin() -> None:
    plugin = package("jax-cuda12-plugin", "0.6.2", requires=('nvidia-cudnn-cu12<10.0,>=9.8; extra == "with-cuda"',))
    packages = (package("jax", "0.6.2"), package("jaxlib", "0.6.1"), plugin, package("jax-cuda12-pjrt", "0.6.2"))
    found = look({f"{SITE}/jax/__init__.py": ""}, *packages)[0]
    assert (found.cuda, found.variant, found.cudnn) == ("12", "cuda", "9.8")
    assert (found.plugin, found.plugin_version, found.backend_version) == ("jax-cuda12-plugin", "0.6.2", "0.6.1")
    assert found.others == ()


@pytest.mark.parametrize(
    ("others", "cuda", "hip", "variant"),
    [
        ((("jaxlib", "0.6.2"),), None, None, "cpu"),
        ((("jaxlib", "0.4.25+cuda12.cudnn89"),), "12", None, "cuda"),
        ((("jaxlib", "0.8.0"), ("jax-rocm7-plugin", "0.8.0")), None, "7", "rocm"),
    ],
)
def test_jax_without_a_plugin_for_nvidia(
    others: tuple[tuple[str, str], ...], cuda: str | None, hip: str | None, variant: str
) -> None:
    packages = (package("jax", "0.6.2"), *(package(*other) for other in others))
    found = look({f"{SITE}/jax/__init__.py": ""}, *packages)[0]
    assert (found.cuda, found.hip, found.variant) == (cuda, hip, variant)


@pytest.mark.parametrize(
    ("build", "cuda", "variant"), [("cuda129py311h3a28f5d_200", "12", "cuda"), ("cpu_py311h5360d74_0", None, "cpu")]
)
def test_jax_of_conda_says_by_its_build_what_it_is_for(build: str, cuda: str | None, variant: str) -> None:
    conda = (CondaPackage(name="jaxlib", version="0.7.2", build=build),)
    packages = (package("jax", "0.7.2"), package("jaxlib", "0.7.2"))
    found = look({f"{SITE}/jax/__init__.py": ""}, *packages, conda=conda)[0]
    assert (found.cuda, found.variant) == (cuda, variant)


def onnxruntime(info: str | None, *packages: Package) -> Framework:
    files = {f"{SITE}/onnxruntime/__init__.py": ""}
    if info is not None:
        files[f"{SITE}/onnxruntime/capi/build_and_package_info.py"] = info
    return look(files, *packages)[0]


def test_onnxruntime_says_who_wrote_the_folder_last() -> None:
    info = "package_name = 'onnxruntime'\n__version__ = '1.22.1'\n"
    both = (package("onnxruntime-gpu", "1.22.0", files=500), package("onnxruntime", "1.22.1", files=300))
    found = onnxruntime(info, *both)
    assert (found.distribution, found.version, found.variant) == ("onnxruntime", "1.22.1", "cpu")
    assert found.others == (("onnxruntime-gpu", "1.22.0"),)


def test_onnxruntime_for_cuda() -> None:
    info = "package_name = 'onnxruntime-gpu'\n__version__ = '1.31.1'\ncuda_version = '13.0'\n"
    found = onnxruntime(info, package("onnxruntime-gpu", "1.31.1"))
    assert (found.cuda, found.cudnn, found.variant) == ("13.0", "9", "cuda")


def test_onnxruntime_without_the_file_goes_by_its_release() -> None:
    found = onnxruntime(None, package("onnxruntime-gpu", "1.18.1"), package("onnxruntime-extensions", "0.14"))
    assert (found.cuda, found.cudnn, found.others) == ("11", "8", ())


class BrokenMachine(RecordedMachine):
    """Fails in a way that no probe foresees."""

    def text(self, path: str, limit: int = 0) -> str:
        raise RuntimeError("broken")


def test_a_reader_that_breaks_hides_no_other_framework() -> None:
    files = {f"{SITE}/torch/__init__.py": "", f"{SITE}/jax/__init__.py": ""}
    python = Python(path="/env/bin/python", sys_path=(SITE,), packages=(package("jax", "0.6.2"),))
    broken, jax = static(BrokenMachine(files), python)
    assert broken.variant == Unknown("its files could not be read: RuntimeError: broken")
    assert jax.variant == "cpu"


def test_probe_asks_each_framework_only_where_it_may(tmp_path: Any) -> None:
    machine = Machine(root=str(tmp_path))
    site = tmp_path / "site-packages/jax"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("")
    python = Python(path="/python", sys_path=("/site-packages",), packages=(package("jax", "0.6.2", "/site-packages"),))
    quick = probe(machine, python)[0]
    assert (quick.live, quick.needs) == (None, ())
    full = probe(machine, python, live=True)[0]
    assert full.live is not None
    assert full.live.count == Unknown("programs are not run under another root")


class NoRoom(Machine):
    """A machine on which an import cannot even be begun."""

    def run(self, *_: Any, **__: Any) -> Any:
        """Fail as nobody has thought of."""
        raise RuntimeError("no room")


def test_a_fault_in_a_thread_is_told_in_its_own_words() -> None:
    python = Python(path="/python", sys_path=(SITE,), packages=(package("jax", "0.6.2"),))
    with pytest.raises(RuntimeError, match="no room"):
        probe(NoRoom(), python, live=True)
