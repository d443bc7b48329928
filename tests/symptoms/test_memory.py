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
    # A desktop may hold the little that is not free: vLLM takes less. Another program holds more.
    assert vllm_memory([line], None).fixes[1].tasks == (NVIDIA,)
    assert vllm_memory([line.replace("101.3", "61.3")], None).fixes[0].tasks == (NVIDIA,)


def test_attention_that_asks_for_much_on_an_amd_gpu() -> None:
    rest = (
        "GPU 0 has a total capacity of 15.92 GiB of which 9.00 GiB is free. Of the allocated memory 5.00 GiB is "
        "allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated."
    )
    line = f"HIP out of memory. Tried to allocate 66.00 GiB. {rest}"
    variable = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
    assert variable in out_of_memory([line], None).fixes[0].commands[0]
    for other in (line.replace("66.00", "2.00"), line.replace("HIP", "CUDA")):
        assert not any(variable in one for fix in out_of_memory([other], None).fixes for one in fix.commands)
