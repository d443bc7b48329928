"""Intel's compute stack on Linux: the device nodes, and the libraries through which programs reach the GPU."""

import msgspec

from gpudoctor.facts.device_node import DeviceNode
from gpudoctor.facts.text_types import Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class IntelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What stands between a framework and Intel's GPU. The GPUs themselves are on PCI."""

    render: Maybe[tuple[DeviceNode, ...]] = NOT  # /dev/dri/renderD* of Intel's GPUs
    loader: Maybe[str | None] = NOT  # path of libze_loader.so.1, Level Zero's loader; None: nowhere
    loader_version: Maybe[Version | None] = NOT  # of that file: "1.28.2"; None: there is none
    runtime_build: Maybe[Small | None] = NOT  # of Intel's compute runtime: 37435 of 26.09.37435.1; None: not installed
    legacy: Maybe[bool] = NOT  # its edition for Gen8 to Gen11 (24.35, "legacy1") is installed
    opencl: Maybe[bool] = NOT  # its driver for OpenCL is registered
    level_zero: Maybe[str | None] = NOT  # path of libze_intel_gpu.so.1, Intel's driver for it; None: nowhere
