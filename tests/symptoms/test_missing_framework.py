"""A message about a framework that the checked Python does not have."""

import pytest

from gpudoctor.facts import Distribution, Package
from gpudoctor.fixes.row_steps import steps
from gpudoctor.knowledge.symptoms import recognise
from gpudoctor.setup.plan import Wheel
from gpudoctor.symptoms.extractors import NOTHING, extracted
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, framework, with_framework
from tests.setup.grounds import machine
from tests.setup.plans import made


@pytest.mark.parametrize("branch", [580, 550])
def test_pytorch_is_installed_in_the_build_that_setup_would_choose(branch: int) -> None:
    facts = machine("ada", branch=branch)
    path = facts.pythons[0].path
    found = extracted("missing_framework", ["ModuleNotFoundError: No module named 'torch'"], facts)
    assert found.meaning == f"PyTorch is not installed in {path}"
    planned: Wheel = made(facts, "torch", driver="no").wheels[0]
    own, setup, build = found.fixes
    # PyPI has one build of each release, for CUDA 13 today, which needs driver 580.
    index = "" if branch == 580 else f"--index-url https://download.pytorch.org/whl/{planned.variant} "
    assert typed(own.tasks) == (f"{path} -m pip install {index}torch",)
    assert typed(setup.tasks) == ("gpudoctor setup pytorch",)
    assert "--no-build-isolation" in typed(build.tasks)[0]


def test_a_python_of_the_distribution_is_left_alone() -> None:
    facts = machine("ada")
    facts = change(facts, "pythons.0.externally_managed", True)
    (setup,) = extracted("missing_framework", ["ImportError: No module named 'torch'"], facts).fixes
    assert typed(setup.tasks) == ("gpudoctor setup pytorch",)


@pytest.mark.parametrize(
    ("line", "spec"),
    [
        ("No module named 'jaxlib'", "'jax[cuda"),
        ("No module named 'onnxruntime'", "'onnxruntime-gpu[cuda"),
        ("No module named 'tensorflow'", "'tensorflow[and-cuda]=="),
        ("No module named 'cupy'", "'cupy-cuda1"),
        ("Cannot use GPU, CuPy is not installed", "'cupy-cuda1"),
    ],
)
def test_a_framework_is_installed_here_or_planned(line: str, spec: str) -> None:
    found = extracted("missing_framework", [line], machine("ada"))
    assert spec in typed(found.fixes[0].tasks)[0]
    assert typed(found.fixes[1].tasks)[0].startswith("gpudoctor setup ")


def test_tensorflow_is_not_put_beside_another_framework() -> None:
    found = extracted("missing_framework", ["No module named 'tensorflow'"], with_framework(framework()))
    assert [typed(fix.tasks) for fix in found.fixes] == [("gpudoctor setup tensorflow",)]


def test_where_it_is_installed_another_python_ran() -> None:
    lines = ["ModuleNotFoundError: No module named 'torch'"]
    assert extracted("missing_framework", lines, with_framework(framework())) == NOTHING
    assert extracted("missing_framework", lines) == NOTHING


@pytest.mark.parametrize(
    "after",
    [
        (
            "      [end of output]",
            "  note: This error originates from a subprocess, and is likely not a problem with pip.",
        ),
        ("", "hint: `flash-attn@2.8.3` depends on `torch`, but doesn't declare it as a build dependency."),
    ],
)
def test_a_build_does_not_see_the_environment(after: tuple[str, ...]) -> None:
    lines = ["ModuleNotFoundError: No module named 'torch'", *after]
    found = extracted("missing_framework", lines, with_framework(framework()))
    assert found.meaning.startswith("a package is built in an environment of its own (build isolation), which has no ")
    (build,) = found.fixes
    assert typed(build.tasks) == ("/opt/env/bin/python -m pip install --no-build-isolation PACKAGE",)
    bare = extracted("missing_framework", lines, machine("ada"))
    assert [typed(fix.tasks)[0].rpartition(" ")[2] for fix in bare.fixes] == ["torch", "PACKAGE"]


def test_a_build_that_can_do_without_nvcc() -> None:
    lines = [
        "ModuleNotFoundError: No module named 'torch'",
        "      [end of output]",
        "  note: This error originates from a subprocess, and is likely not a problem with pip.",
        "ERROR: Failed to build 'flash-attn' when getting requirements to build wheel",
    ]
    facts = change(with_framework(framework()), "toolkits.home.nvcc", None)
    (build,) = extracted("missing_framework", lines, facts).fixes
    assert typed(build.tasks) == (
        "FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE /opt/env/bin/python -m pip install --no-build-isolation PACKAGE",
    )
    assert "needs no nvcc" in build.message
    facts = change(facts, "toolkits.home.nvcc", "12.8")
    (build,) = extracted("missing_framework", lines, facts).fixes
    assert typed(build.tasks)[0].startswith("/opt/env/bin/python")


def test_the_first_transformers_that_knows_a_model() -> None:
    line = (
        "ValueError: The checkpoint you are trying to load has model type `qwen3` but Transformers does not recognize "
        "this architecture."
    )

    def of(*packages: tuple[str, str, tuple[str, ...]]) -> list[tuple[str, ...]]:
        there = tuple(Package(name=n, version=v, directory="/x", requires=r) for n, v, r in packages)
        facts = change(with_framework(framework()), "pythons.0.packages", there)
        return [typed(fix.tasks) for fix in extracted("model_type", [line], facts).fixes]

    old = ("transformers", "4.49.0", ())
    assert of(old) == [("/opt/env/bin/python -m pip install 'transformers>=4.51,<5'",)]
    assert of(("transformers", "4.57.1", ())) == []
    assert of(old, ("vllm", "0.8.0", ("transformers<4.50",))) == []
    assert typed(extracted("model_type", [line]).fixes[0].tasks) == ("python -m pip install 'transformers>=4.51,<5'",)
    assert extracted("model_type", [line.replace("qwen3", "my-own")]) == NOTHING


@pytest.mark.parametrize(
    ("package", "version", "command"),
    [
        ("onnxruntime-gpu", "1.21.1", "/opt/env/bin/python -m pip install 'onnxruntime-gpu>1.21.1,<1.27'"),
        ("onnxruntime", "1.21.1", "/opt/env/bin/python -m pip install 'onnxruntime>1.21.1'"),
    ],
)
def test_a_newer_onnx_runtime_stays_with_its_cuda(package: str, version: str, command: str) -> None:
    own = Package(name=package, version=version, directory="/x")
    facts = change(with_framework(framework()), "pythons.0.packages", (own,))
    line = "Unsupported model IR version: 12, max supported IR version: 10"
    newer, older = extracted("onnx_version", [line], facts).fixes
    assert typed(newer.tasks) == (command,)
    assert "m.ir_version = 10" in older.message
    assert extracted("onnx_version", [line]) == NOTHING


def test_a_toolkit_comes_with_the_repository_that_has_it() -> None:
    """Ubuntu itself has no cuda-toolkit-12-8: apt-get would report "Unable to locate package"."""
    line = "nvcc fatal   : Unsupported gpu architecture 'compute_120'"
    ubuntu = change(machine("blackwell"), "host.distribution", Distribution(id="ubuntu", version="24.04"))
    ubuntu = change(ubuntu, "host.sources", ())
    first, *_ = extracted("compiler_arch", [line], ubuntu).fixes
    commands = typed(first.tasks)
    keyring = next(n for n, command in enumerate(commands) if "cuda-keyring" in command)
    assert keyring < commands.index("sudo apt-get install cuda-toolkit-12-8")
    unknown, *_ = extracted("compiler_arch", [line]).fixes
    assert "https://developer.nvidia.com/cuda-downloads" in unknown.message


def test_a_rows_toolkit_is_of_pytorchs_release_and_from_nvidias_repository() -> None:
    debian = change(
        with_framework(framework(version="2.6.0+cu124", cuda="12.4")),
        "host.distribution",
        Distribution(id="debian", version="12", codename="bookworm"),
    )
    debian = change(debian, "host.sources", ())
    row = recognise("op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)")
    assert row is not None
    commands = list(steps(row, debian)[0].commands)
    keyring = next(n for n, command in enumerate(commands) if "cuda-keyring" in command)
    assert keyring < commands.index("sudo apt-get install cuda-toolkit-12-4")
    assert commands[-1].startswith("export CUDA_HOME=/usr/local/cuda-12.4 ")


def test_a_build_without_any_toolkit_says_so() -> None:
    line = "op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)"
    said = extracted("no_toolkit", [line], change(with_framework(framework()), "toolkits.nvccs", ()))
    assert (said.details, said.confirmed) == (("No nvcc was found on this machine.",), True)
    assert extracted("no_toolkit", [line]) == NOTHING


def test_numba_gets_the_compiler_of_the_drivers_release() -> None:
    line = "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found."
    older = change(
        change(with_framework(framework()), "nvidia.cuda.version", "12.4"), "nvidia.nvml.cuda_version", "12.4"
    )
    (fix,) = extracted("numba_compiler", [line], older).fixes
    pins = "'numba-cuda[cu12]' 'nvidia-cuda-nvcc-cu12==12.4.*' 'nvidia-cuda-nvrtc-cu12==12.4.*'"
    assert typed(fix.tasks) == (f"/opt/env/bin/python -m pip install {pins}",)
    newest = change(older, "nvidia.cuda.version", "12.9")
    assert extracted("numba_compiler", [line], newest) == NOTHING
    assert extracted("numba_compiler", [line]) == NOTHING
