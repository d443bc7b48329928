"""Packages whose code is for other GPUs than the one that is here."""

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
