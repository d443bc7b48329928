"""Tests of the probe of CUDA toolkits."""

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import CudaHome, Host, Toolkits
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.probes.nvidia import toolkits
from gpudoctor.recorded_machine import RecordedMachine

VERSION = '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "nvcc": {"version": "12.4.131"}}'
NVCC = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.8, V11.8.89\n"
TOOLKIT = {
    "/usr/local/cuda-12.4/bin/nvcc": "",
    "/usr/local/cuda-12.4/version.json": VERSION,
    "/usr/local/cuda-12.4/include/cuda_runtime.h": "",
}
LINK = {"/usr/local/cuda": "cuda-12.4"}
PARTS = ("nvrtc.h", "libnvrtc.so")
# What a whole toolkit has, too.
OTHERS = dict.fromkeys((f"/usr/local/cuda-12.4/{one}" for one in ("lib64/libcudart.so", "include/curand_kernel.h")), "")


def look(machine: RecordedMachine, wanted: bool = True) -> Toolkits:
    return toolkits.probe(machine, Host(), wanted)


def test_one_toolkit_reached_over_two_names_is_one() -> None:
    machine = RecordedMachine(TOOLKIT, links=LINK, env={"PATH": "/usr/local/cuda/bin:/usr/bin"})
    seen = look(machine)
    assert not isinstance(seen.nvccs, Unknown)
    assert [(n.path, n.real, n.version, n.on_path) for n in seen.nvccs] == [
        ("/usr/local/cuda/bin/nvcc", "/usr/local/cuda-12.4/bin/nvcc", "12.4", True)
    ]
    assert seen.installed == (("/usr/local/cuda-12.4", "12.4"),)
    assert machine.ran == []


def test_an_nvcc_without_version_file_is_asked_where_there_is_a_gpu() -> None:
    machine = RecordedMachine({"/usr/bin/nvcc": ""}, env={"PATH": "/usr/bin"}, commands={"nvcc": NVCC})
    assert isinstance(toolkits.probe(machine, Host(), False).nvccs, tuple)
    assert machine.ran == []
    seen = look(machine).nvccs
    assert not isinstance(seen, Unknown)
    assert [nvcc.version for nvcc in seen] == ["11.8"]


def test_an_nvcc_that_fails_leaves_its_own_words() -> None:
    failed = ChildResult(argv=(), code=127, err="nvcc: error while loading shared libraries\n")
    seen = look(RecordedMachine({"/usr/bin/nvcc": ""}, env={"PATH": "/usr/bin"}, commands={"nvcc": failed})).nvccs
    assert not isinstance(seen, Unknown)
    assert seen[0].version == Unknown("/usr/bin/nvcc --version: nvcc: error while loading shared libraries")


def test_old_toolkits_say_their_version_in_a_text_file() -> None:
    files = {"/usr/local/cuda-10.2/version.txt": "CUDA Version 10.2.89\n", "/usr/local/cuda-9.0/bin/x": ""}
    assert look(RecordedMachine(files)).installed == (("/usr/local/cuda-10.2", "10.2"), ("/usr/local/cuda-9.0", "9.0"))


@pytest.mark.parametrize(
    ("env", "path", "why"),
    [
        ({"CUDA_HOME": "/usr/local/cuda-12.4", "CUDA_PATH": "/x"}, "/usr/local/cuda-12.4", "CUDA_HOME"),
        ({"CUDA_HOME": "", "CUDA_PATH": "/usr/local/cuda-12.4"}, "/usr/local/cuda-12.4", "CUDA_PATH"),
        ({"PATH": "/usr/local/cuda-12.4/bin"}, "/usr/local/cuda-12.4", "nvcc on PATH"),
        ({"CUDA_HOME": "", "PATH": "/usr/bin"}, "/usr/local/cuda", "/usr/local/cuda"),
    ],
)
def test_cuda_home_by_the_rule_of_torch(env: dict[str, str], path: str, why: str) -> None:
    seen = look(RecordedMachine(TOOLKIT | OTHERS, links=LINK, env=env)).home
    assert seen == CudaHome(path=path, found_by=why, exists=True, nvcc="12.4", headers=True, lacks=PARTS)


def test_a_cuda_home_that_is_gone_or_empty() -> None:
    stale = look(RecordedMachine(TOOLKIT, env={"CUDA_HOME": "/usr/local/cuda-11.7"})).home
    gone = CudaHome(path="/usr/local/cuda-11.7", found_by="CUDA_HOME", exists=False, nvcc=None, headers=False, lacks=())
    assert stale == gone
    none = CudaHome(path=None, found_by="", exists=False, nvcc=None, headers=False, lacks=())
    assert look(RecordedMachine()).home == none
    assert look(RecordedMachine(TOOLKIT, links=LINK, env={"CUDA_PATH": ""})).home.path is None


HOME = "/usr/local/cuda-12.4"


@pytest.mark.parametrize(
    ("files", "env", "lacks"),
    [
        ((), {}, PARTS),
        ((f"{HOME}/include/nvrtc.h", f"{HOME}/lib64/libnvrtc.so"), {}, ()),
        ((f"{HOME}/include/nvrtc.h", f"{HOME}/lib64/libnvrtc.so.12"), {}, PARTS[1:]),
        ((f"{HOME}/targets/x86_64-linux/include/nvrtc.h", f"{HOME}/targets/x86_64-linux/lib/libnvrtc.so"), {}, ()),
        (("/usr/include/nvrtc.h", "/usr/lib/x86_64-linux-gnu/libnvrtc.so"), {}, ()),
        (("/opt/i/nvrtc.h", "/opt/l/libnvrtc.so"), {"CPATH": "/opt/i", "LIBRARY_PATH": "/x:/opt/l/"}, ()),
        (("/opt/i/nvrtc.h", "/opt/l/libnvrtc.so"), {}, PARTS),
    ],
)
def test_files_for_development(files: tuple[str, ...], env: dict[str, str], lacks: tuple[str, ...]) -> None:
    machine = RecordedMachine(TOOLKIT | OTHERS | dict.fromkeys(files, ""), links=LINK, env=env)
    assert look(machine).home.lacks == lacks


def test_the_runtimes_link_and_the_headers_of_curand() -> None:
    there = dict.fromkeys((f"{HOME}/include/nvrtc.h", f"{HOME}/lib64/libnvrtc.so", f"{HOME}/lib/libcudart.so.12"), "")
    assert look(RecordedMachine(TOOLKIT | there, links=LINK)).home.lacks == ("curand_kernel.h", "libcudart.so")


def test_without_nvcc_nothing_is_compiled() -> None:
    files = {f"{HOME}/include/cuda_runtime.h": "", f"{HOME}/version.json": VERSION}
    assert look(RecordedMachine(files, links=LINK)).home.lacks == ()


def test_the_host_compiler() -> None:
    files = {"/usr/bin/gcc": ""}
    commands = {"gcc --version": "gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0\n"}
    machine = RecordedMachine(files, env={"PATH": "/usr/bin"}, commands=commands)
    assert (look(machine).cxx, look(machine).cxx_version) == ("/usr/bin/gcc", "gcc 11.4.0")
    assert isinstance(look(machine, wanted=False).cxx_version, Unknown)
    assert (look(RecordedMachine()).cxx, look(RecordedMachine()).cxx_version) == (None, None)


@pytest.mark.parametrize("folder", ["/usr/lib/nvidia-cuda-toolkit/bin", "/usr/local/cuda-12.4/bin"])
def test_a_compiler_next_to_nvcc_is_the_one_that_nvcc_takes(folder: str) -> None:
    nvcc = "/usr/bin/nvcc" if "toolkit" in folder else f"{folder}/nvcc"
    files = {nvcc: "", f"{folder}/gcc": "", "/usr/bin/gcc": ""}
    ended = ChildResult(argv=(), code=0, out="gcc (Debian 11.3.0-12) 11.3.0\n")
    path = f"{nvcc.removesuffix('/nvcc')}:/usr/bin"
    machine = RecordedMachine(files, env={"PATH": path}, commands={"gcc --version": ended})
    assert look(machine).home.own_compiler == "gcc 11.3.0"
    assert look(machine, wanted=False).home.own_compiler is None
    assert look(RecordedMachine({nvcc: "", "/usr/bin/gcc": ""}, env={"PATH": path})).home.own_compiler is None


DEBIAN = {
    "/usr/bin/nvcc": '#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc "$@"\n',
    "/usr/lib/nvidia-cuda-toolkit/bin/nvcc": "",
    "/usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89": "",
}


def test_a_machine_that_only_builds_names_its_toolkits_without_running_anything() -> None:
    files = (
        TOOLKIT | DEBIAN | {"/usr/local/cuda-11.8/bin/nvcc": "", "/usr/local/cuda-13/lib64/libcudart.so.13.0.88": ""}
    )
    machine = RecordedMachine(files, links=LINK, env={"PATH": "/usr/bin"})
    seen = look(machine, wanted=False)
    assert not isinstance(seen.nvccs, Unknown)
    assert machine.ran == []
    assert [(n.path, n.version, n.on_path, n.starts) for n in seen.nvccs] == [
        ("/usr/bin/nvcc", "11.8", True, "/usr/lib/nvidia-cuda-toolkit/bin/nvcc"),
        ("/usr/local/cuda-12.4/bin/nvcc", "12.4", False, None),
        ("/usr/local/cuda-11.8/bin/nvcc", "11.8", False, None),
        ("/usr/lib/nvidia-cuda-toolkit/bin/nvcc", "11.8", False, None),
    ]
    assert set(known_or(seen.installed, ())) == {
        ("/usr/local/cuda-12.4", "12.4"),
        ("/usr/local/cuda-11.8", "11.8"),
        ("/usr/local/cuda-13", "13.0"),
    }
    assert seen.home.nvcc == "11.8"


def test_a_wrapper_script_may_name_an_nvcc_that_is_gone_or_itself() -> None:
    for text in ("#!/bin/sh\nexec /opt/gone/bin/nvcc\n", "#!/bin/sh\n# /usr/bin/nvcc\n", "\x7fELF /opt/x/nvcc"):
        seen = look(RecordedMachine({"/usr/bin/nvcc": text}, env={"PATH": "/usr/bin"}), wanted=False).nvccs
        assert not isinstance(seen, Unknown)
        assert (seen[0].starts, type(seen[0].version)) == (None, Unknown)


def test_headers_of_cudnn_and_nccl() -> None:
    cudnn = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n"
    nccl = '#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n#define NCCL_SUFFIX ""\n'
    system = "/usr/include/x86_64-linux-gnu/cudnn_version.h"
    files = {
        **TOOLKIT,
        "/usr/local/cuda-12.4/include/cudnn_version.h": cudnn,
        system: cudnn,
        "/usr/include/nccl.h": nccl,
    }
    found = look(RecordedMachine(files, links=LINK)).headers
    assert not isinstance(found, Unknown)
    assert [(one.library, one.path, one.version) for one in found] == [
        ("cuDNN", "/usr/local/cuda-12.4/include/cudnn_version.h", "9.1.0"),
        ("cuDNN", system, "9.1.0"),
        ("NCCL", "/usr/include/nccl.h", "2.21.5"),
    ]
    assert look(RecordedMachine({"/usr/include/nccl.h": "#define NCCL_MAJOR 2\n"})).headers == ()
