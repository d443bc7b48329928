"""A traceback through the files of two packages that do not fit names both, and the upgrade that helps."""

from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Facts, Package
from gpudoctor.report.model import Report, SymptomEntry
from gpudoctor.symptoms import explained, scan
from gpudoctor.symptoms.mismatch import callers
from gpudoctor.symptoms.origin import Where
from tests.builders import framework, with_framework
from tests.symptoms.builders import finding

LACKS = "AttributeError: module 'ml_dtypes' has no attribute 'float4_e2m1fn'. Did you mean: 'float8_e4m3fn'?"
CALL = "TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'"
PARTS = "TypeError: Descriptors cannot be created directly."


def traced(text: str, *files: str) -> str:
    """A traceback through files: of the program, or of packages by what follows site-packages."""
    places = [one if one.startswith("/") or "<" in one else f"/env/lib/python3.11/site-packages/{one}" for one in files]
    frames = "".join(f'  File "{one}", line 7, in work\n    work()\n' for one in places)
    return f"Traceback (most recent call last):\n{frames}{text}\n"


def here(*packages: tuple[str, str, tuple[str, ...]]) -> Facts:
    """A machine whose environment has packages: name, version, requirements."""
    facts = with_framework(framework())
    python = msgspec.structs.replace(
        facts.pythons[0],
        packages=tuple(
            Package(name=name, version=version, directory="/env/lib/python3.11/site-packages", requires=requires)
            for name, version, requires in packages
        ),
    )
    return msgspec.structs.replace(facts, pythons=(python,))


def first(text: str, facts: Facts | None = None) -> SymptomEntry:
    """What a log's root message means on a machine; None: on an unknown one."""
    where: Where = "here" if facts else "elsewhere"
    return explained(Report(), scan([text.encode()]), facts, where=where).symptoms[0]


ONNX = ("onnx", "1.19.0", ("ml-dtypes",))


@pytest.mark.parametrize(
    ("text", "frames", "expected"),
    [
        (LACKS, ("onnx", ""), ("onnx", "ml_dtypes")),
        ("AttributeError: module 'torch' has no attribute 'xpu'", ("torch", "diffusers", ""), ("diffusers", "torch")),
        (PARTS, ("google", "tensorboard", ""), ("tensorboard", "google")),
        (CALL, ("transformers", ""), ("transformers", "")),
        (LACKS, ("", "onnx"), ("", "ml_dtypes")),
        (LACKS, (), ("", "ml_dtypes")),
    ],
)
def test_who_calls_and_what_it_is_about(text: str, frames: tuple[str, ...], expected: tuple[str, str]) -> None:
    assert callers(text, frames) == expected


def test_both_packages_are_named_with_their_releases_and_one_is_upgraded() -> None:
    entry = first(traced(LACKS, "/home/me/x.py", "onnx/_mapping.py"), here(ONNX, ("ml-dtypes", "0.4.1", ())))
    assert entry.meaning == (
        "the packages onnx 1.19.0 and ml-dtypes 0.4.1 do not fit: ml-dtypes lacks float4_e2m1fn, which onnx uses; the "
        "GPU is not involved"
    )
    assert entry.fixes[0].commands[0].endswith("install 'ml-dtypes>=0.5'"), "the older of both"


def test_where_the_machine_is_not_known_the_traceback_names_them() -> None:
    entry = first(traced(LACKS, "/home/me/x.py", "onnx/_mapping.py"))
    assert entry.meaning.startswith("the packages onnx and ml-dtypes do not fit")
    assert [one.commands for one in entry.fixes] == [
        ("gpudoctor find-release ml-dtypes --with ml_dtypes.float4_e2m1fn --install",),
        ("python -m pip install --upgrade onnx",),
    ]


def test_the_standard_library_is_passed_over() -> None:
    files = ("/home/me/x.py", "onnx/_mapping.py", "/usr/lib/python3.11/importlib/__init__.py", "<frozen importlib>")
    assert "the packages onnx" in first(traced(LACKS, *files)).meaning


def test_the_framework_stays_and_what_is_older_is_upgraded() -> None:
    facts = here(("flax", "0.7.2", ("jax>=0.4.2",)), ("jax", "0.6.2", ()))
    entry = first(traced("AttributeError: module 'jax.core' has no attribute 'Atom'", "flax/core/x.py"), facts)
    assert "flax 0.7.2 and jax 0.6.2" in entry.meaning
    assert entry.fixes[0].commands[0].endswith("install 'flax>=0.10' jax==0.6.2")


def test_a_program_of_another_release_is_told_so() -> None:
    text = "AttributeError: module 'peft' has no attribute 'prepare_for_training'"
    entry = first(traced(text, "/home/me/x.py"), here(("peft", "0.17.0", ())))
    assert entry.meaning.startswith("the program uses the name prepare_for_training, which peft 0.17.0 does not have")
    search = "gpudoctor find-release peft --with peft.prepare_for_training --python /opt/env/bin/python --install"
    assert [one.commands for one in entry.fixes] == [(search,), ()]


def test_a_program_that_is_called_like_a_package() -> None:
    text = "AttributeError: partially initialized module 'xgboost' has no attribute 'DMatrix' (most likely"
    entry = first(traced(text, "/home/me/xgboost.py", "/home/me/xgboost.py"), here(("xgboost", "3.1.0", ())))
    assert entry.meaning.startswith("a file of the program's own is called xgboost.py and hides the package xgboost")
    assert entry.fixes[0].commands == ("mv xgboost.py xgboost_own.py", "rm -rf __pycache__")
    others = [
        (traced(text, "xgboost/core.py"), here(("xgboost", "3.1.0", ()))),  # a package that is damaged
        (traced(text.replace("xgboost", "utils"), "/home/me/utils.py"), here(ONNX)),  # modules of the program alone
    ]
    assert not any("hides the package" in first(log, facts).meaning for log, facts in others)


def test_what_led_to_a_message_that_is_known_is_not_told_twice() -> None:
    known = "ValueError: The checkpoint has model type `qwen3` but Transformers does not recognize this architecture."
    log = traced("KeyError: 'qwen3'", "transformers/x.py") + "\nDuring handling of the above exception, another:\n\n"
    entries = explained(Report(), scan([(log + traced(known, "transformers/y.py")).encode()]), None, where="elsewhere")
    assert [one.id for one in entries.symptoms] == ["model-unknown"]


def test_a_call_of_the_programs_own_upgrades_no_package() -> None:
    text = "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded"
    of_package = first(traced(text, "/home/me/x.py", "ultralytics/nn/tasks.py", "torch/serialization.py"))
    assert of_package.fixes[0].commands == ("python -m pip install -U ultralytics",)
    own = first(traced(text, "/home/me/x.py", "torch/serialization.py"))
    assert own.fixes[0].commands == ("torch.load(path, weights_only=False)",)


RENAMED = "TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'"
OF_TRAINER = "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'"
MOVED = "TypeError: XGBClassifier.fit() got an unexpected keyword argument 'early_stopping_rounds'"


def test_an_argument_that_got_another_name_is_renamed_in_the_program() -> None:
    entry = first(traced(RENAMED, "/home/me/sft.py"), here(("trl", "0.24.0", ())))
    assert entry.meaning == (
        "SFTConfig of trl takes no max_seq_length since 0.20: it is called max_length; the GPU is not involved"
    )
    rename, older = entry.fixes
    assert rename.commands == (r"sed -i.bak 's/\bmax_seq_length=/max_length=/' /home/me/sft.py",)
    assert rename.undo == "mv /home/me/sft.py.bak /home/me/sft.py"
    of_trainer = first(traced(OF_TRAINER, "/home/me/x.py"))
    assert of_trainer.fixes[0].commands == ("python -m pip install 'transformers<5.0'",), "others have a tokenizer, too"
    assert older.commands[0].endswith("install 'trl<0.20'")
    typed = first(traced(RENAMED, "<stdin>"), here(("trl", "0.24.0", ())))
    assert typed.fixes[1].commands == ("SFTConfig(max_length=...)",), "there is no file to change"
    assert "takes no" not in first(traced(RENAMED, "/home/me/sft.py"), here(("trl", "0.19.1", ()))).meaning
    moved = first(traced(MOVED, "/home/me/fit.py"))
    assert moved.fixes[0].commands == ("python -m pip install 'xgboost<2.1'",)
    assert moved.fixes[1].commands[0].startswith("XGBClassifier(early_stopping_rounds=")
    wrapped = first(traced(MOVED, "/home/me/fit.py", "xgboost/core.py"), here(("xgboost", "3.0.5", ())))
    assert wrapped.meaning == moved.meaning, "a wrapper of the function is of its own package"
    of_package = first(traced(RENAMED, "/home/me/sft.py", "unsloth/trainer.py"))
    assert of_package.meaning.startswith("unsloth passes max_seq_length, which SFTConfig of trl no longer takes since")
    assert [one.commands[0].partition(" -m ")[2] for one in of_package.fixes] == [
        "pip install 'trl<0.20'",
        "pip install --upgrade unsloth",
    ]


def test_a_module_that_no_table_knows_is_looked_up_when_it_is_typed() -> None:
    text = "ImportError: cannot import name 'AdamW' from 'transformers' (/e/site-packages/transformers/__init__.py)"
    entry = first(traced(text, "/home/me/x.py", "colbert/training/training.py"), here(("transformers", "4.57.1", ())))
    (line, _) = entry.fixes[0].commands
    assert line.endswith('print(p()["colbert"][0])\')" transformers')
    assert "install -U \"$(/opt/env/bin/python -c 'from importlib.metadata import packages_distributions" in line


def test_a_module_that_the_installed_release_lacks_is_of_another_release() -> None:
    text = "ModuleNotFoundError: No module named 'pytorch_lightning.utilities.distributed'"
    entry = first(traced(text, "/home/me/ddpm.py"), here(("pytorch-lightning", "2.5.5", ())))
    assert entry.meaning == (
        "the program uses the module pytorch_lightning.utilities.distributed, which pytorch-lightning 2.5.5 does not "
        "have: it was removed in 2.0; the GPU is not involved"
    )
    assert entry.fixes[0].commands[0].endswith("install 'pytorch-lightning<2.0'")
    # What Python finds under the name is not of this environment.
    absent = first(traced(text, "/home/me/ddpm.py"), here(("torch", "2.8.0", ())))
    assert absent.meaning.startswith(
        "the pytorch_lightning that Python finds has no module pytorch_lightning.utilities"
    )
    found = [line for one in absent.fixes for line in one.commands]
    assert found[0].startswith(
        "gpudoctor find-release pytorch-lightning --with pytorch_lightning.utilities.distributed"
    )
    assert found[1] == "/opt/env/bin/python -c 'import pytorch_lightning; print(pytorch_lightning.__path__)'"


def test_a_name_that_a_release_removed_and_a_package_uses() -> None:
    text = (
        "ImportError: cannot import name 'packaging' from 'pkg_resources' (/e/site-packages/pkg_resources/__init__.py)"
    )
    entry = first(
        traced(text, "/home/me/x.py", "clip/clip.py"), here(("clip", "1.0", ()), ("setuptools", "70.0.0", ()))
    )
    assert entry.meaning.startswith(
        "the packages clip 1.0 and setuptools 70.0.0 do not fit: setuptools lacks packaging"
    )
    assert entry.fixes[0].commands[0].endswith("install 'setuptools<70'")
    assert entry.fixes[1].commands == (), "PyPI's clip is another project"
    unnamed = first(traced(text, "/home/me/x.py", "clip/clip.py"), here(("setuptools", "70.0.0", ())))
    assert [one.commands for one in unnamed.fixes] == [("python -m pip install 'setuptools<70'",), ()]


def test_two_distributions_of_one_module_in_different_releases() -> None:
    text = "AttributeError: module 'cv2.gapi.wip.draw' has no attribute 'Text'"
    both = (("opencv-python", "4.10.0.84", ()), ("opencv-python-headless", "4.5.5.64", ()))
    entry = first(traced(text, "/home/me/x.py", "cv2/typing/__init__.py"), here(*both))
    assert entry.meaning.startswith(
        "opencv-python 4.10.0.84 and opencv-python-headless 4.5.5.64 both write the module cv2"
    )
    removed, installed = entry.fixes[0].commands
    assert removed.endswith("uninstall -y opencv-python opencv-python-headless")
    assert installed.endswith("install opencv-python==4.10.0.84")
    alone = first(traced(text, "/home/me/x.py", "cv2/typing/__init__.py"), here(*both[:1]))
    assert "both write" not in alone.meaning


def test_what_pip_could_not_build_is_named() -> None:
    lines = ("      ModuleNotFoundError: No module named 'torch'", "ERROR: Failed to build 'flash-attn' when")
    log = "\n".join(lines)
    entry = explained(Report(), scan([log.encode()]), None, where="elsewhere").symptoms[0]
    typed = [line for fix in entry.fixes for line in fix.commands]
    assert "python -m pip install --no-build-isolation flash-attn" in typed


def test_an_error_inside_a_package_of_another_release_comes_of_that() -> None:
    message = "tensorflow 2.15.1 requires keras<2.16,>=2.15.0, found: 3.10.0."
    unmet = msgspec.structs.replace(finding("python.unmet-requirement", "warn"), message=message)
    for text, frames, explains in (
        ("TypeError: f() takes 1 positional argument", ("keras/src/x.py",), True),
        ("KeyError: 'labels'", ("keras/src/x.py",), False),
        ("TypeError: f() takes 1 positional argument", (), False),
    ):
        log = scan([traced(text, "/home/me/x.py", *frames).encode()])
        entry = explained(Report(findings=(unmet,)), log, here(("keras", "3.10.0", ())), where="here").symptoms[0]
        assert entry.explained_by == (("python.unmet-requirement",) if explains else ())


def test_a_finding_on_two_other_packages_explains_no_message_of_a_third() -> None:
    text = "ValueError: When localhost is not accessible, a shareable link must be created."
    log = scan([traced(text, "/home/me/x.py", "gradio/blocks.py").encode()])
    for message, explains in (
        ("gradio 4.44.1 needs starlette<1; 1.10.0 is installed: launch() fails.", True),
        ("wandb 0.16.6 needs numpy<2; 2.0.2 is installed: wandb.init fails.", False),
    ):
        found = msgspec.structs.replace(finding("packages.undeclared-requirement", "warn"), message=message)
        entry = explained(Report(findings=(found,)), log, here(("gradio", "4.44.1", ())), where="here").symptoms[0]
        assert entry.explained_by == (("packages.undeclared-requirement",) if explains else ())


def test_a_file_of_a_newer_release() -> None:
    text = "AttributeError: Can't get attribute 'C3k2' on <module 'ultralytics.nn.modules.block' from '/env/x.py'>"
    entry = first(traced(text, "/home/me/x.py", "torch/serialization.py"), here(("ultralytics", "8.2.79", ())))
    assert entry.meaning.startswith(
        "the file holds an object of the class C3k2, which the installed release of ultralytics"
    )
    assert "install --upgrade ultralytics" in entry.fixes[0].commands[0]


def test_a_file_of_a_newer_release_where_nothing_is_known() -> None:
    text = "AttributeError: Can't get attribute 'C3k2' on <module 'ultralytics.nn.modules.block' from '/env/x.py'>"
    assert first(traced(text, "torch/x.py")).fixes[0].commands == ("python -m pip install --upgrade ultralytics",)


def test_a_file_of_a_module_whose_distribution_no_table_knows_upgrades_no_other_project() -> None:
    text = "AttributeError: Can't get attribute 'Batch' on <module 'colbert.data' from '/env/x.py'>"
    fix = first(traced(text, "torch/x.py")).fixes[0]
    assert (fix.commands, "that has the module colbert" in fix.message) == ((), True)


def test_what_a_release_removed_is_had_again_by_the_one_before() -> None:
    text = "AttributeError: module 'mediapipe' has no attribute 'solutions'"
    entry = first(traced(text, "/home/me/x.py"), here(("mediapipe", "0.10.35", ())))
    assert "which mediapipe 0.10.35 no longer has: it was removed in 0.10.30" in entry.meaning
    assert entry.fixes[0].commands[0].endswith("install 'mediapipe<0.10.30'")


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("AttributeError: 'NoneType' object has no attribute 'shape'", ("onnx/helper.py",)),
        ("TypeError: forward() got an unexpected keyword argument 'mask'", ("torch/nn/modules/module.py",)),
        ("TypeError: forward() got an unexpected keyword argument 'mask'", ("/home/me/model.py",)),
        ("AttributeError: module 'mine' has no attribute 'x'", ("/home/me/model.py",)),
        ("KeyError: 'labels'", ("onnx/helper.py",)),
    ],
)
def test_an_error_of_the_program_is_none_of_packages(text: str, files: tuple[str, ...]) -> None:
    entry = first(traced(text, *files), here(ONNX, ("torch", "2.9.0", ())))
    assert "not fit" not in entry.meaning
    assert "package" not in entry.meaning


def test_a_call_with_other_arguments_upgrades_who_calls() -> None:
    facts = here(("transformers", "4.40.0", ("accelerate>=0.21",)), ("accelerate", "1.12.0", ()))
    entry = first(traced(CALL, "/home/me/x.py", "transformers/trainer.py"), facts)
    assert entry.meaning == (
        "transformers passes dispatch_batches, which Accelerator of accelerate no longer takes since 1.0; the GPU is "
        "not involved"
    )
    assert entry.fixes[0].commands[0].endswith("install 'accelerate<1.0'")
    unknown = first(traced(CALL.replace("dispatch_batches", "x"), "/home/me/x.py", "transformers/trainer.py"), facts)
    assert unknown.meaning.startswith(
        "the package transformers 4.40.0 calls Accelerator.__init__() with arguments that it does not take"
    )
    assert any("--upgrade transformers" in line for one in entry.fixes for line in one.commands)


@pytest.mark.parametrize(
    ("text", "files", "command"),
    [
        (PARTS, ("tensorboard/x.py", "google/protobuf/descriptor.py"), "pip install -U protobuf tensorboard"),
        ("AttributeError: module 'numpy' has no attribute 'float'", ("skimage/x.py",), "pip install -U scikit-image"),
        (PARTS, (), "pip install -U protobuf PACKAGE"),
    ],
)
def test_a_row_that_leaves_a_package_open_gets_its_name(text: str, files: tuple[str, ...], command: str) -> None:
    entry = first(traced(text, *files) if files else text)
    assert any(command in line for one in entry.fixes for line in one.commands), entry.fixes


def test_a_later_message_is_not_of_that_traceback() -> None:
    log = traced("KeyError: 'labels'", "tensorboard/x.py") + "starting again\n" + PARTS
    entries = explained(Report(), scan([log.encode()]), None, where="elsewhere").symptoms
    row = next(one for one in entries if one.id == "protobuf")
    assert any("PACKAGE" in line for one in row.fixes for line in one.commands)


@pytest.mark.parametrize(
    ("text", "said", "explains"),
    [
        (LACKS, "import onnx fails (onnx 1.19.0): " + LACKS.partition(". Did")[0] + ".", True),
        (LACKS, "onnx 1.19.0 needs ml-dtypes 0.5, whose float4_e2m1fn is not in ml_dtypes 0.4.1.", True),
        (LACKS, "import onnx fails (onnx 1.19.0): ImportError: something else", False),
        ("KeyError: 'labels'", "import onnx fails: KeyError: 'labels'", False),
    ],
)
def test_a_finding_about_the_same_error_explains_it(text: str, said: str, explains: bool) -> None:
    report = Report(findings=(finding("packages.import-fails", status="warn", message=said),))
    log = scan([traced(text, "/home/me/x.py", "onnx/_mapping.py").encode()])
    entry = explained(report, log, None, where="here").symptoms[0]
    assert (entry.explained_by == ("packages.import-fails",)) == explains
    assert entry.unexplained is False or not explains
    assert not (explains and entry.fixes), "those of the finding"


def test_a_file_that_hides_a_package_is_left_to_its_check() -> None:
    text = "ImportError: cannot import name 'load_dataset' from 'datasets' (/home/me/datasets/__init__.py)"
    facts = here(("datasets", "4.4.0", ()), ("trl", "0.25.0", ()))
    assert "not fit: one imports" in first(traced(text, "trl/x.py"), facts).meaning


def test_a_numpy_that_a_package_outlived_is_an_older_one_unless_others_need_it() -> None:
    text = "AttributeError: module 'numpy' has no attribute 'bool'."
    log = traced(text, "/home/me/x.py", "mxnet/numpy/utils.py")
    entry = first(log, here(("mxnet", "1.9.1", ("numpy>1.16.0,<2",)), ("numpy", "1.26.4", ())))
    assert entry.fixes[0].commands == ("/opt/env/bin/python -m pip install 'numpy<1.24'",)
    held = here(("mxnet", "1.9.1", ()), ("numpy", "1.26.4", ()), ("scipy", "1.15.0", ("numpy>=1.24",)))
    assert "numpy<1.24" not in " ".join(first(log, held).fixes[0].commands)


def test_an_argument_that_no_table_knows_is_of_another_release(tmp_path: Path) -> None:
    program = tmp_path / "x.py"
    program.write_text("import moviepy.editor as m\nm.VideoFileClip('a', verbose=True)\n")
    text = "TypeError: VideoFileClip.__init__() got an unexpected keyword argument 'verbose'"
    entry = first(traced(text, str(program)), here(("moviepy", "2.2.1", ())))
    assert entry.meaning == (
        "the program passes verbose to moviepy.editor.VideoFileClip, which moviepy 2.2.1 does not take; the GPU is not "
        "involved"
    )
    assert entry.fixes[0].commands == (
        "gpudoctor find-release moviepy --with moviepy.editor.VideoFileClip --argument verbose --python "
        "/opt/env/bin/python --install",
    )


def test_the_parts_of_a_newer_release_go_before_an_older_one_comes() -> None:
    text = "ImportError: cannot import name 'VectorStoreIndex' from 'llama_index' (unknown location)"
    parts = [("llama-index", "0.12.52", ()), ("llama-index-core", "0.12.52", ()), ("llama-cpp-python", "0.3.1", ())]
    entry = first(traced(text, "/home/me/x.py"), here(*parts))
    remove, search = entry.fixes[0].commands
    assert remove == "/opt/env/bin/python -m pip uninstall -y llama-index llama-index-core"
    assert search.startswith("gpudoctor find-release llama-index --with llama_index.VectorStoreIndex --python")


def test_no_release_is_looked_for_that_would_bring_another_pytorch() -> None:
    text = "ImportError: cannot import name 'thing' from '{0}' (/e/site-packages/{0}/__init__.py)"
    for name, requires in (("torchvision", ()), ("somekernels", ("torch==2.8.0",))):
        entry = first(traced(text.format(name), "/home/me/x.py"), here((name, "1.0", requires)))
        assert not any("find-release" in line for one in entry.fixes for line in one.commands), name
    entry = first(traced(text.format("somekernels"), "/home/me/x.py"), here(("somekernels", "1.0", ("torch>=2",))))
    assert "find-release somekernels" in entry.fixes[0].commands[0]
