"""torchvision, torchaudio and torchcodec in plans: with a new PyTorch, or next to the one that is there."""

import pytest

from gpudoctor.facts import Facts
from gpudoctor.knowledge.python_rules import companion_for
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, framework, plain_host, python
from tests.setup.grounds import machine
from tests.setup.plans import made, refused, step, wheels

BOTH = ("torchvision", "torchaudio")


@pytest.mark.parametrize(
    ("torch", "vision", "audio", "codec"),
    [
        ("2.0.1", "==0.15.2", "==2.0.2", None),
        ("2.9.1", "==0.24.1", "==2.9.1", "==0.9.*"),
        ("2.9", "==0.24.*", "==2.9.*", "==0.9.*"),
        ("2.11", "==0.26.*", "==2.11.*", "==0.11.*"),
        ("2.13.0", "==0.28.0", "==2.11.*", ">=0.12"),
        ("2.15.0", "==0.29.*", "==2.11.*", ">=0.12"),
    ],
)
def test_each_pytorch_has_its_companions(torch: str, vision: str, audio: str, codec: str | None) -> None:
    names = (*BOTH, "torchcodec")
    assert tuple(companion_for(name, torch) for name in names) == (vision, audio, codec)


@pytest.mark.parametrize("names", [(), ("torch",)])
def test_they_come_with_pytorch_from_its_index(names: tuple[str, ...]) -> None:
    found = made(machine("ada", branch=570), *names, companions=BOTH)
    assert wheels(found) == {
        "torch": "torch==2.14.*",
        "torchvision": "torchvision==0.29.*",
        "torchaudio": "torchaudio==2.11.*",
    }
    assert typed(step(found, "wheels").commands) == (
        "uv pip install --python /opt/gpu-env/bin/python --index-url https://download.pytorch.org/whl/cu126 "
        "'torch==2.14.*' 'torchvision==0.29.*' 'torchaudio==2.11.*'",
    )
    proofs = " ".join(typed(step(found, "proof").commands))
    assert "torchvision.ops.nms" in proofs
    assert "import torchaudio" in proofs
    assert found.requested == (*names, *BOTH)


@pytest.mark.parametrize(("manager", "form"), [("pixi", "pixi.toml"), ("poetry", "pyproject.toml")])
def test_projects_list_each_with_the_index(manager: str, form: str) -> None:
    found = made(machine("ada", branch=570), companions=BOTH, manager=manager)
    (text,) = (file.text or "" for file in step(found, "wheels").files if file.path.endswith(form))
    assert all(f'{name} = {{ version = "' in text for name in ("torch", *BOTH))
    assert text.count('name = "pytorch-cu126"') == (manager == "poetry")


def there(version: str, branch: int = 570) -> Facts:
    cuda = version.partition("+cu")[2]
    torch = framework("torch", version, cuda=f"{cuda[:2]}.{cuda[2:]}" if cuda else None)
    return change(machine("ada", branch=branch), "pythons", (python(torch),))


def test_next_to_a_pytorch_that_works_only_what_is_missing_comes() -> None:
    found = made(there("2.9.1+cu128"), "torch", companions=BOTH, into="/opt/env/bin/python")
    first = step(found, "wheels")
    assert first.title == "Install torchvision==0.24.1, torchaudio==2.9.1 into /opt/env/bin/python."
    assert typed(first.commands) == (
        "/opt/env/bin/python -m pip install --index-url https://download.pytorch.org/whl/cu128 "
        "torch==2.9.1 torchvision==0.24.1 torchaudio==2.9.1",
    )
    assert typed(first.undo) == ("/opt/env/bin/python -m pip uninstall --yes torchvision torchaudio",)


def test_a_pytorch_without_the_gpus_code_is_replaced_with_them() -> None:
    found = made(there("2.9.1+cpu"), companions=("torchvision",), into="/opt/env/bin/python")
    assert wheels(found) == {"torch": "torch==2.14.*", "torchvision": "torchvision==0.29.*"}
    assert "--force-reinstall" in typed(step(found, "wheels").commands)[0]


def test_in_a_new_environment_the_note_names_the_old_one() -> None:
    found = made(there("2.9.1+cu128"), companions=("torchvision",))
    assert found.notes == (
        "PyTorch 2.9.1+cu128 is installed in /opt/env and fits this machine: --into /opt/env leaves it as it is, and "
        "adds what is missing there.",
    )
    (old,) = made(there("2.9.1+cpu"), "torch").notes
    assert old.endswith(" does not fit this machine: --into /opt/env replaces it there.")


def test_a_pytorch_that_works_stays_and_is_verified() -> None:
    found = made(there("2.9.1+cu128"), "torch", into="/opt/env/bin/python")
    assert [s.id for s in found.steps] == ["proof"]
    assert found.notes[0].startswith("PyTorch 2.9.1+cu128 is installed and fits this machine: it stays as it is.")


def test_what_goes_next_to_it_agrees_with_its_cuda_and_cudnn() -> None:
    found = made(there("2.9.1+cu128"), "torch", "jax", "cupy", into="/opt/env/bin/python")
    assert wheels(found)["jax"].startswith("jax[cuda12]")
    assert wheels(found)["cupy"].startswith("cupy-cuda12x")
    newer = made(there("2.9.1+cu130", branch=595), "torch", "jax", into="/opt/env/bin/python")
    assert wheels(newer)["jax"].startswith("jax[cuda13]")


def test_what_is_replaced_is_named_and_comes_back_by_undo() -> None:
    kept = {"torch": "2.9.1+cu128", "jax": "0.4.20", "tensorflow": "2.18.0"}
    frameworks = tuple(framework(name, number) for name, number in kept.items())
    facts = change(machine("ada", branch=570), "pythons", (python(*frameworks),))
    first = step(made(facts, "torch", "jax", into="/opt/env/bin/python", upgrade=True), "wheels")
    assert first.title.endswith("into /opt/env/bin/python, in place of torch 2.9.1+cu128 and jax 0.4.20.")
    pip = "/opt/env/bin/python -m pip"
    assert typed(first.undo) == (
        f"{pip} install --no-deps --index-url https://download.pytorch.org/whl/cu128 torch==2.9.1+cu128",
        f"{pip} install --no-deps jax==0.4.20",
    )


def test_without_a_gpu_a_build_for_gpus_is_proven_on_the_cpu() -> None:
    own = there("2.9.1+cu128").pythons
    found = made(change(plain_host(), "pythons", own), companions=("torchvision",), into="/opt/env/bin/python")
    assert found.cuda == "cpu"
    assert "--device cpu" in typed(step(found, "proof").verify)[0]


def test_torchaudio_ended_before_cuda_13_2_and_python_3_15() -> None:
    newest = made(there("2.15.0+cu132", branch=595), companions=BOTH, into="/opt/env/bin/python")
    assert list(wheels(newest)) == ["torch", "torchvision"]
    assert refused(newest) == {"torchaudio": "torchaudio's last release (2.11) has no build for CUDA 13.2."}
    young = made(machine("ada"), companions=BOTH, python="3.15")
    assert "has wheels for Python 3.10 to 3.14, not 3.15" in refused(young)["torchaudio"]


def test_without_pytorch_there_are_none() -> None:
    facts = change(change(machine("ada"), "gpus.0.capability", None), "pci.0.capability", None)
    assert refused(made(facts, companions=("torchvision",)))["torchvision"].startswith("It needs PyTorch")
