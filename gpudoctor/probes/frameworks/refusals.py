"""Finds, in what a framework printed, the sentence with which it refuses the GPU, and CUDA's number in it."""

import re

from gpudoctor.lazy_regex import pattern

# Colours of ONNX Runtime's log, ECMA-48 control sequences.
_COLOUR = pattern(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST = 2000

# The most telling pattern first; each was printed by a real release. TensorFlow and JAX tell it on stderr alone, and
# ONNX Runtime does too when it falls back to the CPU.
_SENTENCES = {
    "tensorflow": (
        r"failed call to cuInit: .+",
        r"kernel (?:reported )?version .+ does not match DSO version .+",
        r"libcuda reported version is: .+",
        r"Could not load dynamic library .+",
        r"Cannot dlopen some GPU libraries\..*",
        r"(?:HIP|hip)\w* .*(?:error|failed).*",
        r"Could not find cuda drivers on your machine.*",
    ),
    "jax": (
        r"operation cu\w+\(.*\) failed: CUDA_ERROR\w+.*",
        r"operation cu\w+.* failed: .*(?:driver|CUDA_ERROR|insufficient).*",
        r"(?:CUDA|ROCm?) backend failed to initialize: .+",
        r"Unable to initialize backend '(?:cuda|rocm|gpu)': .+",
        r"(?:RuntimeError|ValueError|ImportError|OSError|AttributeError|XlaRuntimeError): .+",
        r"JAX plugin \S+ version .+",
        r"An NVIDIA GPU may be present on this machine, but .+",
    ),
    "onnxruntime": (
        r"Failed to load library .+",
        r"EP Error .+",
        r"CUDA failure \d+: .+",
        r"Failed to create \w+ExecutionProvider\..*",
    ),
}
# What a program gets that insists on a GPU where JAX has none; whatever JAX logged says more.
_EMPTY = ("Unknown backend", "AssertionError")

_NAME = pattern(r"\b(CUDA_ERROR_[A-Z_]+)\b")
# torch "Error 802: ...", ONNX Runtime "CUDA failure 100: ...", TensorFlow "UNKNOWN ERROR (303)".
_NUMBER = pattern(r"\b(?:Error |CUDA failure |ERROR \()(\d{1,4})\b")


def plain(text: str) -> str:
    """The text without colours."""
    return _COLOUR.sub("", text)


def refusal(framework: str, stderr: str, error: str | None) -> str | None:
    """The sentence with which a framework refuses the GPU.

    Args:
        framework: its import name.
        stderr: what it printed.
        error: the exception's text, None where there was none.
    """
    if error is not None and not error.startswith(_EMPTY):
        return error
    text = plain(stderr)
    for sentence in _SENTENCES.get(framework, ()):
        found = re.findall(sentence, text)
        if found:
            # Of a chain of exceptions the last is the one that ended it.
            return str(found[-1]).strip()[:_LONGEST]
    return error


def number(text: str | None) -> int | None:
    """CUDA's number of an error where the text has it or the name of the driver API's constant; None where neither."""
    found = _NUMBER.search(text or "")
    if found:
        return int(found[1])
    name = _NAME.search(text or "")
    return _by_name(name[1]) if name else None


def _by_name(name: str) -> int | None:
    from gpudoctor.knowledge.errors import cuda_error

    # The driver API's results end at 999, CUDA_ERROR_UNKNOWN.
    codes = (code for code in range(1000) if (row := cuda_error(code)) and row.name == name)
    return next(codes, None)
