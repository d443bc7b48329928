"""Environments that pip, a full disk or a file of somebody's own has broken: each is a finding with its fix."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.checks.packages.torchvision_mismatch import torchvision_mismatch
from gpudoctor.checks.python.built_for_another_python import built_for_another_python
from gpudoctor.checks.python.environment_not_run import environment_not_run
from gpudoctor.checks.python.half_removed import half_removed
from gpudoctor.checks.python.metadata_lost import metadata_lost
from gpudoctor.checks.python.metadata_twice import metadata_twice
from gpudoctor.checks.python.standard_library_hidden import standard_library_hidden
from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.facts import Facts, NotRun, Remnant, Shadow, UnmetRequirement
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import change, framework, live, python
from tests.checks.environments import SITE, blind, commands, environment, machine, one, package, severity, torch

PYTHON = "/opt/env/bin/python"


def roots(facts: Facts, *ids: str) -> list[tuple[str, str]]:
    report = build(facts, judge(facts, catalogue.load(ids)))
    return [(f.check, f.status) for f in report.findings]


# -- what an interrupted pip leaves --------------------------------------------------------------------------


def left(name: str, package: str = "torch", version: str | None = "2.7.1", module: str = "torch") -> Remnant:
    return Remnant(module=module, path=f"{SITE}/{name}", reason=name, package=package, version=version)


LEFT = (left("~orch"), left("~orch-2.7.1.dist-info"), left("~unctorch"))


def without_torch(*remnants: Remnant, **changes: Any) -> Facts:
    return environment(packages=(package("numpy", "2.1.0"),), remnants=remnants, **changes)


def test_torch_that_is_gone() -> None:
    facts = without_torch(*LEFT)
    message = (
        "PyTorch 2.7.1 is gone: pip was interrupted while removing or replacing it, and left ~orch, "
        "~orch-2.7.1.dist-info, ~unctorch."
    )
    assert one(half_removed, facts) == ("problem", message)
    assert severity(half_removed, facts) == "fail"
    assert commands(half_removed, facts).splitlines() == [
        "Reinstall torch 2.7.1, and remove the leftovers.",
        f"{PYTHON} -m pip install torch==2.7.1",
        *(f"rm -r '{SITE}/{name}'" for name in ("~orch", "~orch-2.7.1.dist-info", "~unctorch")),
    ]


def test_it_comes_from_the_index_that_it_came_from() -> None:
    named = without_torch(left("~orch-2.7.1+cu128.dist-info", version="2.7.1+cu128"))
    assert "--index-url https://download.pytorch.org/whl/cu128 torch==2.7.1" in commands(half_removed, named)
    beside = change(named, "pythons.0.packages", (package("torchvision", "0.22.1+cu126"),))
    beside = change(beside, "pythons.0.remnants", LEFT)
    assert "--index-url https://download.pytorch.org/whl/cu126 torch==2.7.1" in commands(half_removed, beside)


def test_the_release_is_read_from_what_others_pin() -> None:
    pin = UnmetRequirement(package="torchvision", version="0.22.1", requires="torch==2.7.1")
    facts = without_torch(left("~orch", package="", version=None), unmet=(pin,))
    assert f"{PYTHON} -m pip install torch==2.7.1" in commands(half_removed, facts)


def test_torch_that_is_half_installed() -> None:
    """Its files came back without metadata: whether it imports or not, nobody may take it for whole."""
    facts = change(environment(torch(distribution=None)), "pythons.0.packages", ())
    facts = change(facts, "pythons.0.remnants", LEFT)
    assert one(half_removed, facts)[1].startswith("PyTorch 2.7.1 is only partly installed: pip was interrupted")
    assert severity(half_removed, facts) == "fail"
    pin = UnmetRequirement(package="torchvision", version="0.22.1", requires="torch==2.7.1")
    facts = change(facts, "pythons.0.unmet", (pin,))
    assert one(torchvision_mismatch, facts) == ("pass", "")  # 2.7.1+cu126 is what torch==2.7.1 asks for
    assert one(unmet_requirement, facts) == ("pass", "")


def test_leftovers_of_what_is_there_or_was_removed_for_good() -> None:
    whole = environment(torch(), remnants=LEFT)
    assert severity(half_removed, whole) == "advice"
    assert "install" not in commands(half_removed, whole)
    folder = without_torch(left("~orch", package="", version=None))
    assert severity(half_removed, folder) == "warn"
    helper = without_torch(left("~orchvision-0.22.1.dist-info", "torchvision", "0.22.1", "torchvision"))
    assert severity(half_removed, helper) == "warn"
    assert "torchvision==0.22.1" in commands(half_removed, helper)


def test_onnx_runtime_comes_back_for_the_cuda_of_the_driver() -> None:
    there = package("onnxruntime-gpu", "1.31.1")
    gone = Remnant(module="onnxruntime", path=f"{SITE}/onnxruntime", reason="no __init__.py")
    old, new = (environment(packages=(there,), remnants=(gone,), facts=machine(cuda)) for cuda in ("12.8", "13.0"))
    assert "install 'onnxruntime-gpu[cuda,cudnn]>=1.19,<1.27'" in commands(half_removed, old)
    assert commands(half_removed, old).startswith("Reinstall onnxruntime-gpu for the CUDA of this driver, and remove")
    assert "--ignore-installed onnxruntime-gpu==1.31.1" in commands(half_removed, new)


# -- metadata ------------------------------------------------------------------------------------------------

STALE = Remnant(
    module="torch", path=f"{SITE}/torch-2.6.0.dist-info", reason="other release", package="torch", version="2.6.0"
)


def test_metadata_of_two_releases() -> None:
    facts = environment(torch(), remnants=(STALE,))
    message = f"{SITE}/torch-2.6.0.dist-info is metadata of torch 2.6.0, but the installed files are from 2.7.1."
    assert one(metadata_twice, facts) == ("problem", message)
    assert f"rm -r {SITE}/torch-2.6.0.dist-info" in commands(metadata_twice, facts)
    assert one(half_removed, facts) == ("pass", "")
    undecided = environment(packages=(package("torch", "2.6.0"), package("torch", "2.7.1")))
    assert one(metadata_twice, undecided)[0] == "problem"
    assert "--ignore-installed torch==2.6.0" in commands(metadata_twice, undecided)
    user = environment(packages=(package("torch", "2.6.0"), package("torch", "2.7.1", directory="/home/me/site")))
    assert one(metadata_twice, user) == ("pass", "")
    assert one(metadata_twice, change(facts, "pythons.0.remnants", ())) == ("pass", "")


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("pip", "-m pip install --no-deps --ignore-installed torch==2.7.1"),
        ("uv", f"uv pip install --python {PYTHON} --reinstall --no-deps torch==2.7.1"),
    ],
)
def test_metadata_that_is_lost(manager: str, command: str) -> None:
    found = package("torch", "2.7.1", lost=("METADATA", "RECORD"))
    facts = environment(packages=(found,), manager=manager)
    outcome, message = one(metadata_lost, facts)
    assert outcome == "problem"
    assert message.startswith("torch 2.7.1 has no METADATA or RECORD: importlib.metadata finds no version")
    assert severity(metadata_lost, facts) == "warn"
    assert command in commands(metadata_lost, facts)
    assert one(metadata_lost, environment(torch())) == ("pass", "")
    record = package("torch", "2.7.1", lost=("RECORD",))
    beside = environment(packages=(record, package("torchvision", "0.22.1", files=9)))
    assert one(metadata_lost, beside)[1] == "torch 2.7.1 has no RECORD: pip can neither remove nor upgrade it."
    assert one(metadata_lost, environment(packages=(record,))) == ("pass", "")  # an image made without any
    hidden = change(environment(torch()), "pythons.0.packages", Unknown("closed"))
    assert one(metadata_lost, hidden) == ("unknown", "closed")


# -- requirements --------------------------------------------------------------------------------------------

KERAS = UnmetRequirement(package="tensorflow", version="2.19.0", requires="keras>=3.5.0", found="2.15.0")
TYPING = UnmetRequirement(package="torch", version="2.7.1", requires="typing-extensions>=4.10.0")
SYMPY = UnmetRequirement(package="torch", version="2.7.1", requires="sympy>=1.13.3")
TRITON = UnmetRequirement(package="torch", version="2.7.1", requires="triton==3.3.1")
OLD_TRITON = UnmetRequirement(package="torch", version="2.7.1", requires="triton==3.3.1", found="3.1.0")
CUDNN = UnmetRequirement(package="torch", version="2.7.1", requires="nvidia-cudnn-cu12==9.5.1.17", found="9.1.0.70")
MPMATH = UnmetRequirement(package="sympy", version="1.14.0", requires="mpmath<1.4,>=1.1.0")
PJRT = UnmetRequirement(package="jax-cuda12-plugin", version="0.6.2", requires="jax-cuda12-pjrt==0.6.2")
PEFT = UnmetRequirement(package="vllm", version="0.11.0", requires="protobuf>=6", found="5.0")
PROTOBUF = UnmetRequirement(package="tensorflow", version="2.10.1", requires="protobuf<3.20,>=3.9.2", found="4.25.3")
ANY_NUMPY = UnmetRequirement(package="tensorflow", version="2.10.1", requires="numpy>=1.20")
NO_TYPING = live(import_error="ModuleNotFoundError: No module named 'typing_extensions'")


@pytest.mark.parametrize(
    ("unmet", "framework", "status", "message"),
    [
        ((KERAS,), torch(), "warn", "tensorflow 2.19.0 requires keras>=3.5.0, found: 2.15.0."),
        ((TRITON,), torch(), "warn", "torch 2.7.1 requires triton==3.3.1, found: nothing: torch.compile fails."),
        (
            (SYMPY, TYPING),
            torch(live=NO_TYPING),
            "fail",
            "torch 2.7.1 requires typing-extensions>=4.10.0, found: nothing (1 more), so PyTorch fails to import.",
        ),
        # It names something else, so this is not why it fails.
        ((SYMPY,), torch(live=NO_TYPING), "warn", "torch 2.7.1 requires sympy>=1.13.3, found: nothing."),
        ((MPMATH,), torch(), "warn", "sympy 1.14.0 requires mpmath<1.4,>=1.1.0, found: nothing."),
        (
            (MPMATH,),
            torch(live=live(import_error="ImportError: SymPy now depends on mpmath as an external library")),
            "fail",
            "sympy 1.14.0 requires mpmath<1.4,>=1.1.0, found: nothing, so PyTorch fails to import.",
        ),
        (
            (PJRT,),
            framework("jax", "0.6.2", live=blind()),
            "fail",
            "jax-cuda12-plugin 0.6.2 requires jax-cuda12-pjrt==0.6.2, found: nothing, so JAX finds no GPU.",
        ),
        (
            (TRITON,),
            torch(live=None),
            "warn",
            "torch 2.7.1 requires triton==3.3.1, found: nothing: torch.compile fails.",
        ),
        ((PEFT,), torch(), "advice", "vllm 0.11.0 requires protobuf>=6, found: 5.0."),
    ],
)
def test_an_unmet_requirement(unmet: tuple[UnmetRequirement, ...], framework: Any, status: str, message: str) -> None:
    facts = environment(framework, unmet=unmet)
    assert one(unmet_requirement, facts) == ("problem", message)
    assert severity(unmet_requirement, facts) == status
    last = commands(unmet_requirement, facts).splitlines()[-1]
    assert all(u.requires in last for u in unmet)
    assert "torch==" not in last
    assert " torch " not in f"{last} "


@pytest.mark.parametrize(
    ("numpy", "unmet", "expected"),
    [
        ((package("numpy", "2.2.6"),), (PROTOBUF,), "'protobuf<3.20,>=3.9.2' 'numpy<2'"),
        ((package("numpy", "1.26.4"),), (PROTOBUF,), "'protobuf<3.20,>=3.9.2'"),
        ((), (PROTOBUF,), "'protobuf<3.20,>=3.9.2'"),
        ((), (PROTOBUF, ANY_NUMPY), "'numpy>=1.20' 'protobuf<3.20,>=3.9.2' 'numpy<2'"),
    ],
)
def test_numpy_1_comes_with_what_else_the_import_lacks(numpy: Any, unmet: Any, expected: str) -> None:
    old = framework("tensorflow", "2.10.1", live=live(import_error="TypeError: protobuf is wrong; no numpy"))
    facts = environment(old, packages=(package("tensorflow", "2.10.1"), *numpy), unmet=unmet)
    assert commands(unmet_requirement, facts).splitlines()[-1] == f"{PYTHON} -m pip install {expected}"


def test_what_other_checks_tell_of() -> None:
    facts = environment(torch(), packages=(package("triton", "3.1.0"),), unmet=(CUDNN, OLD_TRITON))
    assert one(unmet_requirement, facts) == ("pass", "")


def test_a_missing_torch_comes_back_in_the_release_and_build_of_its_companions() -> None:
    pin = UnmetRequirement(package="torchvision", version="0.22.1+cu126", requires="torch==2.7.1")
    facts = environment(packages=(package("torchvision", "0.22.1+cu126"),), unmet=(pin,))
    assert severity(unmet_requirement, facts) == "warn"
    command = f"{PYTHON} -m pip install --index-url https://download.pytorch.org/whl/cu126 torch==2.7.1"
    assert command in commands(unmet_requirement, facts)


def test_it_is_the_root_of_what_follows_and_of_nothing_else() -> None:
    both = ("python.unmet-requirement", "pytorch.import-fails", "pytorch.no-gpu")
    assert roots(environment(torch(live=NO_TYPING), unmet=(TYPING,)), *both) == [("python.unmet-requirement", "fail")]
    # PyTorch sees no GPU for another reason: a missing Triton explains nothing about that.
    alone = environment(torch(live=blind()), unmet=(TRITON,))
    assert roots(alone, *both) == [("pytorch.no-gpu", "fail"), ("python.unmet-requirement", "warn")]


# -- the standard library ------------------------------------------------------------------------------------


def hidden(origin: str = "working directory", wins: str = "/home/s/lab/random.py") -> Shadow:
    loses = ("/usr/lib/python3.11/random.py",)
    return Shadow(module="random", wins=wins, loses=loses, origin=origin, standard=True)


def with_hidden(shadow: Shadow, **live_changes: Any) -> Facts:
    return environment(torch(live=live(**live_changes)), shadows=(shadow,))


def test_a_file_that_hides_the_standard_library() -> None:
    facts = with_hidden(hidden(), standard=("random",))
    message = (
        "`import random` loads /home/s/lab/random.py (via the working directory) instead of Python's own; PyTorch "
        "imports it."
    )
    assert one(standard_library_hidden, facts) == ("problem", message)
    assert severity(standard_library_hidden, facts) == "warn"
    assert "mv /home/s/lab/random.py /home/s/lab/random_own.py" in commands(standard_library_hidden, facts)
    assert one(standard_library_hidden, with_hidden(hidden(), standard=())) == ("pass", "")  # nobody imports it
    assert severity(standard_library_hidden, with_hidden(hidden(), standard=Unknown("--quick"))) == "warn"
    assert one(standard_library_hidden, environment(shadows=(hidden(),))) == ("pass", "")


def test_on_pythonpath_it_breaks_the_import_itself() -> None:
    error = "ImportError: cannot import name 'Random' from 'random' (/home/s/lab/random.py)"
    facts = with_hidden(hidden("PYTHONPATH"), standard=("random",), import_error=error)
    facts = change(facts, "host.environment", {"PYTHONPATH": "/home/s/lab"})
    assert severity(standard_library_hidden, facts) == "fail"
    assert "unset PYTHONPATH" in commands(standard_library_hidden, facts)
    both = ("python.standard-library-hidden", "pytorch.import-fails", "python.shadowed-module")
    assert roots(facts, *both) == [("python.standard-library-hidden", "fail")]
    works = with_hidden(hidden("PYTHONPATH"), standard=("random",))
    assert one(standard_library_hidden, works) == ("pass", "")


@pytest.mark.parametrize(
    ("module", "number", "standard", "origin", "said"),
    [
        ("profile", "2.7.1", (), "working directory", "PyTorch imports it for torch.compile and for every optimizer."),
        ("profile", "2.7.1", ("profile",), "working directory", "PyTorch imports it."),
        ("profile", "2.7.1", (), "PYTHONPATH", "PyTorch imports it for torch.compile and for every optimizer."),
        ("profile", "1.13.1", (), "working directory", None),
        ("profile", Unknown("no version"), (), "working directory", None),
        ("statistics", "2.7.1", (), "working directory", None),
        ("statistics", "2.15.0+cu132", (), "working directory", "for every optimizer."),
        ("test", "2.15.0", (), "working directory", None),
        ("types", "2.15.0", (), "working directory", None),
    ],
)
def test_what_pytorch_imports_only_later(
    module: str, number: Any, standard: tuple[str, ...], origin: str, said: str | None
) -> None:
    loses = (f"/usr/lib/python3.11/{module}.py",)
    shadow = Shadow(module=module, wins=f"/lab/{module}.py", loses=loses, origin=origin, standard=True)
    facts = environment(torch(number, live=live(standard=standard)), shadows=(shadow,))
    verdict, message = one(standard_library_hidden, facts)
    assert verdict == ("problem" if said else "pass")
    assert message.endswith(said or "")
    if said:
        assert severity(standard_library_hidden, facts) == "warn"


def test_a_directory_is_renamed_as_one() -> None:
    facts = with_hidden(hidden(wins="/home/s/lab/random"), standard=("random",))
    assert "mv /home/s/lab/random /home/s/lab/random_own" in commands(standard_library_hidden, facts)


# -- somebody else's environment -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "own", "status"), [(("torch",), (), "warn"), (("torch",), (torch(),), "advice"), ((), (), "advice")]
)
def test_an_environment_of_another_user(inside: tuple[str, ...], own: Any, status: str) -> None:
    other = NotRun(path="/srv/project/.venv", owner=1001, frameworks=inside)
    facts = change(machine(), "pythons", (python(*own, not_run=other),))
    assert severity(environment_not_run, facts) == status
    assert (
        "belongs to user 1001, so its Python was not run; /opt/env/bin/python was."
        in one(environment_not_run, facts)[1]
    )
    assert "gpudoctor check --python /srv/project/.venv" in commands(environment_not_run, facts)
    assert one(environment_not_run, environment(torch())) == ("pass", "")


# -- another Python's packages -------------------------------------------------------------------------------

NUMPY = "ImportError: Error importing numpy: you should not try to import numpy from its source directory"


def with_numpy(*libraries: str, error: str | None = None) -> Facts:
    found = package("numpy", "2.1.0", libraries=libraries)
    facts = environment(torch(live=live(import_error=error)), packages=(found,))
    return change(facts, "pythons.0.architecture", "x86_64")


def test_a_nameof_another_python() -> None:
    foreign = "_multiarray_umath.cpython-312-x86_64-linux-gnu.so"
    message = f"numpy 2.1.0 in {SITE} is built for Python 3.12; this is Python 3.11."
    assert one(built_for_another_python, with_numpy(foreign)) == ("problem", message)
    assert severity(built_for_another_python, with_numpy(foreign)) == "warn"
    facts = with_numpy(foreign, "libopenblas.so", error=NUMPY)
    assert severity(built_for_another_python, facts) == "fail"
    assert f"{PYTHON} -m pip install --force-reinstall --no-deps numpy==2.1.0" in commands(
        built_for_another_python, facts
    )
    both = ("python.built-for-another-python", "pytorch.import-fails")
    assert roots(facts, *both) == [("python.built-for-another-python", "fail")]
    own = "_multiarray_umath.cpython-311-x86_64-linux-gnu.so"
    for libraries in ((own,), (own, foreign), ("x.abi3.so",), ()):
        assert one(built_for_another_python, with_numpy(*libraries)) == ("pass", "")


def test_a_nameof_another_architecture() -> None:
    foreign = "_C.cpython-311-aarch64-linux-gnu.so"
    message = f"numpy 2.1.0 in {SITE} is built for aarch64; this Python is for x86_64."
    assert one(built_for_another_python, with_numpy(foreign)) == ("problem", message)
    own, unnamed, small = (f"_C.cpython-311-{tag}.so" for tag in ("x86_64-linux-gnu", "darwin", "i386-linux-gnu"))
    for libraries in ((own,), (own, foreign), (unnamed,), (small,)):
        assert one(built_for_another_python, with_numpy(*libraries)) == ("pass", "")
    unknown = change(with_numpy(foreign), "pythons.0.architecture", Unknown("closed"))
    assert one(built_for_another_python, unknown) == ("unknown", "closed")


def test_a_foreign_numpy_on_pythonpath_is_the_root_where_pytorch_names_it() -> None:
    shadow = Shadow(
        module="numpy", wins="/sw/python310/numpy", loses=(f"{SITE}/numpy",), version="1.26.4", origin="PYTHONPATH"
    )
    facts = environment(torch(live=live(import_error=NUMPY)), shadows=(shadow,))
    assert roots(facts, "python.shadowed-module", "pytorch.import-fails") == [("python.shadowed-module", "fail")]
    works = environment(torch(), shadows=(shadow,))
    assert roots(works, "python.shadowed-module") == [("python.shadowed-module", "advice")]
