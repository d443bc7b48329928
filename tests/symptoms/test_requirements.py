"""Requirements that contradict each other, and a wheel for another Python, by pip's own words."""

import pytest

from gpudoctor.facts import Facts, Python
from gpudoctor.symptoms.extractors import NOTHING, extracted

CONFLICT = """\
ERROR: Cannot install -r requirements.txt (line 2) and torch==2.6.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested torch==2.6.0
    torchvision 0.20.1 depends on torch==2.5.1
"""  # noqa: E501 - as pip prints it
OTHER = (
    CONFLICT.replace("torch==2.6.0", "numpy==2.0.2")
    .replace("torchvision 0.20.1", "numba 0.59.1")
    .replace("torch==2.5.1", "numpy<1.27 and >=1.22")
)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (CONFLICT, "sed -i.bak 's/^torchvision==0\\\\.20\\\\.1\\\\b.*/torchvision==0.21.0/' requirements.txt"),
        (OTHER, "sed -i.bak 's/^numpy==2\\\\.0\\\\.2\\\\b.*/numpy/' requirements.txt"),
    ],
)
def test_the_pin_that_another_package_contradicts(text: str, edit: str) -> None:
    found = extracted("pip_conflict", text.splitlines())
    assert found.fixes[0].commands == (edit.replace("\\\\", "\\"), "python -m pip install -r requirements.txt")
    assert "which is required as well" in found.meaning


def test_without_a_file_nothing_is_edited() -> None:
    first = "ERROR: Cannot install torch==2.6.0 and torchvision==0.20.1 because these package versions have conflicting"
    (fix,) = extracted("pip_conflict", [first, *CONFLICT.splitlines()[1:]]).fixes
    assert fix.commands == ()
    assert "torchvision==0.21.0" in fix.message
    assert extracted("pip_conflict", [first]) == NOTHING


def test_a_wheel_names_its_python() -> None:
    line = (
        "ERROR: onnxruntime_gpu-1.20.0-cp310-cp310-manylinux_2_28_x86_64.whl is not a supported wheel on this platform."
    )
    own, other = extracted("wheel_name", [line]).fixes
    assert own.commands == ("python -m pip install onnxruntime-gpu==1.20.0",)
    assert "--python 3.10" in other.commands[1]


@pytest.mark.parametrize(
    ("wheel", "python", "words"),
    [
        ("torch-2.6.0-cp310-cp310-win_amd64.whl", "3.10.4", None),  # of the right Python, so of another system
        ("torch-2.6.0-cp310-cp310-win_amd64.whl", "3.12.1", "the Python that was checked is 3.12"),
        ("vllm-0.9.0-cp38-abi3-manylinux1_x86_64.whl", "3.12.1", None),  # serves every later Python
    ],
)
def test_a_wheel_for_this_python_is_refused_for_its_platform(wheel: str, python: str, words: str | None) -> None:
    facts = Facts(pythons=(Python(path="/venv/bin/python", version=python),))
    found = extracted("wheel_name", [f"ERROR: {wheel} is not a supported wheel on this platform."], facts)
    assert found == NOTHING if words is None else words in found.meaning
