"""What the report lists as installed: nothing that is not there, and what is unknown is not none."""

import json

import pytest

from gpudoctor import check
from gpudoctor.facts import DriverLibrary, Facts, LibraryHeader, Nvcc, User
from gpudoctor.facts.framework import Need
from gpudoctor.maybe import Unknown
from gpudoctor.privacy.masks import masked
from gpudoctor.report.installed import libraries, rocm_releases, system_libraries, toolkits
from gpudoctor.report.renderers import html, markdown
from gpudoctor.report.renderers.header import rows
from gpudoctor.report.renderers.json import render
from tests.builders import change, framework, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host

WHEEL = "/opt/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9"
CUDNN = Need(soname="libcudnn.so.9", needed_by="torch/lib/libtorch_cuda.so", path=WHEEL, version="9.1.0.70")


def head(facts: Facts) -> list[str]:
    return [f"{label:<10}{text}".rstrip() for label, text in rows(check(facts=facts))]


def builder(facts: Facts | None = None) -> Facts:
    """Two toolkits, one of them on PATH behind a script, and a third without nvcc."""
    facts = change(facts or plain_host(), "toolkits.installed", (("/usr/local/cuda-11.8", "11.8"), ("/opt/cuda", "")))
    wrapper = Nvcc(path="/usr/bin/nvcc", real="/usr/bin/nvcc", version="12.4", on_path=True, starts="/x/cuda/bin/nvcc")
    older = "/usr/local/cuda-11.8/bin/nvcc"
    return change(facts, "toolkits.nvccs", (wrapper, Nvcc(path=older, real=older, version="11.8")))


def test_every_toolkit_is_listed_also_without_a_gpu() -> None:
    assert (
        "CUDA      12.4 (/x/cuda, nvcc on PATH), 11.8 (/usr/local/cuda-11.8), version unknown (/opt/cuda, no nvcc)"
        in (head(builder()))
    )


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_the_toolkit_that_a_variable_names(variable: str) -> None:
    facts = change(change(builder(), "toolkits.home.found_by", variable), "toolkits.home.path", "/usr/local/cuda-11.8/")
    assert [one.path for one in toolkits(facts) or () if one.cuda_home] == ["/usr/local/cuda-11.8"]


def test_unknown_is_not_none() -> None:
    bare = change(change(plain_host(), "toolkits.installed", Unknown("x")), "toolkits.nvccs", Unknown("x"))
    bare = change(change(bare, "toolkits.libraries", Unknown("x")), "toolkits.headers", Unknown("x"))
    report = json.loads(render(check(facts=change(bare, "amd.rocm_releases", Unknown("x")))))
    assert {report["machine"][name] for name in ("toolkits", "cudnn", "nccl", "rocm_releases")} == {None}
    none = change(change(bare, "toolkits.installed", ()), "toolkits.headers", ())
    found = json.loads(render(check(facts=change(none, "amd.rocm_releases", ()))))["machine"]
    assert [found[name] for name in ("toolkits", "cudnn", "nccl", "rocm_releases")] == [[], [], [], []]
    half = change(bare, "toolkits.installed", (("/usr/local/cuda-12.4", "12.4"),))
    assert "CUDA      12.4 (/usr/local/cuda-12.4)" in head(half)  # whether it has an nvcc, nobody looked
    assert not [line for line in head(none) if line.startswith(("CUDA ", "cuDNN", "NCCL", "ROCm"))]


def test_a_library_is_listed_once_with_the_version_that_its_header_names() -> None:
    def found(path: str, version: str, kind: str) -> DriverLibrary:
        return DriverLibrary(soname="libcudnn.so.9", path=path, real=path, version=version, found_by="cache", kind=kind)

    facts = change(
        plain_host(),
        "toolkits.libraries",
        (
            found("/usr/lib/libcudnn.so.9", "9", "system"),
            found("/opt/env/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "9", "wheel"),
            found("/usr/local/cuda/stubs/libcudnn.so.9", "9", "stub"),
        ),
    )
    headers = (
        LibraryHeader(library="cuDNN", path="/usr/include/cudnn_version.h", version="9.1.0"),
        LibraryHeader(library="cuDNN", path="/opt/cuda/include/cudnn_version.h", version="8.9.7"),
        LibraryHeader(library="NCCL", path="/usr/include/nccl.h", version="2.21.5"),
    )
    lines = head(change(facts, "toolkits.headers", headers))
    assert "cuDNN     9.1.0 (/usr/lib), 8.9.7 (/opt/cuda/include/cudnn_version.h)" in lines
    assert "NCCL      2.21.5 (/usr/include/nccl.h)" in lines
    assert [one.version for one in system_libraries(facts, "cuDNN") or ()] == ["9"]


@pytest.mark.parametrize(
    ("seen", "loaded"),
    [
        (None, None),
        (live(cudnn="9.1.0", nccl="2.21.5"), "9.1.0"),
        (live(cudnn=None, libraries=(WHEEL,)), "9.1.0.70"),
        (live(libraries=("/usr/lib/libcudnn.so.9.5.1",)), "9.5.1"),
        (live(libraries=("/usr/lib/libcudnn.so.9",)), None),  # another file than the one that was found
    ],
)
def test_what_a_framework_has_loaded(seen: object, loaded: str | None) -> None:
    entries = libraries(framework(cudnn="9.1.0.70", needs=(CUDNN,), live=seen))
    assert entries is not None
    assert (entries[0].name, entries[0].loaded, entries[0].built_for) == ("cuDNN", loaded, "9.1.0.70")
    assert (entries[0].installed, entries[0].path) == ("9.1.0.70", WHEEL)


def test_a_frameworks_line() -> None:
    torch = framework(version="2.6.0+cu124", cuda="12.4", needs=(CUDNN,), live=live(cudnn="9.1.0", nccl="2.21.5"))
    line = "          PyTorch 2.6.0+cu124  CUDA 12.4, cuDNN 9.1.0, NCCL 2.21.5  sees 1 GPU"
    assert line in head(with_framework(torch))
    quick = framework(version="2.6.0+cu124", cuda="12.4", needs=(CUDNN,), live=None)
    assert "          PyTorch 2.6.0+cu124  CUDA 12.4, installed: cuDNN 9.1.0" in head(with_framework(quick))
    assert libraries(framework(variant="cpu")) == ()
    assert libraries(framework(variant=Unknown("x"))) is None


def test_releases_of_rocm() -> None:
    several = (("/opt/rocm-6.3.4", "6.3.4"), ("/opt/rocm-7.0.2", ""))
    lines = head(change(amd_host(), "amd.rocm_releases", several))
    assert "ROCm      6.3.4 (/opt/rocm-6.3.4), version unknown (/opt/rocm-7.0.2)" in lines
    assert "driver    amdgpu" in lines
    assert "driver    amdgpu 6.10.5" in head(change(amd_host(), "amd.version", "6.10.5"))
    older = change(amd_host(), "amd.rocm_releases", Unknown("not gathered"))  # facts of an earlier gpudoctor
    assert [(one.path, one.version) for one in rocm_releases(older) or ()] == [("/opt/rocm", "6.3.4")]


def test_all_formats_list_it_and_home_directories_are_masked() -> None:
    own = "/home/alice/cuda-12.4"
    nvcc = Nvcc(path=f"{own}/bin/nvcc", real=f"{own}/bin/nvcc", version="12.4", on_path=True)
    header = LibraryHeader(library="cuDNN", path=f"{own}/include/cudnn_version.h", version="9.1.0")
    facts = change(change(nvidia_host(), "host.user", User(uid=1000, name="alice")), "toolkits.nvccs", (nvcc,))
    facts = change(change(facts, "toolkits.headers", (header,)), "toolkits.installed", ())
    facts = change(facts, "amd.rocm_releases", (("/home/alice/rocm-6.3.4", "6.3.4"),))
    report = check(facts=masked(facts))
    for text in (render(report), markdown.render(report), html.render(report)):
        assert "alice" not in text
        for place in ("/home/user/cuda-12.4", "/home/user/rocm-6.3.4", "cudnn_version.h", "9.1.0"):
            assert place in text
    assert toolkits(nvidia_host()) is None
