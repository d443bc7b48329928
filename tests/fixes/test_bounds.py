"""Whether what a fix would install leaves the installed packages working."""

import pytest

from gpudoctor.facts import Package, Python
from gpudoctor.fixes.bounds import bounded, clash, is_required
from tests.builders import python


def having(**requires: tuple[str, ...]) -> Python:
    found = (Package(name=n, version="1.0", directory="/site", requires=lines) for n, lines in requires.items())
    return python(packages=tuple(found))


@pytest.mark.parametrize(
    ("line", "spec", "breaks"),
    [
        ("huggingface-hub<1.0,>=0.34.0", "huggingface-hub<0.26", True),
        ("huggingface_hub (>=0.34)", "huggingface-hub<0.26", True),  # as older metadata has it
        ("huggingface-hub<1.0,>=0.34.0", "huggingface-hub<1", False),
        ("huggingface-hub>=0.25.9", "huggingface-hub<0.26", False),
        ("huggingface-hub>=0.26", "huggingface-hub<0.26", True),
        ("huggingface-hub>0.25", "huggingface-hub<0.26", False),
        ("huggingface-hub", "huggingface-hub<0.26", False),
        ("huggingface-hub[cli]>=1", "huggingface-hub<0.26", True),
        ("numpy>=2", "huggingface-hub<0.26", False),
        ("torch==2.15.0", "torch==2.10.*", True),
        ("torch==2.10.1", "torch==2.10.*", False),
        ("torch>=2.10", "torch==2.10.*", False),
        ("torch!=2.10.0", "torch==2.10.*", False),
        ("torch~=2.4", "torch==2.10.*", False),
        ("torch~=2.11.0", "torch==2.10.*", True),
        ("torch===odd", "torch==2.10.*", True),
        ("huggingface-hub>=0.34; extra == 'hub'", "huggingface-hub<0.26", False),
        ("huggingface-hub>=0.34; python_version < '3.9'", "huggingface-hub<0.26", False),
        ("huggingface-hub>=0.34; python_version >= '3.9'", "huggingface-hub<0.26", True),
        ("huggingface-hub>=0.34; sys_platform == 'win32'", "huggingface-hub<0.26", False),
        ("huggingface-hub @ https://example.org/h.whl", "huggingface-hub<0.26", False),
        ("huggingface-hub >= not a version", "huggingface-hub<0.26", False),
    ],
)
def test_a_pin_that_another_package_does_not_take(line: str, spec: str, breaks: bool) -> None:
    env = having(transformers=(line,))
    assert clash(env, spec) == (("transformers",) if breaks else ())
    assert clash(env, spec, but=("transformers",)) == ()


def test_all_that_is_required_at_once() -> None:
    env = having(transformers=("huggingface-hub<1.0,>=0.34.0",), peft=("huggingface_hub>=0.25",), diffusers=())
    assert bounded(env, "huggingface-hub") == "huggingface-hub<1.0,>=0.34.0"
    assert bounded(env, "huggingface-hub", but=("peft",)) == "huggingface-hub<1.0,>=0.34.0"
    assert bounded(env, "huggingface-hub", own=">=0.30") == "huggingface-hub<1.0,>=0.34.0"
    assert bounded(env, "huggingface-hub", own="<0.26") is None
    assert bounded(env, "numpy") == "numpy"
    assert is_required(env, "huggingface-hub")
    assert not is_required(env, "numpy")
