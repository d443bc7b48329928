"""Checks of variables that slow programs down or break them."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.environment.allocator_settings import allocator_settings
from gpudoctor.checks.environment.allocator_variable_unread import allocator_variable_unread
from gpudoctor.checks.environment.arch_list_without_gpu import arch_list_without_gpu
from gpudoctor.checks.environment.code_overridden import code_overridden
from gpudoctor.checks.environment.debugging_left_on import debugging_left_on
from gpudoctor.checks.environment.jax_platforms import jax_platforms
from gpudoctor.checks.environment.nccl_path_off import P2P, nccl_path_off
from gpudoctor.checks.environment.xla_flags_unknown import xla_flags_unknown
from gpudoctor.checks.visibility.cuda_misspelt import cuda_misspelt
from gpudoctor.facts import Facts, NcclSetting, Package
from gpudoctor.maybe import Unknown
from gpudoctor.tasks.as_typed import one_line
from tests.builders import ask, change, framework, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host

WHY = Unknown("nobody looked")
TORCH = with_framework(framework())


def env(facts: Facts, **variables: str) -> Facts:
    """The machine with these variables set."""
    return change(facts, "host.environment", variables)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (env(nvidia_host()), []),
        (env(nvidia_host(), CUDA_LAUNCH_BLOCKING="0"), []),
        (env(nvidia_host(), NCCL_DEBUG="INFO", TORCH_LOGS="+dynamo"), []),
        (
            env(nvidia_host(), CUDA_LAUNCH_BLOCKING="1"),
            [
                "CUDA_LAUNCH_BLOCKING=1 is set: each kernel must finish before the next one starts, so the GPU idles "
                "in "
                "between."
            ],
        ),
        (env(plain_host(), CUDA_LAUNCH_BLOCKING="1"), []),
        (env(amd_host(), CUDA_LAUNCH_BLOCKING="1"), []),
        (env(nvidia_host(), JAX_DISABLE_JIT="1"), []),
        (env(nvidia_host(), TORCH_COMPILE_DISABLE="1"), []),
        (
            env(TORCH, TORCH_COMPILE_DISABLE="1"),
            ["TORCH_COMPILE_DISABLE=1 is set: torch.compile compiles nothing."],
        ),
    ],
)
def test_debugging_left_on(facts: Facts, said: list[str]) -> None:
    assert [message for outcome, message in ask(debugging_left_on, facts) if outcome == "problem"] == said


def test_what_takes_the_gpu_away_is_a_warning() -> None:
    facts = change(TORCH, "pythons.0.packages", (Package(name="numba", version="0.60", directory="/x"),))
    (verdict,) = run(debugging_left_on, env(facts, NUMBA_ENABLE_CUDASIM="1"))
    assert verdict.severity is Severity.WARNING
    assert verdict.fixes[0].commands == ("unset NUMBA_ENABLE_CUDASIM",)
    assert one_line(verdict.fixes[0].undo) == "export NUMBA_ENABLE_CUDASIM=1"
    assert ask(debugging_left_on, env(change(TORCH, "pythons.0.packages", WHY), NUMBA_ENABLE_CUDASIM="1")) == [
        ("skipped", "")
    ]


@pytest.mark.parametrize(
    ("variables", "outcome"),
    [
        ({}, "pass"),
        ({"CUDA_FORCE_PTX_JIT": "0"}, "pass"),
        ({"CUDA_FORCE_PTX_JIT": ""}, "pass"),
        ({"CUDA_FORCE_PTX_JIT": "1"}, "problem"),
        ({"CUDA_DISABLE_JIT": "1"}, "problem"),
        ({"CUDA_CACHE_DISABLE": "1"}, "pass"),
    ],
)
def test_code_overridden(variables: dict[str, str], outcome: str) -> None:
    ((found, message),) = ask(code_overridden, env(nvidia_host(), **variables))
    assert found == outcome
    assert not message or message.startswith(f"{next(iter(variables))}=1 is set: the driver ")


def allocator(version: Any, value: str, name: str = "PYTORCH_CUDA_ALLOC_CONF") -> Facts:
    """A machine with a PyTorch of this version and settings of its allocator."""
    return env(with_framework(framework("torch", version)), **{name: value})


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (allocator("2.7.1", "expandable_segments:True"), ("pass", "")),
        (
            allocator("2.0.1", "expandable_segments:True"),
            (
                "problem",
                "PyTorch 2.0.1 rejects PYTORCH_CUDA_ALLOC_CONF: the option expandable_segments needs a later release.",
            ),
        ),
        (
            allocator("2.15.0", "max_split_size:128"),
            (
                "problem",
                "PyTorch 2.15.0 rejects PYTORCH_CUDA_ALLOC_CONF: there is no option max_split_size "
                "(max_split_size_mb?).",
            ),
        ),
        (
            allocator("2.6.0", "max_split_size_mb=128"),
            (
                "problem",
                "PyTorch 2.6.0 rejects PYTORCH_CUDA_ALLOC_CONF: name and value are parted by a colon, not by =.",
            ),
        ),
        (
            allocator("2.6.0", "expandable_segments:true"),
            (
                "problem",
                "PyTorch 2.6.0 rejects PYTORCH_CUDA_ALLOC_CONF: the value has to be True or False, with a capital "
                "letter.",
            ),
        ),
        (allocator("2.15.0", "an_option_of_tomorrow:1"), ("pass", "")),
        (allocator("2.6.0", "expandable_segments:true", "PYTORCH_ALLOC_CONF"), ("pass", "")),
        (
            allocator("2.12.0", "expandable_segments:1", "PYTORCH_ALLOC_CONF"),
            (
                "problem",
                "PyTorch 2.12.0 rejects PYTORCH_ALLOC_CONF: the value has to be True or False, with a capital letter.",
            ),
        ),
        (change(allocator("2.0.1", "expandable_segments:True"), "pythons.0.frameworks.0.cuda", None), ("pass", "")),
        (
            change(allocator("2.0.1", "expandable_segments:True"), "pythons.0.frameworks.0.cuda", WHY),
            ("unknown", "nobody looked"),
        ),
        (allocator(WHY, "expandable_segments:True"), ("unknown", "nobody looked")),
        (env(with_framework(framework(), plain_host()), PYTORCH_CUDA_ALLOC_CONF="x:1"), ("pass", "")),
    ],
)
def test_allocator_settings(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(allocator_settings, facts) == [verdict]


def test_what_is_understood_is_kept() -> None:
    (verdict,) = run(allocator_settings, allocator("2.0.1", "max_split_size_mb:64,expandable_segments:True"))
    assert verdict.fixes[0].commands == ("export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64",)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("8.9", ("pass", "")),
        ("7.5;8.0+PTX", ("pass", "")),
        ("8.0 8.6", ("pass", "")),  # machine code runs within its major
        ("Ada", ("pass", "")),
        ("12.0;9.0+PTX", "ill"),
        ("Volta;Turing", ("pass", "")),  # by PTX
        ("7.5", "ill"),
        ("sm_75", ("pass", "")),  # not understood
        ("", ("pass", "")),
    ],
)
def test_arch_list_without_gpu(text: str, verdict: object) -> None:
    message = (
        f"TORCH_CUDA_ARCH_LIST is {text!r}: extensions built here have no code for GPU 0 (NVIDIA GeForce RTX 4090, "
        "Ada, compute capability 8.9, sm_89)."
    )
    wanted = ("problem", message) if verdict == "ill" else verdict
    assert ask(arch_list_without_gpu, env(TORCH, TORCH_CUDA_ARCH_LIST=text)) == [wanted]


def test_arch_list_of_a_gpu_that_nobody_knows() -> None:
    facts = env(change(TORCH, "gpus.0.capability", WHY), TORCH_CUDA_ARCH_LIST="7.5")
    assert ask(arch_list_without_gpu, facts) == [("unknown", "nobody looked")]


FATAL = "F1121 23:09:49.631222 17120 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_gpu_foo=1"
FLAGS = "--xla_gpu_foo=1 --xla_gpu_autotune_level=2"
ENDED = framework("jax", "0.6.0", live=live(0, stage="devices", exit_code=1, stderr=FATAL, available=WHY))


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (env(with_framework(ENDED), XLA_FLAGS=FLAGS), "problem"),
        (env(with_framework(ENDED), XLA_FLAGS="--xla_gpu_bar=1"), "pass"),
        (with_framework(ENDED), "pass"),
        (env(with_framework(framework("jax", "0.6.0")), XLA_FLAGS=FLAGS), "pass"),
        (env(with_framework(framework("jax", "0.6.0", live=None)), XLA_FLAGS=FLAGS), "skipped"),
    ],
)
def test_xla_flags_unknown(facts: Facts, outcome: str) -> None:
    message = "JAX 0.6.0 aborts: its XLA does not know --xla_gpu_foo=1 in XLA_FLAGS."
    assert ask(xla_flags_unknown, facts) == [(outcome, message if outcome == "problem" else "")]


def test_the_flags_that_xla_knows_stay() -> None:
    (verdict,) = run(xla_flags_unknown, env(with_framework(ENDED), XLA_FLAGS=FLAGS))
    assert verdict.fixes[0].commands == ("export XLA_FLAGS=--xla_gpu_autotune_level=2",)


LINKED = change(change(nvidia_host(2), "gpus.0.nvlinks", (True,) * 4), "gpus.1.nvlinks", (True,) * 4)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (env(LINKED), ("pass", "")),
        (
            env(LINKED, NCCL_P2P_DISABLE="1"),
            ("problem", "NCCL_P2P_DISABLE is set: NCCL does not use NVLink between the 2 GPUs."),
        ),
        (env(LINKED, NCCL_P2P_DISABLE="0"), ("pass", "")),
        (env(nvidia_host(2), NCCL_P2P_DISABLE="1"), ("pass", "")),
        (env(nvidia_host(2), NCCL_SHM_DISABLE="1"), ("pass", "")),
        (
            env(nvidia_host(2), NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1"),
            (
                "problem",
                "NCCL_P2P_DISABLE and NCCL_SHM_DISABLE are set: NCCL sends all data between the GPUs through network "
                "sockets.",
            ),
        ),
        (env(nvidia_host(1), NCCL_P2P_DISABLE="1"), ("skipped", "")),
        (env(change(LINKED, "gpus.0.nvlinks", WHY), NCCL_P2P_DISABLE="1"), ("pass", "")),
    ],
)
def test_nccl_path_off(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(nccl_path_off, facts) == [verdict]


def test_nccl_path_off_by_a_file_of_nccl() -> None:
    facts = change(LINKED, "host.nccl_settings", (NcclSetting(name=P2P, value="1", file="/home/u/.nccl.conf"),))
    ((_, message),) = ask(nccl_path_off, facts)
    assert message.startswith("NCCL_P2P_DISABLE is set (in /home/u/.nccl.conf): NCCL does not use NVLink")
    assert ask(nccl_path_off, env(facts, NCCL_P2P_DISABLE="0")) == [("pass", "")]  # the environment is read first


@pytest.mark.parametrize(
    ("name", "ill"),
    [
        ("CUDA_VISIBLE_DEVICE", True),
        ("CUDA_VISIABLE_DEVICES", True),
        ("CUDA_VISBLE_DEVICES", True),
        ("cuda_visible_devices", True),
        ("CUDA_VISIBLE_DEVICES", False),
        ("CUDA_VISIBLE_DEVICES_OLD", False),
        ("CUDA_DEVICE_ORDER", False),
        ("CUDA_DEVICE_MAX_CONNECTIONS", False),
        ("HIP_VISIBLE_DEVICES", False),
        ("NVIDIA_VISIBLE_DEVICES", False),
    ],
)
def test_cuda_misspelt(name: str, ill: bool) -> None:
    message = f"{name} is set, but nothing reads it: the variable is called CUDA_VISIBLE_DEVICES."
    assert ask(cuda_misspelt, env(nvidia_host(), **{name: "0"})) == [("problem", message) if ill else ("pass", "")]


def test_a_right_name_beside_a_wrong_one_is_enough() -> None:
    facts = env(nvidia_host(), CUDA_VISIBLE_DEVICE="0", CUDA_VISIBLE_DEVICES="0")
    assert ask(cuda_misspelt, facts) == [("pass", "")]


JAX = framework("jax", "0.6.0", live=None)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (with_framework(JAX), ("pass", "")),
        (
            env(with_framework(JAX), JAX_PLATFORMS="cpu"),
            ("problem", "JAX_PLATFORMS=cpu keeps JAX 0.6.0 from using the GPU."),
        ),
        (
            env(with_framework(JAX), JAX_PLATFORM_NAME="CPU"),
            ("problem", "JAX_PLATFORM_NAME=CPU keeps JAX 0.6.0 from using the GPU."),
        ),
        (env(with_framework(JAX), JAX_PLATFORMS="cuda,cpu"), ("pass", "")),
        (env(with_framework(JAX), JAX_PLATFORMS="gpu"), ("pass", "")),
        (env(with_framework(JAX), JAX_PLATFORMS=""), ("pass", "")),
        (env(with_framework(JAX, plain_host()), JAX_PLATFORMS="cpu"), ("pass", "")),
        (env(change(with_framework(JAX), "pythons.0.frameworks.0.variant", "cpu"), JAX_PLATFORMS="cpu"), ("pass", "")),
        (
            env(change(with_framework(JAX), "pythons.0.frameworks.0.variant", WHY), JAX_PLATFORMS="cpu"),
            ("unknown", "nobody looked"),
        ),
    ],
)
def test_jax_platforms(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(jax_platforms, facts) == [verdict]


def test_the_name_gpu_asks_jax_for_rocm_as_well() -> None:
    error = "RuntimeError: Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of known backends"
    failed = with_framework(framework("jax", "0.6.2", live=live(0, error=error)))
    message = "JAX 0.6.2 from using the GPU: gpu stands for cuda and rocm, and JAX wants both."
    facts = env(failed, JAX_PLATFORMS="gpu, cpu")
    assert ask(jax_platforms, facts) == [("problem", f"JAX_PLATFORMS=gpu, cpu keeps {message}")]
    assert run(jax_platforms, facts)[0].fixes[0].commands == ("export JAX_PLATFORMS=cuda,cpu",)
    assert ask(jax_platforms, env(failed, JAX_PLATFORMS="cuda")) == [("pass", "")]


GROWS = "expandable_segments:True"
NEW = "PYTORCH_ALLOC_CONF"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (allocator("2.7.1", GROWS, NEW), ("problem", "PyTorch 2.7.1 does not read PYTORCH_ALLOC_CONF.")),
        (
            allocator("2.9.1", GROWS, NEW),
            ("problem", "PyTorch 2.9.1 does not read expandable_segments in PYTORCH_ALLOC_CONF."),
        ),
        (allocator("2.9.1", "max_split_size_mb:64", NEW), ("pass", "")),
        (allocator("2.10.0", GROWS, NEW), ("pass", "")),
        (allocator("2.7.1", GROWS), ("pass", "")),
        (env(allocator("2.7.1", GROWS), PYTORCH_CUDA_ALLOC_CONF=GROWS, PYTORCH_ALLOC_CONF=GROWS), ("pass", "")),
        (allocator(WHY, GROWS, NEW), ("unknown", "nobody looked")),
        (allocator(None, GROWS, NEW), ("pass", "")),
    ],
)
def test_allocator_variable_unread(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(allocator_variable_unread, facts) == [verdict]
