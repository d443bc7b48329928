"""What lists the processes that hold a GPU's memory: the tool of its vendor."""

import pytest

from gpudoctor.facts import Facts
from gpudoctor.symptoms.extractors.memory import out_of_memory, vllm_memory
from gpudoctor.tasks import as_root, query
from tests.builders import change

NVIDIA = query("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv")
FULL = "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.92 GiB of which 1.10 GiB is free."


@pytest.mark.parametrize(
    ("line", "look"),
    [
        (f"torch.OutOfMemoryError: HIP out of memory. {FULL}", query("amd-smi", "process")),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB", query("amd-smi", "process")),
        (f"torch.OutOfMemoryError: CUDA out of memory. {FULL}", NVIDIA),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", NVIDIA),
    ],
)
def test_the_tool_is_the_vendors(line: str, look: object) -> None:
    assert out_of_memory([line], None).fixes[0].tasks == (look,)


def test_vllm_where_gpu_and_cpu_share_their_memory() -> None:
    line = (
        "ValueError: Free memory on device (101.3/121.69 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 109.5 GiB)."
    )
    spark = change(Facts(), "host.platform", "dgx-spark")
    first = vllm_memory([line], spark).fixes[0]
    assert first.tasks[0] == as_root("sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches")
    assert vllm_memory([line], None).fixes[0].tasks == (NVIDIA,)
