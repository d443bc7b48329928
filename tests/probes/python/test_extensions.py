"""Compiled extensions against the installed PyTorch."""

from pathlib import Path

import pytest

from gpudoctor.facts import Extension
from gpudoctor.probes.python.extensions import probe
from gpudoctor.probes.python.packages import DirectoryNames, entries, find
from tests.parsers.elves import library
from tests.probes.environments import distribution, machine

OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
C10, CUDA = "torch/lib/libc10.so", "torch/lib/libtorch_cuda.so"


def extensions(site: Path, **env: str) -> tuple[Extension, ...]:
    here = machine(**env)
    names = DirectoryNames(here)
    found = find(here, entries(here, [str(site)], "", None, [str(site)]), names)
    return probe(here, str(site.parent), found, names)


def lay(site: Path, name: str, path: str, data: bytes) -> None:
    distribution(site, name, "1.0", (path,))
    (site / path).write_bytes(data)


def test_a_wheel_that_calls_a_newer_linker_than_the_one_next_to_it(tmp_path: Path) -> None:
    linker, sparse = "nvidia/nvjitlink/lib/libnvJitLink.so.12", "nvidia/cusparse/lib/libcusparse.so.12"
    ours = tuple(f"__nvJitLink{name}_12_{minor}" for name in ("Create", "Destroy") for minor in range(9))
    lay(tmp_path, "nvidia-nvjitlink-cu12", linker, library("libnvJitLink.so.12", defines=ours))
    needed, path = ("libnvJitLink.so.12", "libc.so.6"), "$ORIGIN/../../nvjitlink/lib"

    def calls(minor: int) -> bytes:
        return library(needed=needed, runpath=path, undefined=(f"__nvJitLinkCreate_12_{minor}", "malloc"))

    lay(tmp_path, "nvidia-cusparse-cu12", sparse, calls(8))
    assert extensions(tmp_path) == ()
    (tmp_path / sparse).write_bytes(calls(9))
    (found,) = extensions(tmp_path)
    (gap,) = found.versions
    assert (found.package, gap.version, gap.newest) == (
        "nvidia-cusparse-cu12",
        "__nvJitLinkCreate_12_9",
        "__nvJitLinkCreate_12_8",
    )
    assert gap.path.endswith("nvjitlink/lib/libnvJitLink.so.12")


def lay_torch(site: Path) -> None:
    distribution(site, "torch", "2.7.0", (C10, CUDA))
    (site / C10).write_bytes(library("libc10.so", defines=(NEW, "_ZN2at5emptyE")))
    (site / CUDA).write_bytes(library("libtorch_cuda.so", needed=("libcudart.so.12", "libc10.so")))


def test_an_extension_for_another_abi_lacks_symbols(tmp_path: Path) -> None:
    lay_torch(tmp_path)
    data = library(
        needed=("libc10.so", "libcudart.so.12"), undefined=(OLD, "_ZN2at5emptyE", "cudaMalloc", "_ZN5other1xE")
    )
    lay(tmp_path, "flash-attn", "flash_attn_2_cuda.so", data)
    (extension,) = extensions(tmp_path)
    assert extension == Extension(
        package="flash-attn",
        version="1.0",
        path=f"{tmp_path}/flash_attn_2_cuda.so",
        needed=("libc10.so", "libcudart.so.12"),
        missing=(),
        unresolved=(OLD,),
    )


OPS, SHIM = "libcudnn_ops.so.9", "ctranslate2.libs/libcudnn-74a4c495.so.9.1.0"
WHEEL = f"nvidia/cudnn/lib/{OPS}"


@pytest.mark.parametrize(
    ("files", "path", "shim", "copy"),
    [
        ((WHEEL,), "", SHIM, WHEEL),  # the wheel's directory is not on the loader's path
        ((), "", SHIM, None),
        ((WHEEL,), "nvidia/cudnn/lib", SHIM, ""),
        ((f"ctranslate2.libs/{OPS}",), "", SHIM, ""),  # next to it
        (("ctranslate2.libs/libcudnn_ops-0a1b2c3d.so.9.1.0",), "", SHIM, ""),  # the package brings it, too
        ((), "", "ctranslate2.libs/libcudnn.so.9", ""),  # no copy of auditwheel's
        ((), "", "ctranslate2.libs/libcudnn-74a4c495.so.7.6.5", ""),  # in one piece
        (("nvidia/cudnn/lib/libcudnn_ops_infer.so.8",), "", "x.libs/libcudnn-74a4c495.so.8.9.2", "nvidia/cudnn/lib"),
    ],
)
def test_the_parts_of_a_bundled_cudnn(
    tmp_path: Path, files: tuple[str, ...], path: str, shim: str, copy: str | None
) -> None:
    """Auditwheel copies libcudnn.so.9 alone into a wheel: the parts are opened by name."""
    own = tuple(name for name in files if name.startswith("ctranslate2"))
    distribution(tmp_path, "ctranslate2", "4.6.0", (shim, *own))
    distribution(tmp_path, "nvidia-cudnn-cu12", "9.10.2.21", tuple(name for name in files if name not in own))
    (tmp_path / shim).write_bytes(library(needed=("libdl.so.2",), runpath="$ORIGIN"))
    env = {"LD_LIBRARY_PATH": f"{tmp_path}/{path}"} if path else {}
    found = [gap for one in extensions(tmp_path, **env) for gap in one.absent]
    assert [gap.opened for gap in found] == ([] if copy == "" else [True])
    if copy != "":
        assert (found[0].copy is None) if copy is None else (found[0].copy or "").startswith(f"{tmp_path}/{copy}")


@pytest.mark.parametrize(("version", "read"), [("0.17.5+torch260cu126", True), ("0.17.5+cpu", False)])
def test_a_version_that_names_pytorch_makes_an_extension(tmp_path: Path, version: str, read: bool) -> None:
    """NATTEN's metadata require nothing."""
    lay_torch(tmp_path)
    distribution(tmp_path, "natten", version, ("natten/libnatten.so",))
    (tmp_path / "natten/libnatten.so").write_bytes(library(needed=("libc10.so",), undefined=(OLD,)))
    assert [one.unresolved for one in extensions(tmp_path)] == ([(OLD,)] if read else [])


def test_a_library_that_torch_does_not_map_is_searched_as_the_loader_does(tmp_path: Path) -> None:
    lay_torch(tmp_path)
    needed = ("libc10.so", "libcudart.so.11.0", "libpng.so.16", "libpython3.11.so.1.0")
    lay(tmp_path, "torchvision", "torchvision/_C.so", library(needed=needed, runpath="$ORIGIN/../torchvision.libs"))
    (tmp_path / "torchvision.libs").mkdir()
    (tmp_path / "torchvision.libs/libpng.so.16").write_bytes(library("libpng.so.16"))
    (extension,) = extensions(tmp_path)
    assert extension.missing == ("libcudart.so.11.0",)
    (tmp_path / "cuda11").mkdir()
    (tmp_path / "cuda11/libcudart.so.11.0").write_bytes(library("libcudart.so.11.0"))
    (extension,) = extensions(tmp_path, LD_LIBRARY_PATH=f"{tmp_path}/cuda11")
    assert extension.missing == ()


def test_a_symbol_that_the_packages_own_library_defines_is_not_missed(tmp_path: Path) -> None:
    lay_torch(tmp_path)
    mine = "_ZN5torch4mine1fE"
    lay(tmp_path, "vllm", "vllm/_C.so", library(needed=("libc10.so", "libmine.so"), undefined=(mine,), rpath="$ORIGIN"))
    (tmp_path / "vllm/libmine.so").write_bytes(library("libmine.so", defines=(mine,)))
    (extension,) = extensions(tmp_path)
    assert (extension.missing, extension.unresolved) == ((), ())


@pytest.mark.parametrize(
    ("symbol", "counts"),
    [
        ("_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv", True),
        ("_ZN5torch8autogradE", True),
        ("_ZTVN5torch8autograd4NodeE", True),
        ("_ZN6caffe28TypeMetaE", True),
        ("_Z16THPVariable_WrapN2at10TensorBaseE", True),
        ("aoti_torch_delete_tensor_object", True),
        ("_ZN6vision4ops3nmsERKN2at6TensorE", False),
        ("_ZN10torchaudio1fE", False),
        ("_ZNSt6vectorIN2at6TensorEE", False),
        ("PyObject_Call", False),
    ],
)
def test_only_what_torch_should_define_counts(tmp_path: Path, symbol: str, counts: bool) -> None:
    lay_torch(tmp_path)
    lay(tmp_path, "xformers", "xformers/_C.so", library(needed=("libtorch_cpu.so",), undefined=(symbol,)))
    (extension,) = extensions(tmp_path)
    assert extension.unresolved == ((symbol,) if counts else ())


def test_without_torch_or_its_libraries_nothing_is_said(tmp_path: Path) -> None:
    lay(tmp_path, "xformers", "xformers/_C.so", library(needed=("libc10.so",)))
    assert extensions(tmp_path) == ()
    distribution(tmp_path, "torch", "2.7.0")
    assert extensions(tmp_path) == ()


def test_pytorch_without_its_metadata_still_has_its_libraries(tmp_path: Path) -> None:
    """pip, killed while it replaces torch, has moved the metadata away and left the new files."""
    lay_torch(tmp_path)
    lay(tmp_path, "torchaudio", "torchaudio/_torchaudio.so", library(needed=("libc10.so", "libcudart.so.12")))
    whole = extensions(tmp_path)
    (tmp_path / "torch-2.7.0.dist-info").rename(tmp_path / "~orch-2.7.0.dist-info")
    assert extensions(tmp_path) == whole
    assert whole[0].missing == ()


def test_a_library_that_is_none_or_needs_no_torch_is_passed_over(tmp_path: Path) -> None:
    lay_torch(tmp_path)
    lay(tmp_path, "xformers", "xformers/_C.so", b"no library")
    lay(tmp_path, "deepspeed", "deepspeed/aio.so", library(needed=("libaio.so.1",)))
    lay(tmp_path, "requests", "requests/x.so", library(needed=("libc10.so",)))
    assert extensions(tmp_path) == ()
