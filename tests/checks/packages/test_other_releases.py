"""Packages whose import fails because another one is of a release that they were not written for."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.libraries.cudnn_pin_broken import cudnn_pin_broken
from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.packages.module_removed import module_removed
from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.facts import Facts, Package, PackageImport, UnmetRequirement
from gpudoctor.maybe import Unknown
from gpudoctor.workers.common import blamed
from tests.builders import change, framework
from tests.checks.environments import commands, environment, one, package, severity, torch, verifies

PIP = "/opt/env/bin/python -m pip"
AIMV2 = "ValueError: 'aimv2' is already used by a Transformers config, pick another name."
REQUESTS = "AttributeError: type object 'BaseEstimator' has no attribute '_get_default_requests'"
PINNED = UnmetRequirement(package="torch", version="2.9.1", requires="nvidia-cudnn-cu12==9.10.2.21", found="9.16.0.29")


def having(*packages: Package, error: Any = None, number: str = "2.9.1", **changes: Any) -> Facts:
    """An environment whose first package was imported with this outcome."""
    first = packages[0]
    module = first.name.replace("-cu12", "").replace("-", "_")
    done = PackageImport(package=first.name, version=first.version, module=module, error=error, **changes)
    return change(environment(torch(number), packages=packages), "pythons.0.imports", (done,))


@pytest.mark.parametrize(
    ("owner", "other", "error", "severe"),
    [
        (("vllm", "0.9.2"), ("transformers", "4.54.0"), AIMV2, "fail"),
        (("vllm", "0.9.2"), ("transformers", "4.54.0"), Unknown("not imported"), "warn"),
        (("vllm", "0.9.2"), ("transformers", "4.54.0"), None, None),  # it was imported: the row does not hold
        (("vllm", "0.9.2"), ("transformers", "4.54.0"), "ImportError: something else", None),
        (("vllm", "0.9.2"), ("transformers", "4.53.3"), AIMV2, None),
        (("vllm", "0.10.0"), ("transformers", "4.56.0"), AIMV2, None),
        (("cuml-cu12", "25.10.0"), ("scikit-learn", "1.8.0"), REQUESTS, "fail"),
        (("cuml-cu13", "25.10.0"), ("scikit-learn", "1.8.0"), REQUESTS, "fail"),
        (("cuml-cu12", "25.12.0"), ("scikit-learn", "1.8.0"), None, None),
        (("transformers", "4.52.4"), ("torch", "2.0.1"), None, "fail"),
        (("transformers", "4.57.1"), ("torch", "2.1.2"), None, None),
        (("transformers", "5.0.0"), ("torch", "2.2.2"), None, None),
        (("transformers", "5.2.0"), ("torch", "2.2.2"), None, "fail"),
        (("transformers", "5.2.0"), ("torch", "2.4.0"), None, None),
        (("transformers", "5.24.0"), ("torch", "2.5.1"), None, "fail"),
        (("trl", "0.19.1"), ("transformers", "5.24.0"), "ModuleNotFoundError: No module named 'vllm'", "fail"),
        (("trl", "0.19.1"), ("transformers", "5.24.0"), None, None),
        (("trl", "0.24.0"), ("transformers", "5.24.0"), "ModuleNotFoundError: No module named 'vllm'", None),
        (("vllm", "0.11.0"), ("transformers", "5.1.0"), None, "warn"),
        (("vllm", "0.11.0"), ("transformers", "4.57.6"), None, None),
        (("vllm", "0.12.0"), ("transformers", "5.1.0"), None, None),
        (("pyannote-audio", "3.4.0"), ("huggingface-hub", "1.1.5"), None, "warn"),
        (("xgboost", "2.0.3"), ("scikit-learn", "1.6.1"), None, "warn"),
        (("xgboost", "2.1.3"), ("scikit-learn", "1.7.2"), None, "warn"),
        (("xgboost", "2.1.4"), ("scikit-learn", "1.7.2"), None, None),
        (("xgboost", "2.1.3"), ("scikit-learn", "1.5.2"), None, None),
        (("autoawq", "0.2.9"), ("transformers", "4.57.1"), Unknown("not imported"), "warn"),
        (("peft", "0.19.1"), ("torchao", "0.10.0"), None, "warn"),
        (("peft", "0.19.1"), ("torchao", "0.17.0"), None, None),
        (("peft", "0.18.0"), ("torchao", "0.10.0"), None, None),
        (("torchao", "0.18.0"), ("torch", "2.9.1"), "ImportError: cannot import name 'ScalingType' from 'x'", "fail"),
        (("torchao", "0.18.0"), ("torch", "2.9.1"), None, None),
        (("transformers", "4.52.0"), ("accelerate", "1.2.1"), None, "warn"),
        (("transformers", "5.24.0"), ("accelerate", "1.2.1"), None, "warn"),
        (("transformers", "4.53.3"), ("accelerate", "1.3.0"), None, None),
        (("transformers", "4.51.3"), ("accelerate", "1.2.1"), None, None),
    ],
)
def test_newer_releases_of_others_that_break_a_package(
    owner: tuple[str, str], other: tuple[str, str], error: Any, severe: str | None
) -> None:
    number = other[1] if other[0] == "torch" else "2.9.1"
    others = () if other[0] == "torch" else (package(*other),)
    facts = having(package(*owner), *others, error=error, number=number)
    outcome = one(undeclared_requirement, facts)
    assert outcome[0] == ("problem" if severe else "pass"), outcome
    if severe:
        assert severity(undeclared_requirement, facts) == severe
        assert f"{' '.join(other[1:])} is installed: " in outcome[1]


def test_what_is_missing_comes_in_the_release_of_the_framework() -> None:
    error = "ValueError: You have tensorflow 2.19.1 and this requires tf-keras package."
    both = (package("retina-face", "0.0.17"), package("tensorflow", "2.19.1"))
    facts = having(*both, error=error, part="RetinaFace")
    facts = change(facts, "pythons.0.frameworks", (framework("tensorflow", "2.19.1"),))
    assert one(undeclared_requirement, facts)[1] == (
        "retina-face 0.0.17 needs tf-keras, which is not installed in this environment: import retinaface fails from "
        "TensorFlow 2.16 on, and deepface with it, since TensorFlow contains Keras 3."
    )
    assert severity(undeclared_requirement, facts) == "fail"
    assert f"{PIP} install 'tf-keras~=2.19.0'" in commands(undeclared_requirement, facts)
    assert verifies(undeclared_requirement, facts) == ["/opt/env/bin/python -c 'from retina_face import RetinaFace'"]


def test_a_framework_stays_and_what_needs_a_newer_one_is_taken_back() -> None:
    for number, spec in (("2.0.1", "transformers<4.52"), ("2.3.1", "transformers<5.1"), ("2.5.0", "transformers<5.20")):
        said = commands(undeclared_requirement, having(package("transformers", "5.24.0"), number=number))
        assert f"{PIP} install '{spec}'" in said
        assert f"{PIP} install 'torch" not in said
    old = having(package("autoawq", "0.2.9"), package("transformers", "4.57.1"))
    assert f"{PIP} install 'transformers<4.52'" in commands(
        undeclared_requirement, change(old, "pythons.0.imports", ())
    )


def sglang(cudnn: str, number: str = "2.9.1", **variables: str) -> Facts:
    pin = package("nvidia-cudnn-cu12", cudnn)
    facts = having(package("sglang", "0.5.8"), pin, number=number)
    return change(facts, "host.environment", variables)


def test_a_check_of_a_package_that_its_metadata_does_not_name() -> None:
    facts = sglang("9.10.2.21")
    assert one(undeclared_requirement, facts)[1].startswith(
        "sglang 0.5.8 needs nvidia-cudnn-cu12>=9.15; 9.10.2.21 is installed: SGLang refuses to start a vision model"
    )
    said = commands(undeclared_requirement, facts)
    assert f"{PIP} install nvidia-cudnn-cu12==9.16.0.29" in said
    assert "export SGLANG_DISABLE_CUDNN_CHECK=1" in said
    for well in (
        sglang("9.16.0.29"),
        sglang("9.10.2.21", "2.9.0"),
        sglang("9.10.2.21", "2.10.0"),
        sglang("9.10.2.21", SGLANG_DISABLE_CUDNN_CHECK="1"),
    ):
        assert one(undeclared_requirement, well) == ("pass", "")


def test_what_one_check_asks_for_no_other_takes_back() -> None:
    facts = change(sglang("9.16.0.29"), "pythons.0.unmet", (PINNED,))
    assert one(cudnn_pin_broken, facts) == ("pass", "")
    assert one(cudnn_pin_broken, change(facts, "pythons.0.packages", ()))[0] == "problem"


def test_an_error_about_another_package_names_both_releases() -> None:
    error = "ImportError: cannot import name 'Cache' from 'transformers' (/x/transformers/__init__.py)"
    there = package("vllm", "0.11.0", requires=("transformers[x]>=4.55.2", "torch==2.9.1"))
    facts = having(there, package("transformers", "4.61.1"), error=error, blamed="transformers")
    said = commands(import_fails, facts)
    assert (
        "gpudoctor find-release transformers --with transformers.Cache --python /opt/env/bin/python --install" in said
    )
    assert f"{PIP} install --upgrade vllm" in said
    assert "--force-reinstall" not in said
    # Another package bounds the one that lacks it.
    third = package("sglang", "0.5.8", requires=("transformers==4.61.1",))
    held = having(there, package("transformers", "4.61.1"), third, error=error, blamed="transformers")
    assert "install --upgrade vllm" in commands(import_fails, held)
    assert "find-release" not in commands(import_fails, held)


def test_what_may_have_outgrown_a_package() -> None:
    error = "AttributeError: type object 'BaseEstimator' has no attribute '_other'"
    lines = ("scikit-learn>=1.5", "numpy<3.0,>=1.23", "libcuml-cu12==26.2.*")
    there = package("cuml-cu12", "26.2.0", requires=lines)
    alone = having(there, package("scikit-learn", "1.9.0"), package("numpy", "2.2.6"), error=error)
    assert f"{PIP} install 'scikit-learn>=1.5,<1.9'" in commands(import_fails, alone)
    two = package("cuml-cu12", "26.2.0", requires=(*lines, "scipy>=1.8.0"))
    both = having(two, package("scikit-learn", "1.9.0"), package("scipy", "1.17.0"), error=error)
    said = commands(import_fails, both)
    assert f"{PIP} install --upgrade cuml-cu12" in said
    assert "one after the other: scikit-learn 1.9.0, scipy 1.17.0" in said
    for facts in (alone, both):
        assert "--force-reinstall" not in commands(import_fails, facts)


def test_the_words_of_an_error_name_a_package() -> None:
    error = "ImportError: cannot import name 'Cache' from 'transformers.cache_utils' (/x/transformers/cache_utils.py)"
    there = package("vllm", "0.11.0", requires=("transformers>=4.55.2",))
    facts = having(there, package("transformers", "4.61.1"), error=error)
    assert "find-release transformers --with transformers.cache_utils.Cache" in commands(import_fails, facts)
    whole = having(
        there, package("transformers", "4.61.1"), error="ModuleNotFoundError: No module named 'transformers'"
    )
    assert "find-release" not in commands(import_fails, whole)  # it is not there, whatever its metadata says


def test_an_error_that_is_of_no_interface_blames_nobody() -> None:
    there = (package("vllm", "0.11.0"), package("transformers", "4.61.1"))
    facts = having(*there, error="RuntimeError: no space left", blamed="transformers")
    assert "--force-reinstall --no-deps vllm==0.11.0" in commands(import_fails, facts)


@pytest.mark.parametrize(
    ("python", "typed"), [("3.11.7", "install 'numpy<1.24'"), ("3.12.4", "install --upgrade old-package")]
)
def test_an_older_release_is_offered_where_this_python_has_it(python: str, typed: str) -> None:
    error = "AttributeError: module 'numpy' has no attribute 'bool'."
    facts = having(package("old-package", "1.0"), package("numpy", "1.26.4"), error=error)
    said = commands(module_removed, change(facts, "pythons.0.version", python))
    assert typed in said
    assert ("numpy<1.24" in said) == (python < "3.12")


@pytest.mark.parametrize(
    ("name", "requires", "found", "error", "severe"),
    [
        ("numba", "numpy<2.3,>=1.24", "2.3.1", "ImportError: Numba needs NumPy 2.2 or less. Got NumPy 2.3.", "fail"),
        ("numba", "numpy<2.3,>=1.24", "2.3.1", None, None),  # many work with a newer NumPy than they name
        (
            "transformers",
            "huggingface-hub<1.0,>=0.34.0",
            "1.0.1",
            "ImportError: huggingface-hub>=0.34.0,<1.0 is required for a normal functioning of this module, but found "
            "huggingface-hub==1.0.1.",
            "fail",
        ),
        ("transformers", "huggingface-hub<1.0,>=0.34.0", "1.0.1", "ImportError: libcudart.so.13: not found", "advice"),
    ],
)
def test_a_requirement_that_an_import_fails_over(
    name: str, requires: str, found: str, error: str | None, severe: str | None
) -> None:
    pin = UnmetRequirement(package=name, version="1.0", requires=requires, found=found)
    facts = change(having(package("whisperx", "3.4.2"), error=error), "pythons.0.unmet", (pin,))
    assert one(unmet_requirement, facts)[0] == ("problem" if severe else "pass")
    if severe:
        assert severity(unmet_requirement, facts) == severe
        assert f"install '{requires}'" in commands(unmet_requirement, facts)


def test_whom_an_error_is_about() -> None:
    def caught(code: str) -> str | None:
        try:
            exec(compile(code, "x", "exec"), {"__name__": "vllm.config"})
        except Exception as error:
            return blamed(error, "vllm")
        return None

    assert caught("from msgspec import Nothing") == "msgspec"
    assert caught("import msgspec.nothing") == "msgspec"
    assert caught("from packaging.version import Version; Version('x')") == "packaging"
    assert caught("import json; json.loads('{')") == "json"
    assert caught("raise ValueError(1)") is None


def test_triton_without_setuptools() -> None:
    alone = having(package("triton", "3.2.0"), number="2.6.0")
    assert one(undeclared_requirement, alone)[1].startswith("triton 3.2.0 needs setuptools, which is not installed")
    assert severity(undeclared_requirement, alone) == "warn"
    assert f"{PIP} install setuptools" in commands(undeclared_requirement, alone)
    assert one(undeclared_requirement, change(alone, "host.wsl", 2))[0] == "problem"
    for others in ((package("triton", "3.2.0"), package("setuptools", "78.1.0")), (package("triton", "3.3.0"),)):
        assert one(undeclared_requirement, having(*others, number="2.6.0")) == ("pass", "")


@pytest.mark.parametrize(
    ("error", "number", "uses"),
    [
        ("AttributeError: module 'torch' has no attribute 'int1'", "2.5.1", "torch.int1, which PyTorch has since 2.6"),
        ("AttributeError: module 'torch.utils._pytree' has no attribute 'register_pytree_node'", "2.1.2", "since 2.2"),
        ("ModuleNotFoundError: No module named 'torch.nn.attention.flex_attention'", "2.4.0", "since 2.5"),
        ("ImportError: cannot import name 'custom_op' from 'torch.library' (/x)", "2.3.1", "since 2.4"),
        ("AttributeError: module 'torch' has no attribute 'int1'", "2.6.0", None),  # another reason
        ("AttributeError: module 'torch' has no attribute 'gone'", "2.5.1", None),
    ],
)
def test_a_package_that_needs_a_newer_pytorch(error: str, number: str, uses: str | None) -> None:
    facts = having(package("somepkg", "1.4.2"), error=error, number=number, blamed="torch")
    typed = commands(import_fails, facts)
    [cause] = [v.problem.cause or "" for v in run(import_fails, facts) if v.problem]
    assert (uses in cause) if uses else ("was not written for that release" in cause)
    if uses:
        assert typed.startswith("Install the cu1")
        assert f"{PIP} install 'somepkg<1.4.2'" in typed
        assert set(verifies(import_fails, facts)) == {"/opt/env/bin/python -c 'import somepkg'"}
    else:
        assert typed.startswith("Upgrade somepkg to a release that works with torch")


def test_no_newer_pytorch_where_none_with_it_supports_the_gpu() -> None:
    error = "AttributeError: module 'torch' has no attribute 'int1'"
    facts = having(package("somepkg", "1.4.2"), error=error, number="2.5.1", blamed="torch")
    old = change(facts, "gpus.0.capability", "3.0")
    assert commands(import_fails, old).startswith("Install an older release of somepkg, from before it used torch.int1")


CACHE = "ImportError: cannot import name 'SomethingOfIt' from 'transformers' (/opt/env/transformers/__init__.py)"


def test_the_older_of_two_is_upgraded() -> None:
    """A newer peft would use still more of what this Transformers does not have."""
    facts = having(package("peft", "0.14.0"), package("transformers", "4.40.2"), error=CACHE, blamed="transformers")
    lines = commands(import_fails, facts).splitlines()
    assert lines[0] == (
        "Upgrade transformers to 4.47 or newer: 4.40.2 is of 2024-04, and peft 0.14.0 of 2024-12 uses what came "
        "between."
    )
    assert lines[1] == f"{PIP} install 'transformers>=4.47,<5'"
    assert f"{PIP} install 'peft<0.11'" in lines


def test_where_another_package_refuses_the_upgrade_the_user_of_it_goes_back() -> None:
    pins = package("vllm", "0.5.0", requires=("transformers<4.41",))
    facts = having(package("peft", "0.14.0"), package("transformers", "4.40.2"), pins, error=CACHE)
    assert commands(import_fails, facts).splitlines()[1] == f"{PIP} install 'peft<0.11'"


@pytest.mark.parametrize(("peft", "other"), [("0.14.0", "4.57.1"), ("0.14.0.dev0", "99.0"), ("0.99", "4.40.2")])
def test_where_it_is_newer_or_nothing_is_known_the_age_tells_nothing(peft: str, other: str) -> None:
    facts = having(package("peft", peft), package("transformers", other), error=CACHE, blamed="transformers")
    assert f"{PIP} install --upgrade peft" in commands(import_fails, facts)


CLEAR = "ImportError: cannot import name 'clear_device_cache' from 'accelerate.utils.memory' (/opt/env/accelerate/x.py)"
FOLDER = "ImportError: cannot import name 'HfFolder' from 'huggingface_hub' (/opt/env/huggingface_hub/__init__.py)"


def test_the_release_that_a_package_asks_for_is_installed() -> None:
    asks = "AssertionError: MMCV==2.2.0 is used but incompatible. Please install mmcv>=2.0.0rc4, <2.2.0."
    facts = having(package("mmdet", "3.3.0"), package("mmcv-lite", "2.2.0"), error=asks, dependent=True)
    lines = commands(import_fails, facts).splitlines()
    assert lines == ["Install the release that mmdet asks for.", f"{PIP} install 'mmcv-lite>=2.0.0rc4,<2.2.0'"]


def test_the_release_that_has_a_name_is_known() -> None:
    older = having(package("peft", "0.18.0"), package("accelerate", "0.30.1"), error=CLEAR, blamed="accelerate")
    lines = commands(import_fails, older).splitlines()
    assert lines[0] == "Upgrade accelerate to 0.32 or newer, which has clear_device_cache; 0.30.1 is older."
    assert lines[1] == f"{PIP} install 'accelerate>=0.32'"
    hub = package("huggingface-hub", "1.16.4")
    newer = having(package("somebodys", "1.0"), hub, error=FOLDER, blamed="huggingface_hub")
    lines = commands(import_fails, newer).splitlines()
    assert lines[:2] == [
        "Install huggingface-hub from before 1.0, which still has HfFolder.",
        f"{PIP} install 'huggingface-hub<1.0'",
    ]
    assert f"{PIP} install --upgrade somebodys" in lines
    needs = package("transformers", "5.24.0", requires=("huggingface-hub>=1.3",))
    held = having(package("somebodys", "1.0"), hub, needs, error=FOLDER, blamed="huggingface_hub")
    assert f"{PIP} install --upgrade somebodys" in commands(import_fails, held).splitlines()[1]


def test_a_release_that_a_package_says_to_need() -> None:
    error = "ImportError: pyarrow requires NumPy 2.0 or newer, found 1.26.4"
    trl, arrow, numpy = package("trl", "0.9.6"), package("pyarrow", "26.0"), package("numpy", "1.26.4")
    free = having(trl, arrow, numpy, error=error)
    first, second = (line for line in commands(import_fails, free).splitlines() if PIP in line)
    assert (first, second) == (f"{PIP} install 'numpy>=2.0'", f"{PIP} install 'pyarrow<26.0'")
    held = having(trl, arrow, numpy, package("llamafactory", "0.9.3", requires=("numpy<2.0.0",)), error=error)
    assert [line for line in commands(import_fails, held).splitlines() if PIP in line] == [second]
    assert "llamafactory requires an older numpy" in commands(import_fails, held)


def test_the_release_of_a_requirement_that_a_package_checks_itself() -> None:
    error = (
        "ImportError: transformers>=4.45.0,<=4.52.4,!=4.46.0 is required for a normal functioning of this module, but "
        "found transformers==4.57.1."
    )
    facts = having(package("llamafactory", "0.9.3"), package("transformers", "4.57.1"), error=error)
    assert f"{PIP} install 'transformers>=4.45.0,<=4.52.4,!=4.46.0'" in commands(import_fails, facts)
