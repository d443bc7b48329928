"""Runs in the framework's interpreter: another user of the GPU, until its standard input is closed.

python busy.py memory      half of the free memory is taken, and nothing is computed
python busy.py computing   products without end
"""

import select
import sys

import torch


def asked():
    """Whether somebody wants us to end."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main():
    """Take what is asked for, say so, and stay."""
    a = torch.randn(4096, 4096, device="cuda")
    held = None
    if sys.argv[1] == "memory":
        held = torch.ones(torch.cuda.mem_get_info()[0] // 2, dtype=torch.uint8, device="cuda")
    out = a @ a
    torch.cuda.synchronize()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if held is not None:
        sys.stdin.read()
        return
    while not asked():
        for _ in range(20):
            torch.mm(a, a, out=out)
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
