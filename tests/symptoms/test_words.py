"""What a message's own words tell: numbers, versions and names, held against the machine."""
# ruff: noqa: E501 - messages stand on one line, as they are printed

import re

import pytest

from gpudoctor.facts import Facts
from gpudoctor.symptoms.extractors import NOTHING, READERS, extracted
from tests.builders import change, nvidia_host
from tests.symptoms.samples import OOM

OOM_LINE = OOM.format(own=22.5, torch=21.9, kept=0.3)
HERE = nvidia_host()  # one RTX 4090, 8.9, 24 GiB, CUDA 12.8


def details(name: str, text: str, facts: Facts | None = None) -> tuple[str, ...]:
    return extracted(name, text.splitlines(), facts).details


@pytest.mark.parametrize("text", ["", "x", "(((", "exitcode", "sm_", "Xid (", "error 999999999", "\x00"])
def test_words_without_sense_tell_nothing(text: str) -> None:
    for name in (name for names in READERS.values() for name in names):
        assert (name, extracted(name, [text], HERE)) == (name, NOTHING)
        assert (name, extracted(name, [text] * 13)) == (name, NOTHING)


TABLE = [
        ("driver_found", "too old (found version 11040).", ("The driver that the program used supports CUDA up to 11.4.",)),
        ("cuda_name", "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", None),
        ("cuda_number", "Error 802: system not yet initialized", None),
        (
            "nvml_mismatch",
            "NVRM: API mismatch: the client has the version 550.107.02, but\nNVRM: this kernel module has the version 550.90.07.  Please",
            ("The program's libraries had version 550.107.02, the kernel module 550.90.07.",),
        ),
        ("nvml_mismatch", "Driver/library version mismatch\nNVML library version: 550.107", ("The NVML library had version 550.107.",)),
        (
            "container_requirement",
            "unsatisfied condition: cuda>=12.8, please update your driver",
            ("The image requires a driver that supports CUDA 12.8 or newer.",),
        ),
        (
            "torch_arch",
            "X with CUDA capability sm_120 is not compatible\nThe current PyTorch install supports CUDA capabilities sm_80 sm_90.",
            ("The GPU has compute capability 12.0; PyTorch was built for sm_80, sm_90: the GPU is newer than this build.",),
        ),
        (
            "torch_arch",
            "Found GPU0 NVIDIA GTX 1070 which is of cuda capability 6.1.\nMinimum and Maximum cuda capability supported by "
            "this version of PyTorch is\n(7.5) - (12.0)",
            ("The GPU has compute capability 6.1; PyTorch was built for sm_75 to sm_120: the GPU is older than this build.",),
        ),
        (
            "torch_arch",
            "Found GPU0 GTX 1050 Ti which is of compute capability (CC) 6.1.\nThe following list shows the CCs this version "
            "of PyTorch was built for and the hardware CCs it supports:\n- 7.5 which supports hardware CC >=7.5,<8.0\n"
            "- 9.0 which supports hardware CC >=9.0,<10.0 except {9.9}\nNo published build supports 6.1.",
            ("The GPU has compute capability 6.1; PyTorch was built for sm_75, sm_90: the GPU is older than this build.",),
        ),
        ("compiler_arch", "nvcc fatal : Unsupported gpu architecture 'compute_120a'", ("It was compiled for compute capability 12.0. CUDA 12.8 is the first to know it.",)),
        (
            "xid",
            "NVRM: Xid (PCI:0000:3b:00): 48, pid=7, DBE",
            ("Xid 48: Uncorrectable (double-bit) ECC error; the card, its PCIe link or its power supply is at fault.",),
        ),
        (
            "xid",
            "NVRM: Xid (PCI:0000:3b:00): 45, pid=7, Ch 01\nsomething else\nNVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen",
            ("Xid 79: GPU fell off the bus: PCIe link to it is gone; the card, its PCIe link or its power supply is at fault.", "Also logged: Xid 45."),
        ),
        ("sxid", "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32", None),
        ("assertion", "x.cu:1292: block: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.", ("The failed assertion: srcIndex < srcSelectDimSize.",)),
        ("vllm_memory", "Free memory on device (7.34/15.49 GiB) on startup is less than desired GPU memory utilization (0.8, 12.39 GiB).", ("7.34 of 15.49 GiB were free at startup, and it wanted 12.39 GiB.",)),
        ("oom_kill", "Out of memory: Killed process 4711 (python) total-vm:9kB, anon-rss:64221180kB", ("The kernel killed python (process 4711), which used 61.2 GiB of host memory.",)),
        ("out_of_memory", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.", ("The program tried to allocate 4.0 GiB more.",)),
        ("exit_code", "failed (exitcode: -9) local_rank: 3 (pid: 7)", ("Rank 3 was killed by SIGKILL: nearly always the OOM killer, because the host ran out of memory.",)),
        ("exit_code", "returned non-zero exit status 1.", ("The process exited with code 1.",)),
        ("exit_code", "exit code 139", ("The process was killed by SIGSEGV: a compiled library crashed.",)),
        ("nccl", "ncclSystemError: x\nLast error:\nError while creating shared memory segment", ("NCCL's last error: Error while creating shared memory segment",)),
        ("collective", "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1) ran for 600013 milliseconds", ("It waited 600 s in ALLREDUCE.",)),
        ("soname", "libcudnn.so.9: cannot open shared object file", ("libcudnn.so.9 is cuDNN 9; the wheels nvidia-cudnn-cuNN provide it.",)),
        ("soname", "libcublas.so.12: cannot open shared object file", ("libcublas.so.12 is CUDA 12's (wheel nvidia-cublas-cu12).",)),
        ("soname", "libcublas.so.13: cannot open shared object file", ("libcublas.so.13 is CUDA 13's (wheel nvidia-cublas).",)),
        ("soname", "dlerror: libmine.so.3: cannot open shared object file", ("The missing library: libmine.so.3.",)),
        ("cudnn_versions", "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.  CuDNN", ("cuDNN 8.0.5 was loaded; the program was compiled with 8.1.0.",)),
        ("cudnn_versions", "PyTorch was compiled  against (9, 1, 0) but found runtime version (8, 9, 7).", ("cuDNN 8.9.7 was loaded; the program was compiled with 9.1.0.",)),
        ("extension", "ImportError: /e/site-packages/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12", ("libcusparse.so.12 found a libnvJitLink.so.12 that is older than the one it was built with.",)),
        ("pip_versions", "ERROR: Could not find a version that satisfies the requirement torch==2.5.1 (from versions: 2.6.0+cu124)", ("For this Python the index has 2.6.0+cu124, but not the requested version.",)),
        ("vllm_cache", "ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB KV cache is needed, which is larger than the available KV cache memory (4.25 GiB). Based on", ("A sequence of 100000 tokens needs 4.26 GiB of KV cache, and 4.25 GiB are left.",)),
        ("extension", "ImportError: /e/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c10", ("The incompatible file is flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so of flash-attn.",)),
        ("flash_attention", "ModuleNotFoundError: No module named 'flash_attn_3.x'", ("flash_attn_3 is not in the package flash-attn (FlashAttention 2): installing that does not bring it.",)),
        ("flash_attention", "ModuleNotFoundError: No module named 'flash_attn'", ()),
        ("nvcc_versions", "The detected CUDA version (11.8) mismatches the version that was used to compile\nPyTorch (12.1).", ("nvcc is from CUDA 11.8, PyTorch was built with CUDA 12.1.",)),
        ("numpy_versions", "compiled using NumPy 1.x cannot be run in\nNumPy 2.0.2 as it may crash", ("NumPy 2.0.2 is installed.",)),
        ("glibc", "/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /e/x/_C.so)", ("_C.so needs GLIBCXX_3.4.32, which /lib/libstdc++.so.6 does not have.",)),
        ("pip_versions", "requirement torch==2.1 (from versions: none)", ("The index has no version at all for this Python: the Python or the index is wrong.",)),
        ("pip_versions", "requirement torch==2.1 (from versions: 2.5.0, 2.6.0)", ("For this Python the index has from 2.5.0 to 2.6.0, but not the requested version.",)),
        ("pip_versions", "requirement torch==2.1 (from versions: 2.5.0)", ("For this Python the index has 2.5.0, but not the requested version.",)),
        ("jax_outdated", "Outdated cuDNN installation found.\nVersion JAX was built against: 90100\nMinimum supported: 90100\nInstalled version: 8907", ("JAX found cuDNN 8907 but needs 90100 or newer.",)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), TABLE)
def test_words_tell(name: str, text: str, said: tuple[str, ...] | None) -> None:
    found = details(name, text)
    assert found == said if said is not None else found


def test_cudas_numbers_and_names_are_explained() -> None:
    assert details("cuda_number", "Error 802: x")[0].startswith("CUDA_ERROR_SYSTEM_NOT_READY means: ")
    assert details("cuda_name", "CUDA_ERROR_NO_DEVICE")[0].startswith("CUDA_ERROR_NO_DEVICE means: ")
    assert extracted("cuda_name", ["failed call to cuInit: UNKNOWN ERROR (303)"]).meaning.startswith(
        "libcuda.so.1 could not"
    )


def test_a_gpu_that_the_builds_code_fits_is_no_trouble() -> None:
    """The GB10 has 12.1, and code for 12.0 runs on it: PyTorch warns all the same."""
    lines = ["Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.", "    Minimum and Maximum cuda capability supported",
             "    by this version of PyTorch is", "    (8.0) - (12.0)"]  # fmt: skip
    found = extracted("torch_arch", lines)
    assert (found.harmless, found.details) == (True, ())
    assert not extracted("torch_arch", [line.replace("12.1", "13.0") for line in lines]).harmless


@pytest.mark.parametrize(
    ("own", "kept", "meaning", "rules_out"),
    [
        (22.5, 0.3, "the program itself needs more memory than this GPU has", True),
        (22.5, 5.0, "there is enough memory, but it is fragmented", True),
        (8.0, 0.3, "other processes use much of the GPU's memory, and too little was left for this one", False),
    ],
)
def test_who_took_the_memory(own: float, kept: float, meaning: str, rules_out: bool) -> None:
    found = extracted("out_of_memory", [OOM.format(own=own, torch=own - 1, kept=kept)])
    assert found.meaning == meaning
    assert bool(found.rules_out) == rules_out
    assert bool(found.advice) == (kept < 2)


def test_the_old_form_of_pytorchs_count() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; {} already allocated; 38.44 MiB "
        "free; {} reserved in total by PyTorch)"
    )
    assert extracted("out_of_memory", [text.format("9.54 GiB", "9.70 GiB")]).meaning.startswith("the program itself")
    assert extracted("out_of_memory", [text.format("1.54 GiB", "1.70 GiB")]).meaning.startswith("other processes")


@pytest.mark.parametrize(
    ("name", "text", "remark"),
    [
        ("driver_found", "(found version 11040)", "This does not match this machine now: the driver here supports CUDA up to 12.8."),
        ("driver_found", "(found version 12080)", None),
        ("container_requirement", "unsatisfied condition: cuda>=13.0, please", "The driver here supports CUDA up to 12.8."),
        (
            "torch_arch",
            "with CUDA capability sm_120 is not compatible",
            "No GPU of this machine has compute capability 12.0: the message is from another machine.",
        ),
        ("torch_arch", "with CUDA capability sm_89 is not compatible", None),
        ("compiler_arch", "Unsupported gpu architecture 'compute_120'", "No GPU of this machine has compute capability 12.0"),
        ("xid", "NVRM: Xid (PCI:0000:3b:00): 79, x", "No GPU of this machine is at 0000:3b:00.0"),
        ("xid", "NVRM: Xid (PCI:0000:01:00): 79, x", None),
        ("out_of_memory", OOM.format(own=22.5, torch=22, kept=0.1), None),
        ("out_of_memory", OOM.format(own=22.5, torch=22, kept=0.1).replace("23.69", "79.1"), "No GPU of this machine has 79.1 GiB"),
    ],
)  # fmt: skip
def test_a_log_of_another_machine_is_noticed(name: str, text: str, remark: str | None) -> None:
    facts = change(change(HERE, "nvidia.cuda.version", "12.8"), "gpus.0.address", "0000:01:00.0")
    said = " ".join(details(name, text, facts))
    if remark is None:
        assert "this machine" not in said
    else:
        assert remark in said


# What ends a number there is the end of its line, as far as a program can know.
TO_THE_LINES_END = ("exit_code", "jax_outdated", "nvml_mismatch")
NUMBER = re.compile(r"[\w.+-]*\d[\w.+-]*\w")


@pytest.mark.parametrize(("name", "text"), [(row[0], row[1]) for row in TABLE] + [("out_of_memory", OOM_LINE)])
def test_no_number_is_invented_where_a_message_is_cut_or_another_one_follows(name: str, text: str) -> None:
    whole = set(NUMBER.findall(" ".join(details(name, text))))
    for end in range(1, len(text)):
        inside = text[end - 1 : end].isalnum() and text[end].isalnum()
        if not (inside and name in TO_THE_LINES_END):
            said = set(NUMBER.findall(" ".join(details(name, text[:end]))))
            assert said <= whole, text[:end]


def test_what_a_cut_message_does_not_tell_is_left_out() -> None:
    cut = OOM_LINE.partition(" Including")[0]
    said = extracted("out_of_memory", [cut])
    assert said.details == ("It tried to allocate 2.0 GiB of the GPU's 23.7 GiB; 1.1 GiB were free.",)
    assert (said.meaning, said.advice) == ("", "")
    assert extracted("out_of_memory", [cut, OOM_LINE.replace("23.69", "79.10")]) == said  # another process's message
    assert details("out_of_memory", "Tried to allocate 2\n0.00 GiB. 1\n0.00 GiB free") == ()
    assert details("nvcc_versions", "nvcc 12.4 and GCC 11.4 on Ubuntu 22.04") == ()


FIXES = [
    ("torch_arch", "X with CUDA capability sm_120 is not compatible\nThe current PyTorch install supports CUDA capabilities sm_80 sm_90.", "torch --index-url https://download.pytorch.org/whl/cu128"),
    ("torch_arch", "Found GPU0 GTX 1080 which is of cuda capability 6.1.\nMinimum and Maximum cuda capability supported by this version of PyTorch is\n(7.0) - (12.0)", "torch --index-url https://download.pytorch.org/whl/cu126"),
    ("torch_arch", "X with CUDA capability sm_35 is not compatible", "CUDA_VISIBLE_DEVICES"),
    ("no_kernel", "no kernel image is available\nName: NVIDIA GeForce RTX 5090", "whl/cu128"),
    ("torch_driver", "too old (found version 11040).", "whl/cu118; sudo apt-get install nvidia-driver-580"),
    ("torch_driver", "too old (found version 12020).", "whl/cu126"),
    ("compiler_arch", "nvcc fatal : Unsupported gpu architecture 'compute_120a'", "cuda-toolkit-12-8"),
    ("compiler_arch", "nvcc fatal : Unsupported gpu architecture 'compute_35'", "cuda-toolkit-11-8"),
    ("compiler_arch", "ptxas fatal : Value 'sm_121a' is not defined", "nvidia-cuda-nvcc-cu12>=12.9"),
    ("ptx_versions", "ptxas /tmp/x, line 9; fatal   : Unsupported .version 8.5; current version is '8.2'", "which -a ptxas"),
    ("ptx_versions", "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.7; current version is '8.4'", "nvidia-cuda-nvcc-cu12==12.4.*"),
    ("onnxruntime_library", "libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open shared object file", "onnxruntime-gpu[cuda,cudnn]"),
    ("torch_pair", "xFormers was built for:\nPyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.0.0+cpu)", "torch==2.0.0 xformers --index-url https://download.pytorch.org/whl/cu118"),
    ("cuda_libraries", "Could not load dynamic library 'libcudart.so.11.0'; dlerror", "tensorflow[and-cuda]"),
    ("cupy_library", "ImportError: libnvrtc.so.11.2: cannot open shared object file", "cupy-cuda12x[ctk]"),
    ("cupy_library", "ImportError: libnvrtc.so.13: cannot open shared object file", "cupy-cuda13x[ctk]"),
    ("cudnn_parts", "Could not load library libcudnn_ops_infer.so.8.", "ctranslate2>=4.5"),
    ("cudnn_parts", "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}", "nvidia-cudnn-cu12==9.*"),
    ("cudnn_handle", "Could not create cudnn handle\nMemory usage: 16601251840 bytes free, 16928342016 bytes total.", "unset LD_LIBRARY_PATH"),
    ("cudnn_handle", "Could not create cudnn handle\nMemory usage: 100 bytes free, 16928342016 bytes total.", "XLA_PYTHON_CLIENT_PREALLOCATE=false"),
    ("soname", "OSError: libcusolver.so.11: cannot open shared object file", "pip install nvidia-cusolver-cu12"),
    ("extension", "ImportError: /e/site-packages/xformers/_C.so: undefined symbol: _ZN3c10", "torch xformers --index-url"),
    ("nvcc_versions", "The detected CUDA version (11.8) mismatches the version that was used to compile\nPyTorch (12.1).", "cuda-nvcc=12.1"),
    ("missing_module", "ModuleNotFoundError: No module named 'sklearn.svm'", "pip install scikit-learn"),
    ("named_install", "ImportError: requires Accelerate: `pip install 'accelerate>=0.26.0'`", "accelerate>=0.26.0"),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement torch==2.5.1 (from versions: 2.6.0+cu124)", "uv venv --seed --python 3.12"),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement tensorrt-libs==8.6.1 (from versions: 9.0.0.post11.dev1, 9.0.0.post12.dev1)", "export PIP_EXTRA_INDEX_URL=https://pypi.nvidia.com"),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement torch==2.1.2+cu118 (from versions: 2.0.1, 2.1.2, 2.15.0)", "export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cu118"),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement torchvision==0.21.0+rocm6.2.4 (from versions: 0.20.1, 0.21.0)", "export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/rocm6.2.4"),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement torch==2.1.2+cu999 (from versions: 2.0.1, 2.1.2)", ""),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement tensorflow==2.18.0 (from versions: 2.20.0rc0, 2.20.0, 2.21.0, 2.22.0rc0)", "uv venv --seed --python 3.12 tensorflow-env"),
    ("pip_versions", "ERROR: Could not find a version that satisfies the requirement xyz==1.0 (from versions: 2.20.0rc0, 2.20.0, 2.22.0rc0)", "pip install xyz==2.20.0"),
    ("arguments", "train.py: error: unrecognized arguments: --local-rank=0", "sed -i.bak; train.py"),
    ("vllm_cache", "the model's max seq len (100000), (4.26 GiB KV cache is needed, which is larger than the available KV cache memory (4.25 GiB). Based on", "--max-model-len 97760"),
    ("vllm_cache", "the model's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (8.53 GiB). Based on the available memory, the estimated maximum model length is 69872. Try", "--max-model-len 69872"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "commands"), FIXES)
def test_versions_become_commands(name: str, text: str, commands: str) -> None:
    typed = "\n".join(c for fix in extracted(name, text.splitlines()).fixes for c in fix.commands)
    assert all(one in typed.replace("'", "") for one in commands.split("; "))


def test_every_missing_library_is_named() -> None:
    lines = [f"Could not load dynamic library '{name}'; dlerror: x" for name in ("libcudart.so.12", "libcudnn.so.9")]
    said = " ".join(extracted("soname", lines).details)
    assert "libcudart.so.12" in said
    assert "libcudnn.so.9" in said


def test_a_prompt_that_shows_true_is_no_question() -> None:
    assert extracted("asked_available", [">>> torch.cuda.is_available()", "True"]).harmless
    assert not extracted("asked_available", [">>> torch.cuda.is_available()", "False"]).harmless


def test_a_build_that_is_only_in_pytorchs_index_says_so() -> None:
    line = (
        "ERROR: Could not find a version that satisfies the requirement torch==2.1.2+{} (from versions: 2.0.1, 2.1.2)"
    )
    said = extracted("pip_versions", [line.format("cu118")])
    assert said.meaning.startswith("torch 2.1.2+cu118 is not on PyPI")
    assert said.decided
    assert extracted("pip_versions", [line.format("cu999")]).fixes == ()
