"""The files, directories and compilers that environment variables name."""

from collections.abc import Iterator

from gpudoctor.facts.toolkit import NamedPath
from gpudoctor.machine import Machine

_DATA_DIR = "--xla_gpu_cuda_data_dir="
# XLA looks in this part of the directory (xla/service/gpu/llvm_gpu_backend/nvptx_libdevice_path.cc).
LIBDEVICE = "nvvm/libdevice"

# Of the table's names: it is read only where one may be set.
_PREFIXES = (
    *("CC", "CXX", "CUDAHOSTCXX", "NVCC_", "NUMBA_", "TRITON_", "LLAMA_CPP_", "VLLM_NCCL_"),
    *("ROCBLAS_TENSILE_", "HIPBLASLT_TENSILE_", "HIP_DEVICE_LIB_"),
)

# Set on many machines, and mostly right: of the table's rows too.
_BUNDLES = ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def named_paths(machine: Machine) -> tuple[NamedPath, ...]:
    """Return what the variables of the table name; relative paths are left out: programs run elsewhere."""
    return tuple(_named(machine))


def _named(machine: Machine) -> Iterator[NamedPath]:
    env = {name: value for name, value in machine.env.items() if value.strip()}
    for flag in env.get("XLA_FLAGS", "").split():
        if flag.startswith(f"{_DATA_DIR}/"):
            path = f"{flag.removeprefix(_DATA_DIR).rstrip('/')}/{LIBDEVICE}"
            yield NamedPath(variable="XLA_FLAGS", path=path, exists=machine.exists(path))
    bundles = (value for name, value in env.items() if name in _BUNDLES and value.startswith("/"))
    if not any(name.startswith(_PREFIXES) for name in env) and all(map(machine.exists, bundles)):
        return
    from gpudoctor.knowledge.variables import variables

    for row in variables().paths.rows:
        value = env.get(row.name, "")
        path = _program(value) if row.kind == "compiler" else value
        if path.startswith("/"):
            there = machine.exists(path)
            real = machine.real(path) if there else ""
            yield NamedPath(variable=row.name, path=path, real=real, exists=there)
        elif path and row.kind == "compiler" and "/" not in path:
            yield NamedPath(variable=row.name, path=path, exists=machine.which(path) is not None)


def _program(value: str) -> str:
    """The program of a command line such as "g++-13 -m64"."""
    import shlex

    try:
        return next(iter(shlex.split(value)), "")
    except ValueError:
        return ""
