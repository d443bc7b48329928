"""What a fix installs of one package leaves the others working: what they require of it decides which way is taken."""

from typing import Any

import pytest

from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.packages.module_removed import module_removed
from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.facts import Facts, Package, PackageImport, UnmetRequirement
from gpudoctor.knowledge.release_families import ended, release_families
from gpudoctor.targets import OnPython
from gpudoctor.tasks.as_typed import typed as as_typed
from tests.builders import change
from tests.checks.environments import commands, environment, one, package, torch

PIP = "/opt/env/bin/python -m pip"
CACHED = "ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/x/huggingface_hub/__init__.py)"
TENSOR = "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'"
HUB = ("huggingface-hub<1.0,>=0.34.0",)


def having(*packages: Package, errors: dict[str, str] | None = None) -> Facts:
    versions = {p.name: p.version for p in packages}
    done = tuple(
        PackageImport(package=name, version=versions[name], module=name.replace("-", "_"), error=error)
        for name, error in (errors or {}).items()
    )
    return change(environment(torch("2.9.1"), packages=packages), "pythons.0.imports", done)


def typed(check: Any, facts: Facts) -> list[str]:
    return [line for line in commands(check, facts).splitlines() if line.startswith(PIP)]


DIFFUSERS = (
    package("diffusers", "0.26.3", requires=("huggingface-hub>=0.20.2",)),
    package("huggingface-hub", "0.36.0"),
)
NEWER = f"{PIP} install --upgrade diffusers 'huggingface-hub<1.0,>=0.34.0'"


def test_a_removed_name_where_another_package_needs_the_release_without_it() -> None:
    facts = having(*DIFFUSERS, package("transformers", "4.57.1", requires=HUB), errors={"diffusers": CACHED})
    assert one(module_removed, facts)[0] == "problem"
    assert typed(module_removed, facts) == [NEWER]
    assert "and keep huggingface-hub<1.0,>=0.34.0, which the other packages require." in commands(module_removed, facts)


def test_and_where_none_does() -> None:
    older = f"{PIP} install 'huggingface-hub<0.26'"
    alone = having(*DIFFUSERS, errors={"diffusers": CACHED})
    assert typed(module_removed, alone) == [older, f"{PIP} install --upgrade diffusers"]
    optional = package("transformers", "4.57.1", requires=("huggingface-hub>=0.34; extra == 'hub'",))
    assert typed(module_removed, having(*DIFFUSERS, optional, errors={"diffusers": CACHED}))[0] == older
    wide = package("peft", "0.10.0", requires=("huggingface_hub>=0.17.0",))
    bound = f"{PIP} install --upgrade diffusers 'huggingface-hub>=0.17.0'"
    assert typed(module_removed, having(*DIFFUSERS, wide, errors={"diffusers": CACHED})) == [older, bound]


def test_an_import_that_fails_over_a_package_that_others_bound() -> None:
    error = "ImportError: cannot import name 'Cache' from 'transformers' (/x/transformers/__init__.py)"
    mine = package("vllm", "0.11.0", requires=("transformers>=4.55.2",))
    peer = package("sglang", "0.5.8", requires=("transformers<4.62,>=4.60",))
    facts = having(mine, package("transformers", "4.61.1"), peer, errors={"vllm": error})
    assert typed(import_fails, facts) == [f"{PIP} install --upgrade vllm 'transformers<4.62,>=4.60'"]
    assert "gpudoctor find-release 'transformers<4.62,>=4.60' --with transformers.Cache" in commands(
        import_fails, facts
    )


@pytest.mark.parametrize(
    "packages",
    [
        {"basicsr": TENSOR},
        {"gfpgan": TENSOR, "basicsr": TENSOR},  # which imports basicsr, and fails over its import
    ],
)
def test_a_package_without_newer_releases_is_replaced(packages: dict[str, str]) -> None:
    there = (package("basicsr", "1.4.2"), package("gfpgan", "1.3.8"), package("torchvision", "0.29.2"))
    facts = having(*there, errors=packages)
    assert typed(module_removed, facts) == [f"{PIP} uninstall -y basicsr", f"{PIP} install basicsr-fixed"]
    assert one(module_removed, facts)[1].startswith("import basicsr (basicsr 1.4.2) fails")
    assert typed(import_fails, having(there[0], there[2], errors={"basicsr": TENSOR}))[:2] == typed(
        module_removed, facts
    )


def test_an_older_release_of_it_can_be_upgraded() -> None:
    assert ended("basicsr", "1.3.5") is None
    there = (package("basicsr", "1.3.5"), package("torchvision", "0.29.2"))
    assert typed(module_removed, having(*there, errors={"basicsr": TENSOR})) == [f"{PIP} install --upgrade basicsr"]


def test_what_a_package_needs_without_saying_so_and_another_cannot_use() -> None:
    pyannote = package("pyannote-audio", "3.3.2")
    hub = package("huggingface-hub", "1.3.0")
    alone = typed(undeclared_requirement, having(pyannote, hub))
    assert alone == [f"{PIP} install 'huggingface-hub<1'"]
    new = package("transformers", "5.14.0", requires=("huggingface-hub<2.0,>=1.3.0",))
    both = typed(undeclared_requirement, having(pyannote, hub, new))
    assert both == [f"{PIP} install 'pyannote-audio>=4' 'huggingface-hub<2.0,>=1.3.0'"]


def test_a_newer_release_that_another_package_cannot_use() -> None:
    held = package("whisperx", "3.4.2", requires=("pyannote-audio<4,>=3.3.2",))
    new = package("transformers", "5.14.0", requires=("huggingface-hub<2.0,>=1.3.0",))
    facts = having(package("pyannote-audio", "3.3.2"), package("huggingface-hub", "1.3.0"), held, new)
    said = commands(undeclared_requirement, facts)
    assert f"{PIP} install 'huggingface-hub<1'" in said
    assert "transformers cannot use that: give each its own environment." in said


def test_what_an_upgrade_brings_stays_within_what_others_require() -> None:
    mine = package("datasets", "2.14.4", requires=("huggingface-hub<1.0.0,>=0.14.0", "pyarrow>=8.0.0", "torch"))
    user = package("transformers", "4.57.1", requires=HUB)
    there = (mine, user, package("huggingface-hub", "0.36.0"), package("pyarrow", "26.0"))
    failed = PackageImport(
        package="datasets", version="2.14.4", module="datasets", error="ValueError: no such thing", dependent=True
    )
    facts = change(having(*there), "pythons.0.imports", (failed,))
    (command,) = typed(import_fails, facts)
    assert command == f"{PIP} install --upgrade datasets 'huggingface-hub<1.0,>=0.34.0' torch==2.9.1"


def test_a_project_that_pypi_does_not_have_is_not_upgraded_from_there() -> None:
    error = "ImportError: cannot import name 'packaging' from 'pkg_resources' (/e/pkg_resources/__init__.py)"
    facts = having(package("clip", "1.0"), package("setuptools", "70.0.0"), errors={"clip": error})
    assert typed(module_removed, facts) == [f"{PIP} install 'setuptools<70'"]
    assert "PyPI's clip is another project." in commands(module_removed, facts)


def test_a_package_from_before_it_needed_a_newer_one() -> None:
    mine, ao = package("peft", "0.19.1"), package("torchao", "0.10.0")
    assert typed(undeclared_requirement, having(mine, ao)) == [f"{PIP} install 'torchao>=0.16,<0.18'"]
    held = package("unsloth-zoo", "2026.1", requires=("torchao<0.11",))
    assert typed(undeclared_requirement, having(mine, ao, held)) == [f"{PIP} install 'peft<0.19'"]


def test_a_framework_changes_where_another_package_needs_what_does_not_work_with_it() -> None:
    mine = package("transformers", "5.2.0")
    old = environment(torch("2.2.2"), packages=(mine,))
    assert typed(undeclared_requirement, old) == [f"{PIP} install 'transformers<5.1'"]
    user = package("sentence-transformers", "3.0.1", requires=("transformers<5.0.0,>=4.34.0",))
    within = change(old, "pythons.0.packages", (package("torch", "2.2.2"), mine, user))
    (command,) = typed(undeclared_requirement, within)
    assert set(command.split("'")[1].removeprefix("transformers").split(",")) == {"<5.0.0", ">=4.34.0"}
    held = package("vllm", "0.30.0", requires=("transformers>=5.1",))
    both = change(old, "pythons.0.packages", (package("torch", "2.2.2"), mine, held))
    assert "'transformers<5.1'" not in commands(undeclared_requirement, both)
    assert typed(undeclared_requirement, both)[0].startswith(f"{PIP} install --force-reinstall --no-deps --index-url")
    without = change(both, "gpus.0.capability", "3.0")  # no PyTorch that is new enough supports it
    assert typed(undeclared_requirement, without) == [f"{PIP} install 'transformers<5.1'"]
    assert "or torch>=2.4. vllm cannot use that." in commands(undeclared_requirement, without)


def test_a_requirement_that_a_met_one_of_another_package_excludes() -> None:
    broken = UnmetRequirement(package="transformers", version="4.57.1", requires="huggingface-hub<1.0", found="1.3.0")
    mine, hub = package("transformers", "4.57.1", requires=HUB), package("huggingface-hub", "1.3.0")
    separate = "If two packages require different versions, give each its own environment."
    facts = having(mine, hub)
    assert separate not in commands(unmet_requirement, change(facts, "pythons.0.unmet", (broken,)))
    other = having(mine, hub, package("diffusers", "0.39.0", requires=("huggingface-hub<2,>=1",)))
    assert separate in commands(unmet_requirement, change(other, "pythons.0.unmet", (broken,)))


def test_where_no_release_suits_both_pip_chooses_one_of_what_asks() -> None:
    asks = UnmetRequirement(package="tensorflow", version="2.20.0", requires="protobuf>=5.28.0", found="4.25.9")
    there = (
        package("tensorflow", "2.20.0", requires=("protobuf>=5.28.0",)),
        package("mediapipe", "0.10.21", requires=("protobuf<5,>=4.25.3",)),
        package("nvidia-cudnn-cu12", "9.3.0.75"),
        package("protobuf", "4.25.9"),
    )
    facts = change(environment(packages=there), "pythons.0.unmet", (asks,))
    assert typed(unmet_requirement, facts) == [f"{PIP} install 'tensorflow[and-cuda]' mediapipe==0.10.21"]
    alone = change(environment(packages=there[:1]), "pythons.0.unmet", (asks,))
    assert typed(unmet_requirement, alone) == [f"{PIP} install 'protobuf>=5.28.0'"]


def test_what_ended_is_named_by_its_last_release() -> None:
    for row in release_families().ended:
        assert ended(row.package, row.last) == row
        assert ended(row.instead, row.last) is None


def test_tensorflow_addons_has_no_release_for_keras_3() -> None:
    addons, keras = package("tensorflow-addons", "0.23.0"), package("keras", "3.15.1")
    newer = package("tensorflow", "2.18.1", requires=("keras>=3.5.0",))
    found = having(addons, keras, newer)
    assert one(undeclared_requirement, found)[0] == "problem"
    assert typed(undeclared_requirement, found) == [f"{PIP} install 'tensorflow[and-cuda]~=2.15.1'"]
    fits = having(addons, package("keras", "2.15.0"), package("tensorflow", "2.15.1"))
    assert one(undeclared_requirement, fits)[0] == "pass"


def test_a_requirement_is_named_first_whose_package_fails_and_its_import_is_the_proof() -> None:
    error = "ImportError: huggingface-hub>=0.34,<1.0 is required for a normal functioning of this module, found 2.4.0"
    hub = package("huggingface-hub", "2.4.0")
    there = (hub, package("tokenizers", "0.22.1"), package("transformers", "4.57.1"))
    unmet = tuple(
        UnmetRequirement(package=name, version=version, requires=f"huggingface-hub{bound}", found="2.4.0")
        for name, version, bound in (
            ("tokenizers", "0.22.1", "<2.0,>=0.16.4"),
            ("transformers", "4.57.1", "<1.0,>=0.34"),
        )
    )
    facts = change(having(*there, errors={"transformers": error}), "pythons.0.unmet", unmet)
    assert one(unmet_requirement, facts)[1].startswith("transformers 4.57.1 requires huggingface-hub<1.0,>=0.34")
    (fix,) = unmet_requirement.fixes_for(OnPython(facts, facts.pythons[0]))
    assert fix.verify is not None
    assert "import transformers" in str(as_typed((fix.verify,)))
