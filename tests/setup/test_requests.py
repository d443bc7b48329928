"""The names that users type: frameworks, companions, toolkits, and those that something else replaced."""

import re

import msgspec
import pytest

from gpudoctor.knowledge.requests import requests
from gpudoctor.setup.planner import plan
from gpudoctor.setup.request import RequestError, requested
from tests.setup.grounds import machine


@pytest.mark.parametrize(
    ("name", "toolkit", "cudnn"),
    [
        ("cuda", "", False),
        ("nvcc", "", False),
        ("toolkit", "", False),
        ("CUDA-Toolkit", "", False),
        ("nvidia-cuda-toolkit", "", False),
        ("cuda-toolkit==12.4", "12.4", False),
        ("cuda-12.8", "12.8", False),
        ("cuda12.4.1", "12.4", False),
        ("cudnn", None, True),
        ("libcudnn", None, True),
    ],
)
def test_names_of_the_toolkit(name: str, toolkit: str | None, cudnn: bool) -> None:
    found = requested([name])
    assert (found.toolkit, found.cudnn) == (toolkit, cudnn)


@pytest.mark.parametrize(
    ("name", "planned", "said"),
    [
        ("tensorflow-gpu", "tensorflow", "and-cuda"),
        ("tf-nightly-gpu", "tensorflow", "empty"),
        ("tensorflow-directml", "tensorflow", "WSL 2"),
        ("apex", "torch", "torch.amp"),
        ("torch.jit", "torch", "torch.export"),
        ("torchscript", "torch", "torch.compile"),
        ("torch-directml", "torch", "no release since 2024"),
        ("jax[cuda11]", "jax", "0.4.25"),
    ],
)
def test_what_took_a_names_place_is_planned(name: str, planned: str, said: str) -> None:
    found = requested([name])
    assert (found.frameworks, found.refused) == ((planned,), ())
    assert said in found.replaced[0]


@pytest.mark.parametrize("name", ["mxnet", "theano", "cudf", "sklearn", "torchtext", "numpy"])
def test_what_has_no_plan_has_an_alternative(name: str) -> None:
    found = requested([name, "pytorch"])
    assert found.frameworks == ("torch",)
    assert [r.requested for r in found.refused] == [name]
    assert found.refused[0].why
    assert found.refused[0].instead


def test_conda_s_old_name_is_the_toolkit() -> None:
    found = requested(["cudatoolkit"])
    assert found.toolkit == ""
    assert "cuda-toolkit" in found.replaced[0]


def test_each_row_leads_to_a_plan_or_says_what_else() -> None:
    for row in requests().row:
        assert bool(row.plan) != bool(row.instead), row.names
        for name in row.names:
            found = requested([name])
            assert found.refused or found.frameworks or found.toolkit is not None, name
    names = [name for row in requests().row for name in row.names]
    assert len(names) == len(set(names))


def test_an_unknown_name_is_a_usage_error() -> None:
    with pytest.raises(RequestError, match=re.escape('Did you mean "torchvision"?')):
        requested(["torchvison"])
    with pytest.raises(RequestError, match=r"There are pytorch, .* cudnn"):
        requested(["xyzzy"])


@pytest.mark.parametrize(
    ("name", "requirement"),
    [
        ("torch==2.7.1", "torch==2.7.1"),
        ("pytorch==2.7", "torch==2.7.*"),
        ("torch==2.7.*", "torch==2.7.*"),
        ("torch", "torch==2.14.*"),
    ],
)
@pytest.mark.parametrize("cpu", [False, True])
def test_a_release_of_pytorch_is_planned_where_it_fits(name: str, requirement: str, cpu: bool) -> None:
    made = plan(machine("ada"), msgspec.structs.replace(requested([name, "torchvision"]), cpu=cpu))
    assert (made.wheels[0].requirement, made.refused) == (requirement, ())
    assert len(made.wheels) == 2


def test_a_release_without_a_build_for_the_gpu_is_refused() -> None:
    made = plan(machine("blackwell"), requested(["torch==2.5.1"]))
    assert made.wheels == ()
    assert [one.requested for one in made.refused] == ["PyTorch 2.5.1"]


def test_other_packages_do_not_keep_a_plan_from_being_made() -> None:
    found = requested(["torch", "jupyter", "tensorflow==2.17"])
    assert found.frameworks == ("torch",)
    jupyter, tensorflow = found.refused
    assert jupyter.instead.endswith("python -m pip install jupyter")
    assert tensorflow.why == "A release can be requested of PyTorch and of cuda-toolkit."
    for names in (["jupyter"], ["torch", "pytroch"], ["torch", "--x"]):
        with pytest.raises(RequestError):
            requested(names)
