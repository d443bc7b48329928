"""llama.cpp's programs, its backends, and what the loader does not find for them."""

from typing import Any

import pytest

from gpudoctor import probes
from gpudoctor.facts import Host
from gpudoctor.facts.llama_cpp import NO_LLAMA_CPP, LlamaCpp
from gpudoctor.maybe import Unknown, known
from gpudoctor.probes import llama_cpp
from gpudoctor.recorded_machine import RecordedMachine
from tests.parsers.elves import bundle, fatbin, library

BIN, ROCM, ARM = "/src/llama.cpp/build/bin", "/opt/rocm-7.2.4/lib", 183
PROGRAM = f"{BIN}/llama-server"
STARTS = library(needed=("libllama.so.0", "libc.so.6"), runpath="$ORIGIN")
LLAMA = library("libllama.so.0", needed=("libggml.so.0",), runpath="$ORIGIN")
HIP = library("libggml-hip.so.0", needed=("libggml-base.so.0", "libhipblas.so.3", "libc.so.6"), runpath="$ORIGIN")
OPENED = library(needed=("libggml-base.so.0", "libhipblas.so.3"), runpath="$ORIGIN")
EMPTY = library()
FOREIGN = library(needed=("libhipblas.so.3",), machine=ARM)
DRIVER, RUNTIME = "libcuda.so.1", "/lib64/libcudart.so.12"
VARIABLE = "[Service]\nEnvironment=LD_LIBRARY_PATH=/opt/x\n"


def ggml(*backends: str) -> bytes:
    return library("libggml.so.0", needed=("libggml-base.so.0", *backends), runpath="$ORIGIN")


def own(*backends: str) -> dict[str, bytes]:
    """A program and its libraries, of which libggml.so links these backends."""
    plain = {"libllama.so.0": LLAMA, "libggml.so.0": ggml(*backends), "libggml-base.so.0": EMPTY}
    return {PROGRAM: STARTS} | {f"{BIN}/{name}": data for name, data in plain.items()}


LINKED = own("libggml-cpu.so.0", "libggml-hip.so.0") | {
    f"{BIN}/libggml-cpu.so.0": EMPTY,
    f"{BIN}/libggml-hip.so.0": HIP,
}
OPENING = own() | {f"{BIN}/libggml-cpu-haswell.so": EMPTY, f"{BIN}/libggml-hip.so": OPENED}
CPU = own("libggml-cpu.so.0") | {f"{BIN}/libggml-cpu.so.0": EMPTY}
THERE: dict[str, bytes] = {f"{ROCM}/libhipblas.so.3": EMPTY}


def look(files: dict[str, Any], links: dict[str, str] | None = None, path: str = BIN, **env: str) -> LlamaCpp:
    return llama_cpp.probe(RecordedMachine(files, links=links, env={"PATH": path, **env}))


def brief(found: LlamaCpp) -> object:
    """Each backend: its kind, whether it is linked, and what is missing with its copies; or nothing for unknown."""
    if isinstance(found.backends, Unknown):
        return None
    return [(b.kind, b.linked, {n.soname: n.copies for n in b.missing}) for b in found.backends]


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        (LINKED, {}, [("hip", True, {"libhipblas.so.3": ()})]),
        (LINKED | THERE, {}, [("hip", True, {"libhipblas.so.3": (f"{ROCM}/libhipblas.so.3",)})]),
        (LINKED | THERE, {"LD_LIBRARY_PATH": ROCM}, [("hip", True, {})]),
        (LINKED | {"/usr/lib64/libhipblas.so.3": EMPTY}, {}, [("hip", True, {})]),
        (OPENING | THERE, {}, [("hip", False, {"libhipblas.so.3": (f"{ROCM}/libhipblas.so.3",)})]),
        (OPENING | {f"{BIN}/libhipblas.so.3": EMPTY}, {}, [("hip", False, {})]),
        (CPU, {}, []),
        # Debian's packages and Homebrew's have backends in directories of their own.
        (CPU | {f"{BIN}/ggml/backends0/libggml-hip.so": OPENED}, {}, [("hip", False, {"libhipblas.so.3": ()})]),
        (CPU | {"/src/llama.cpp/build/libexec/libggml-vulkan.so": EMPTY}, {}, [("vulkan", False, {})]),
        # Other computers' CPUs, and GPUs of whose libraries nothing is known.
        (CPU | {f"{BIN}/libggml-rpc.so": EMPTY}, {}, []),
        (CPU | {f"{BIN}/libggml-opencl.so": EMPTY}, {}, [("opencl", False, {})]),
        # All in one file, or in libggml.so as up to 2024.
        ({PROGRAM: library(needed=("libcudart.so.12",))}, {}, [("cuda", True, {"libcudart.so.12": ()})]),
        (
            own() | {f"{BIN}/libggml.so.0": library(needed=("libvulkan.so.1",))},
            {},
            [("vulkan", True, {"libvulkan.so.1": ()})],
        ),
        # The driver's library is another check's matter.
        ({PROGRAM: library(needed=("libcudart.so.12", DRIVER)), RUNTIME: EMPTY}, {}, [("cuda", True, {})]),
        ({PROGRAM: EMPTY}, {}, None),
        ({PROGRAM: library(machine=ARM)}, {}, None),
        (OPENING | {f"{BIN}/libggml-hip.so": FOREIGN}, {}, [("hip", False, {})]),
        # The loader's order is not the one that counts.
        (LINKED | {"/lib/ld-musl-x86_64.so.1": b""}, {}, None),
        (LINKED, {"NIX_LD": "/run/current-system/sw/share/nix-ld/lib/ld.so"}, None),
        (LINKED | {"/etc/systemd/system/llama-server.service": VARIABLE}, {}, None),
        (LINKED | {"/etc/systemd/system/x.service": VARIABLE}, {}, [("hip", True, {"libhipblas.so.3": ()})]),
        (LINKED | {"/etc/ld.so.cache": b"torn"}, {}, None),
    ],
)
def test_backends(files: dict[str, Any], env: dict[str, str], expected: object) -> None:
    found = look(files, None, BIN, **env)
    assert (found.program, brief(found)) == (PROGRAM, expected)


def test_a_link_of_the_linker_is_not_opened() -> None:
    files = CPU | {f"{BIN}/libggml-hip.so.0": HIP}  # left over from another build
    assert brief(look(files, {f"{BIN}/libggml-hip.so": "libggml-hip.so.0"})) == []


def test_an_own_library_that_is_not_found() -> None:
    installed = "/usr/local/lib/libllama.so.0"
    files = {"/usr/local/bin/llama-cli": library(needed=("libllama.so.0",)), installed: LLAMA}
    (need,) = look(files, path="/usr/local/bin").missing
    assert (need.soname, need.copies) == ("libllama.so.0", (installed,))


@pytest.mark.parametrize(
    ("files", "links", "path", "expected"),
    [
        ({PROGRAM: "#!/bin/sh\nexec real"}, {}, BIN, None),
        ({PROGRAM: "#!/bin/sh\n", f"{BIN}/libggml-hip.so.0": HIP}, {}, BIN, [("hip", True, {"libhipblas.so.3": ()})]),
        ({PROGRAM: "#!/bin/sh\nLD_LIBRARY_PATH=/x exec real", f"{BIN}/libggml-hip.so.0": HIP}, {}, BIN, None),
        ({PROGRAM: "#!/bin/sh\n", "/app/libggml-hip.so": OPENED}, {}, BIN, None),
        (
            {PROGRAM: "#!/bin/sh\n", "/app/libggml-hip.so": OPENED},
            {"/app/llama-server": PROGRAM},
            BIN,
            [("hip", False, {"libhipblas.so.3": ()})],
        ),
    ],
)
def test_scripts(files: dict[str, Any], links: dict[str, str], path: str, expected: object) -> None:
    assert brief(look(files, links, path)) == expected


def test_the_usual_directory_of_images() -> None:
    files = {path.replace(BIN, "/app"): data for path, data in OPENING.items()}
    found = look(files, path="/usr/bin")
    assert (found.program, brief(found)) == ("/app/llama-server", [("hip", False, {"libhipblas.so.3": ()})])


def test_it_is_imported_only_where_a_program_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(machine: RecordedMachine) -> Any:
        steps = {key: run for key, _, run in probes.system_steps(machine, Host, lambda: ())}
        return steps["llama_cpp"]()

    monkeypatch.setattr(probes, "import_module", lambda name: pytest.fail(f"{name} is imported"))
    assert step(RecordedMachine(env={"PATH": "/usr/bin"})) == NO_LLAMA_CPP
    monkeypatch.undo()
    assert step(RecordedMachine(CPU, env={"PATH": BIN})).program == PROGRAM


def test_what_its_code_and_its_rocblas_are_for() -> None:
    code = library(
        needed=("librocblas.so.5",),
        runpath="$ORIGIN",
        named={".text": b"code", ".hip_fatbin": bundle("hipv4-amdgcn-amd-amdhsa--gfx1100")},
    )
    files = LINKED | {
        f"{BIN}/libggml-hip.so.0": code,
        f"{ROCM}/librocblas.so.5": EMPTY,
        f"{ROCM}/rocblas/library/TensileLibrary_lazy_gfx1151.dat": b"x",
        f"{ROCM}/rocblas/library/TensileLibrary_Type_HH_gfx1100.co": b"x",
    }
    (hip,) = known(look(files, LD_LIBRARY_PATH=ROCM).backends)
    assert (hip.targets, hip.blas, hip.missing) == (("gfx1100",), ("gfx1151",), ())
    (cuda,) = known(
        look({PROGRAM: library(needed=("libcudart.so.12",), named={".nv_fatbin": fatbin((2, 86, 0))})}).backends
    )
    assert cuda.targets == ("sm_86",)
    (stripped,) = known(look(LINKED).backends)
    assert isinstance(stripped.targets, Unknown)
