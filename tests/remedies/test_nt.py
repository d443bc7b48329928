"""Commands as PowerShell takes them."""

import pytest

from gpudoctor.judge import Fix
from gpudoctor.remedies.nt import command, worded


@pytest.mark.parametrize(
    ("unix", "windows"),
    [
        ("C:/env/Scripts/python.exe -m pip install torch", "C:\\env\\Scripts\\python.exe -m pip install torch"),
        ("""C:/p.exe -c 'print(ones(1, device="cuda"))'""", """C:\\p.exe -c "print(ones(1, device='cuda'))\""""),
        ("export CUDA_VISIBLE_DEVICES=0", "$env:CUDA_VISIBLE_DEVICES = '0'"),
        ("SYCL_UR_TRACE=1 C:/p.exe -c 'import torch'", "$env:SYCL_UR_TRACE = '1'; C:\\p.exe -c \"import torch\""),
        ("unset UV_TORCH_BACKEND", "Remove-Item Env:UV_TORCH_BACKEND"),
        ("rm -r ~/gpu-env", "Remove-Item -Recurse ~\\gpu-env"),
        ("~/gpu-env/bin/python -m pip list", "~\\gpu-env\\Scripts\\python.exe -m pip list"),
        ("pip install --index-url https://download.pytorch.org/whl/cu126 torch",) * 2,
    ],
)
def test_command(unix: str, windows: str) -> None:
    assert command(unix) == windows


def test_all_of_a_fix_is_worded() -> None:
    fix = worded(Fix("Do it.", ("unset A",), undo="export A=1", verify="C:/x.exe"))
    assert (fix.commands, fix.undo, fix.verify) == (("Remove-Item Env:A",), "$env:A = '1'", "C:\\x.exe")
