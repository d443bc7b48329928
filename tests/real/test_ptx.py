"""The kernels are assembled for every GPU from Maxwell to Blackwell, by NVIDIA's assemblers of two CUDA releases."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.smoke import ptxas

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
# Wheels that hold ptxas, and what it knows: 12.8's was the first with Blackwell, 13.0's the first without Maxwell.
WHEELS = {
    "nvidia-cuda-nvcc-cu11==11.8.89": [arch for arch in ptxas.EVERY if arch <= 90],
    "nvidia-cuda-nvcc-cu12==12.8.93": list(ptxas.EVERY),
}


@pytest.mark.parametrize("wheel", WHEELS)
def test_it_is_assembled_without_a_spill_for_every_gpu(interpreter: Callable[..., str], wheel: str) -> None:
    environment = Path(interpreter(wheel.partition("=")[0], wheel)).parent.parent
    (found,) = environment.rglob("ptxas")
    found.chmod(0o755)
    assert set(WHEELS[wheel]) <= set(ptxas.known(str(found)))
    assert [words for words in (ptxas.trouble(str(found), arch) for arch in WHEELS[wheel]) if words] == []
