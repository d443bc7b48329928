"""Packages whose code is for other GPUs than the one that is here."""

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.packages.arch_missing import arch_missing
from gpudoctor.facts import Facts
from gpudoctor.facts.python import PackageCode
from gpudoctor.maybe import Unknown, known
from gpudoctor.tasks.as_typed import shown
from tests.builders import change, gpu
from tests.checks.environments import A100, BLACKWELL, PASCAL, commands, environment, machine, one, package, torch

LIBRARY = "/opt/env/lib/python3.11/site-packages/sageattention/_fused.so"
LOCAL = PackageCode(package="sageattention", version="2.1.1", path=LIBRARY, archs=("sm_86",))


def having(code: object, card: dict[str, str] = BLACKWELL) -> Facts:
    facts = environment(torch("2.7.0"), packages=(package("sageattention", "2.1.1"),), facts=machine(card=card))
    return change(facts, "pythons.0.code", code)


def test_what_was_compiled_for_another_card_is_compiled_for_this_one() -> None:
    facts = having((LOCAL,))
    assert one(arch_missing, facts) == (
        "problem",
        "sageattention 2.1.1 has no kernels for GPU 0 (NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0, "
        "sm_120): it covers only up to sm_86.",
    )
    typed = commands(arch_missing, facts)
    assert "TORCH_CUDA_ARCH_LIST=12.0 " in typed
    assert "--no-build-isolation --no-cache-dir git+https://github.com/thu-ml/SageAttention.git" in typed
    proof = run(arch_missing, facts)[0].fixes[0].verify
    assert proof
    assert shown(proof) == f"cuobjdump --list-elf {LIBRARY} | grep sm_120"


@pytest.mark.parametrize(
    ("archs", "card", "outcome"),
    [
        (("sm_80", "sm_90a"), BLACKWELL, "problem"),
        (("sm_80", "compute_80", "sm_90a"), BLACKWELL, "pass"),
        (("sm_120",), BLACKWELL, "pass"),
        (("sm_100f",), BLACKWELL, "problem"),
        (("sm_70", "sm_80"), A100, "pass"),
        (("sm_90a",), A100, "problem"),
        (("sm_75", "compute_75"), PASCAL, "problem"),
        (Unknown("it has other code, too"), PASCAL, "pass"),
    ],
)
def test_what_runs(archs: tuple[str, ...], card: dict[str, str], outcome: str) -> None:
    code = PackageCode(package="faiss-gpu-cu12", version="1.14", path="/x.so", archs=archs)
    assert one(arch_missing, having((code,), card))[0] == outcome


ADA = {"name": "NVIDIA GeForce RTX 4090", "generation": "Ada", "capability": "8.9", "chip": "AD102"}
HOPPER = {"name": "NVIDIA H100 PCIe", "generation": "Hopper", "capability": "9.0", "chip": "GH100"}


def built(archs: tuple[str, ...], modules: tuple[str, ...], card: dict[str, str]) -> Facts:
    libraries = tuple(f"{name}.cpython-311-x86_64-linux-gnu.so" for name in ("_fused", *modules))
    owner = package("sageattention", "2.2.0", libraries=libraries)
    code = PackageCode(package="sageattention", version="2.2.0", path=LIBRARY, archs=archs)
    facts = environment(torch("2.7.0"), packages=(owner,), facts=machine(card=card))
    return change(facts, "pythons.0.code", (code,))


@pytest.mark.parametrize(
    ("archs", "modules", "card", "lacks"),
    [
        (("sm_86",), ("_qattn_sm80",), ADA, "_qattn_sm89"),
        (("sm_80", "compute_80"), ("_qattn_sm80",), BLACKWELL, "_qattn_sm89"),
        (("sm_89", "compute_89"), ("_qattn_sm80", "_qattn_sm89"), HOPPER, "_qattn_sm90"),
        (("sm_86", "sm_89"), ("_qattn_sm80", "_qattn_sm89"), ADA, ""),
        (("sm_120a",), ("_qattn_sm80", "_qattn_sm89"), BLACKWELL, ""),
        (("sm_80",), ("_qattn_sm80",), A100, ""),
        (("sm_80",), ("_qattn",), ADA, ""),  # 2.0 has all in one module
        (("sm_80",), (), ADA, ""),
    ],
)
def test_the_module_for_the_generation_is_there(
    archs: tuple[str, ...], modules: tuple[str, ...], card: dict[str, str], lacks: str
) -> None:
    outcome, text = one(arch_missing, built(archs, modules, card))
    assert (outcome, lacks in text) == ("problem" if lacks else "pass", True)


@pytest.mark.parametrize("archs", [None, Unknown("it has GPU code or sources of it in other files, too")])
def test_names_of_files_show_it_where_no_code_was_counted(archs: object) -> None:
    facts = built(("sm_80",), ("_qattn_sm80",), BLACKWELL)
    code = () if archs is None else (msgspec.structs.replace(LOCAL, archs=archs),)
    lacks = change(facts, "pythons.0.code", code)
    assert one(arch_missing, lacks) == (
        "problem",
        f"sageattention {'2.2.0' if archs is None else '2.1.1'} was built without _qattn_sm89, its module for GPU 0 "
        "(NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0, sm_120).",
    )
    proof = run(arch_missing, lacks)[0].fixes[0].verify
    assert proof
    assert "import sageattention._qattn_sm89" in shown(proof)
    has = change(built(("sm_80",), ("_qattn_sm80", "_qattn_sm89"), BLACKWELL), "pythons.0.code", code)
    assert one(arch_missing, has) == ("pass", "")
    ampere = change(lacks, "gpus", (*known(lacks.gpus), gpu(1, **A100)))
    assert [verdict.severity for verdict in run(arch_missing, ampere)] == [Severity.ADVICE]


def test_a_missing_module_is_built_here_or_done_without() -> None:
    facts = built(("sm_80", "sm_86"), ("_qattn_sm80",), ADA)
    assert one(arch_missing, facts)[1] == (
        "sageattention 2.2.0 was built without _qattn_sm89, its module for GPU 0 (NVIDIA GeForce RTX 4090, Ada, "
        "compute capability 8.9, sm_89): it was compiled for sm_80 sm_86."
    )
    typed = commands(arch_missing, facts)
    assert "TORCH_CUDA_ARCH_LIST=8.9 " in typed
    assert "sageattention==1.0.6" in typed
    other = change(facts, "gpus", (*known(facts.gpus), gpu(1, **A100)))
    assert [verdict.severity for verdict in run(arch_missing, other)] == [Severity.ADVICE]


def test_a_package_that_is_no_extension_of_pytorch_is_upgraded_not_built() -> None:
    code = PackageCode(package="faiss-gpu-cu12", version="1.14", path="/x.so", archs=("sm_80",))
    typed = commands(arch_missing, having((code,)))
    assert "pip install --upgrade faiss-gpu-cu12" in typed
    assert "build-isolation" not in typed


def test_next_to_a_gpu_that_it_runs_on_it_is_advice() -> None:
    facts = having((LOCAL,))
    other = change(facts, "gpus", (*known(facts.gpus), gpu(1, **(A100 | {"capability": "8.9"}))))
    assert [verdict.severity for verdict in run(arch_missing, other)] == [Severity.ADVICE]


def test_unknowns_are_no_pass() -> None:
    assert one(arch_missing, having(Unknown("not counted"))) == ("unknown", "not counted")
    assert one(arch_missing, change(having((LOCAL,)), "gpus.0.capability", Unknown("no answer")))[0] == "unknown"
