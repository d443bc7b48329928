"""The GPU architectures that a PyTorch was built for, read from its library without importing it."""

from typing import BinaryIO

from gpudoctor.parsers.elf.rodata import rodata_string

# torch.cuda.get_arch_list() splits one C string of libtorch_python.so: TORCH_CUDA_ARCH_FLAGS or PYTORCH_ROCM_ARCH
# joined by blanks (pytorch/pytorch, torch/csrc/cuda/Module.cpp, THCPModule_getArchFlags).
_NAME = rb"(?:(?:sm|compute)_\d{2,3}[af]?|gfx[0-9a-f]{3,4}(?:[:+-][a-z0-9+:-]+)?)"
_SEVERAL = rb"(?<=\0)" + _NAME + rb"(?: " + _NAME + rb")+ ?(?=\0)"
_ONE = rb"(?<=\0)" + _NAME + rb"(?=\0)"


def torch_arch_list(file: BinaryIO) -> tuple[str, ...] | None:
    """Return what `torch.cuda.get_arch_list()` says, such as ('sm_80', 'sm_90', 'compute_90') or ('gfx90a',).

    Args:
        file: `torch/lib/libtorch_python.so`, open in binary mode.

    Returns:
        None where no such string stands in the library: a PyTorch for the CPU, or an unknown build.

    Raises:
        NotElfError: where the file is no sound ELF file.
        OSError: where the file cannot be read.
    """
    # A lone name may be some other constant, so a list is looked for first.
    found = rodata_string(file, _SEVERAL) or rodata_string(file, _ONE)
    return tuple(found.decode("ascii").split()) if found else None
