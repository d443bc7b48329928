"""What lists the processes that hold a GPU's memory: the tool of its vendor."""

import pytest

from gpudoctor.symptoms.extractors.memory import out_of_memory
from gpudoctor.tasks import query

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
