"""What a message's own words tell besides: numbers, versions, names, compared with the machine's facts."""

from collections.abc import Callable, Sequence
from importlib import import_module

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import UnknownFactError


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """What the words tell.

    Attributes:
        details: sentences for a person.
        meaning: what the message means, where the words say it better than its row.
        fixes: what helps, the best first.
        advice: what the message itself advises, and why that does not help here.
        decided: the fixes are the whole answer: what the row advises holds in other cases.
        harmless: the words show that nothing is wrong.
        confirmed: the facts of this machine show what the words say.
        rules_out: checks whose findings do not explain the message, because its words tell otherwise.
    """

    details: tuple[str, ...] = ()
    meaning: str = ""
    fixes: tuple[Fix, ...] = ()
    advice: str = ""
    decided: bool = False
    harmless: bool = False
    confirmed: bool = False
    rules_out: tuple[str, ...] = ()


# Logs are cut and wrapped anywhere: a reader takes a number only where what follows it shows that it is whole.
Reader = Callable[[Sequence[str], Facts | None], Extracted]
NOTHING = Extracted()
# The module of each reader; a module is loaded for the messages that need it.
READERS = {
    "arch": ("torch_arch", "compiler_arch", "no_kernel", "amd_arch"),
    "driver": ("driver_found", "cuda_number", "cuda_name", "nvml_mismatch", "container_requirement"),
    "frameworks": (
        "torch_driver", "cuda_build", "ptx_versions", "onnxruntime_library", "torch_pair", "cuda_libraries",
        "jax_library", "cupy_library", "asked_available", "jax_plugin", "missing_framework", "numba_compiler",
    ),
    "faults": ("xid", "sxid", "assertion", "oops"),
    "modules": ("module_build", "legacy_branch", "rm_init", "bound_driver", "kfd_skipped"),
    "memory": ("out_of_memory", "vllm_memory", "vllm_cache", "cudnn_handle", "oom_kill", "ggml_memory"),
    "processes": ("exit_code", "ordinal", "nccl", "collective"),
    "models": ("model_type", "onnx_version"),
    "requirements": ("pip_conflict", "wheel_name"),
    "absent_packages": ("missing_module", "named_install", "required_library", "renamed_package"),
    "software": (
        "soname", "cudnn_versions", "extension", "nvcc_versions", "numpy_versions", "glibc", "pip_versions",
        "jax_outdated", "cudnn_parts", "arguments", "missing_path", "flash_attention", "no_toolkit",
    ),
}  # fmt: skip


def extracted(name: str, lines: Sequence[str], facts: Facts | None = None) -> Extracted:
    """What the lines of a message tell.

    Args:
        name: the reader, as the message's row names it; empty: there is none.
        lines: the message's own line, and those after it.
        facts: of the checked machine; None: nothing is known of it.
    """
    module = next((module for module, names in READERS.items() if name in names), None)
    if module is None:
        return NOTHING
    reader: Reader = getattr(import_module(f"gpudoctor.symptoms.extractors.{module}"), name)
    try:
        return reader(lines, facts)
    except UnknownFactError:
        return reader(lines, None)
