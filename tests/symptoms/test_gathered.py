"""Lines that another program gathered: what it writes before each hides nothing of the message."""
# ruff: noqa: E501 - messages stand on one line, as they are printed

import time

import pytest

from gpudoctor.facts import Facts
from gpudoctor.knowledge.symptoms import recognise, symptoms
from gpudoctor.report.model import Report, SymptomEntry
from gpudoctor.symptoms import explained, scan
from gpudoctor.symptoms.lines import gathered

PASCAL = """/opt/env/torch/cuda/__init__.py:283: UserWarning:
    Found GPU0 NVIDIA GeForce GTX 1080 Ti which is of cuda capability 6.1.
    Minimum and Maximum cuda capability supported by this version of PyTorch is
    (7.0) - (12.0)

torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device"""
PREFIXES = (
    "comfy  | ",
    "[pod/train-0/main] ",
    "2026-01-16T02:32:47.402Z ",
    "2026-01-16T02:32:47.402123Z stderr F ",
    "Jan 16 02:32:47 gpu01 train[7]: ",
    "2026-01-16T02:32:47+0100 gpu01 train[7]: ",
    "[default0]:",
    "[rank3]: ",
    "[1,0]<stderr>: ",
)


def entries(text: str) -> list[SymptomEntry]:
    found = explained(Report(), scan([text.encode()]), Facts(), (), "elsewhere").symptoms
    return [one for one in found if one.role != "harmless"]


@pytest.mark.parametrize("prefix", ["", *PREFIXES])
def test_a_message_of_several_lines_is_read_whole(prefix: str) -> None:
    root, *more = entries("".join(f"{prefix}{line}\n" for line in PASCAL.splitlines()))
    assert (root.id, "6.1" in root.details[0], "sm_70 to sm_120" in root.details[0]) == ("torch-arch", True, True)
    commands = [command for one in (root, *more) for fix in one.fixes for command in fix.commands]
    assert [command.rpartition("/")[2] for command in commands] == ["cu126"]


@pytest.mark.parametrize(
    "text", ["Jan 16 02:32:47 gpu01 kernel: NVRM: x", "| 0  Tesla T4 | 1 |", "name | value", "x: y"]
)
def test_what_no_program_gathered_stays_as_it_is(text: str) -> None:
    assert gathered(text) == ("", text)


def test_lines_of_one_logger_are_not_joined() -> None:
    line = 'ERROR 04-05 01:12:55 [core.py:390]   File "/usr/local/lib/vllm/kv_cache_utils.py", in check_enough_memory'
    assert entries(f"{line}\nERROR 04-05 01:12:55 [core.py:390]     raise ValueError(\n") == []


def test_what_looks_like_an_error_is_one_that_nobody_knows() -> None:
    for line in (
        "LINK : fatal error LNK1104: cannot open file 'x.lib'",
        "/tmp/a/main.c:3:1: error: expected declaration",
        "kernel.cu(12): error: identifier is undefined",
        'Error loading "x.dll"',
        "(Worker pid=3) ERROR 03-05 09:56:09 [core.py:11] the engine is gone",
        "bash: line 3: some-tool: command not found",
    ):
        (found,) = entries(f"step 1\n{line}\n")
        assert (found.id, found.message) == ("", line)
    assert entries("ERROR metrics: not sent, retrying\nstep 2\nstep 3\nstep 4\n") == [], "the program went on"
    assert entries("[    3.1] WSL (1) ERROR: no such service\n0 errors, error rate 0.1\nloss error 0.3\n") == []


def test_a_message_before_the_word_traceback_counts() -> None:
    begin = "(Worker pid=307) ERROR 01-19 03:55:24 worker.py:233] "
    text = f"{begin}Cannot re-initialize CUDA in forked subprocess. Traceback (most recent call last):\n"
    assert [one.id for one in entries(f'{text}{begin}  File "x.py", line 3\n{begin}KeyError: 3\n')] == ["cuda-fork", ""]


SAID = {
    "argparse": "api_server.py: error: unrecognized arguments: /root/models/m",
    "yolo-dataset": "Dataset 'd.yaml' images not found, missing path '/data/valid/images'",
    "trainer-override": "TypeError: T.compute_loss() got an unexpected keyword argument 'num_items_in_batch'",
    "tokenizer-class": "ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.",
    "shm-full": "OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'",
    "jax-ffi": "jax.errors.JaxRuntimeError: UNIMPLEMENTED: No FFI handler registered for cusolver_potrf_ffi",
    "sycl-versions": "ImportError: /a/libur_loader.so.0: version `LIBUR_LOADER_0.10' not found (required by /b/libsycl.so.8)",
    "kernel-oops": "[   12.1] Oops: general protection fault, probably for non-canonical address 0x1: 0000 [#1] PREEMPT SMP",
}


@pytest.mark.parametrize("id_", SAID)
def test_what_programs_say(id_: str) -> None:
    assert [one.id for one in entries(SAID[id_])] == [id_]


def test_a_plugin_that_jax_skips_is_the_root_with_its_version() -> None:
    skipped = (
        "JAX plugin jax_cuda12_plugin version 0.9.2 is installed, but it is not compatible with the installed jaxlib "
        "version 0.9.0.1, so it will not be used."
    )
    root, failed = entries(f"{skipped}\n{SAID['jax-ffi']}\n")
    assert (root.id, failed.id, failed.fixes) == ("jax-plugin-version", "jax-ffi", ())
    assert "jax-cuda12-plugin==0.9.0.1 jax-cuda12-pjrt==0.9.0.1" in root.fixes[0].commands[0]


@pytest.mark.parametrize(("module", "meaning"), [("nvidia", "a GPU's driver crashed"), ("btrfs", "the kernel itself")])
def test_an_oops_is_of_the_module_at_its_place(module: str, meaning: str) -> None:
    text = f"{SAID['kernel-oops']}\n[   12.1] RIP: 0010:some_call+0x10/0x90 [{module}]\n"
    assert entries(text)[0].meaning.startswith(meaning)


def test_an_amd_target_that_the_log_names_decides_the_build() -> None:
    failed = "RuntimeError: HIP error: invalid device function\n"
    root = entries(f"  Name:                    gfx1151\n{failed}")[0]
    assert ("gfx1151" in root.details[0], "whl/rocm" in root.fixes[0].commands[0]) == (True, True)
    assert entries(f"  Name:   gfx1151\n  Name:   gfx1036\n{failed}")[0].details == ()


def test_no_expression_takes_long_on_a_crafted_line() -> None:
    slow = []
    for row in symptoms():
        begun = time.monotonic()
        for size in (2048, 4096, 8192):
            for text in row.has[:2]:
                recognise((f"{text} " * size)[:size])
        if time.monotonic() - begun > 10:  # generous: it takes milliseconds, and minutes where an expression backtracks
            slow.append(row.id)
    assert slow == []
