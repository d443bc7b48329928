"""What variables can name: interfaces, RDMA devices, files, compilers."""

import pytest

from gpudoctor.facts import NamedPath
from gpudoctor.knowledge.variables import PathRow, variables
from gpudoctor.maybe import Unknown
from gpudoctor.probes.host.network import interfaces, plugin_off_path, rdma_devices, rdma_library
from gpudoctor.probes.nvidia.named_paths import named_paths
from gpudoctor.recorded_machine import RecordedMachine

DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1052    12    0    0    0     0          0         0     1052      12    0    0    0     0       0          0
enp90s0np0: 9941520   16471    0    0    0     0          0         0  1215303   10210    0    0    0     0       0          0
"""  # noqa: E501


def test_interfaces() -> None:
    assert interfaces(RecordedMachine({"/proc/net/dev": DEV})) == ("lo", "enp90s0np0")
    assert interfaces(RecordedMachine({})) == Unknown("/proc/net/dev lists no interface")


def test_rdma_devices() -> None:
    there = RecordedMachine({"/sys/class/infiniband/mlx5_0/node_type": "1: CA", "/sys/class/infiniband/mlx5_1/x": ""})
    assert rdma_devices(there) == ("mlx5_0", "mlx5_1")
    assert rdma_devices(RecordedMachine({})) == ()


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({}, ()),
        ({"CC": "  "}, ()),
        ({"CC": "/usr/bin/gcc -m64"}, (("CC", "/usr/bin/gcc", True),)),
        ({"CC": "bin/gcc"}, ()),
        ({"CC": "'"}, ()),
        ({"NVCC_CCBIN": "/usr/bin/g++-12"}, (("NVCC_CCBIN", "/usr/bin/g++-12", False),)),
        ({"CXX": "g++-12"}, (("CXX", "g++-12", False),)),
        (
            {"XLA_FLAGS": "--xla_dump_to=/tmp/x --xla_gpu_cuda_data_dir=/opt/env/lib/"},
            (("XLA_FLAGS", "/opt/env/lib/nvvm/libdevice", False),),
        ),
        ({"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/cuda"}, (("XLA_FLAGS", "/cuda/nvvm/libdevice", True),)),
        ({"XLA_FLAGS": "--xla_gpu_cuda_data_dir=./cuda"}, ()),
        ({"TRITON_PTXAS_PATH": "/gone/ptxas"}, (("TRITON_PTXAS_PATH", "/gone/ptxas", False),)),
        ({"ROCBLAS_TENSILE_LIBPATH": "/cuda/nvvm"}, (("ROCBLAS_TENSILE_LIBPATH", "/cuda/nvvm", True),)),
        ({"ROCBLAS_LAYER": "1"}, ()),
        ({"SSL_CERT_FILE": "/gone/cacert.pem"}, (("SSL_CERT_FILE", "/gone/cacert.pem", False),)),
        ({"SSL_CERT_FILE": "/usr/bin/gcc", "CURL_CA_BUNDLE": " "}, ()),  # as on most machines: it is there
    ],
)
def test_named_paths(env: dict[str, str], found: tuple[tuple[str, str, bool], ...]) -> None:
    machine = RecordedMachine({"/usr/bin/gcc": "", "/cuda/nvvm/libdevice/libdevice.10.bc": ""}, env=env)
    assert tuple((one.variable, one.path, one.exists) for one in named_paths(machine)) == found


def test_the_links_of_a_named_path_are_resolved() -> None:
    links = {"/usr/local/cuda": "/usr/local/cuda-12.4"}
    named = "/usr/local/cuda/bin/ptxas"
    machine = RecordedMachine(
        {"/usr/local/cuda-12.4/bin/ptxas": ""}, links=links, env={"TRITON_PTXAS_PATH": named, "CC": "/gone/gcc"}
    )
    real = "/usr/local/cuda-12.4/bin/ptxas"
    assert NamedPath(variable="TRITON_PTXAS_PATH", path=named, real=real, exists=True) in named_paths(machine)
    assert NamedPath(variable="CC", path="/gone/gcc", exists=False) in named_paths(machine)


@pytest.mark.parametrize("row", variables().paths.rows, ids=lambda row: row.name)
def test_every_variable_of_the_table_is_looked_for(row: PathRow) -> None:
    """Each alone: what makes the probe read the table has to fit all of its names."""
    assert named_paths(RecordedMachine({}, env={row.name: "/gone/there"})) == (
        NamedPath(variable=row.name, path="/gone/there", exists=False),
    )


ADAPTER = {"/sys/class/infiniband/mlx5_0/node_type": "1: CA"}
AWS = "/opt/amazon/aws-ofi-nccl/lib"


@pytest.mark.parametrize(
    ("files", "env", "found"),
    [
        ({}, {}, None),  # there is no adapter
        (ADAPTER, {}, False),
        (ADAPTER | {"/usr/lib64/libibverbs.so.1": ""}, {}, True),
        (ADAPTER | {"/opt/rdma/libibverbs.so.1": ""}, {"LD_LIBRARY_PATH": "/opt/rdma"}, True),
        (ADAPTER | {"/opt/rdma/libibverbs.so.1": ""}, {}, False),
        (ADAPTER | {"/opt/env/lib/libibverbs.so.1": ""}, {"CONDA_PREFIX": "/opt/env"}, True),
    ],
)
def test_rdma_library(files: dict[str, str], env: dict[str, str], found: bool | None) -> None:
    assert rdma_library(RecordedMachine(files, env=env)) == found


@pytest.mark.parametrize(
    ("files", "env", "found"),
    [
        ({f"{AWS}/libnccl-net.so": ""}, {}, None),  # there is no adapter
        (ADAPTER, {}, None),
        (ADAPTER | {f"{AWS}/libnccl-net.so": ""}, {}, AWS),
        (ADAPTER | {f"{AWS}/libnccl-net.so": ""}, {"LD_LIBRARY_PATH": AWS}, None),
        (ADAPTER | {f"{AWS}/libnccl-net.so": ""}, {"NCCL_NET_PLUGIN": f"{AWS}/libnccl-net.so"}, None),
        (ADAPTER | {f"{AWS}/libnccl-net.so": "", "/usr/lib64/libnccl-net.so": ""}, {}, None),
    ],
)
def test_plugin_off_path(files: dict[str, str], env: dict[str, str], found: str | None) -> None:
    assert plugin_off_path(RecordedMachine(files, env=env)) == found
