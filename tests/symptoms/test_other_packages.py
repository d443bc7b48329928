"""What a message says of a package that is missing, has another name, or cannot be installed by pip."""

import pytest

from gpudoctor.facts import Facts, NotebookKernel, Package
from gpudoctor.report.model import Report
from gpudoctor.symptoms import explained, scan
from gpudoctor.symptoms.extractors.absent_packages import missing_module, renamed_package, required_library
from gpudoctor.symptoms.extractors.frameworks import missing_framework
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, framework, nvidia_host, with_framework

HERE = with_framework(framework(version="2.9.1+cu128"), nvidia_host())
PIP = "/opt/env/bin/python -m pip"
LACKS = "AutoVideoProcessor requires the {} library but it was not found in your environment."


def test_a_package_that_has_another_name_goes() -> None:
    line = (
        "Exception: The official Pinecone python package has been renamed from `pinecone-client` to `pinecone`. Please"
    )
    said = renamed_package([line], HERE)
    assert typed(said.fixes[0].tasks) == (f"{PIP} uninstall -y pinecone-client", f"{PIP} install pinecone")
    elsewhere = typed(renamed_package([line], None).fixes[0].tasks)
    assert elsewhere == ("python -m pip uninstall -y pinecone-client", "python -m pip install pinecone")
    assert renamed_package(["Exception: nothing of it"], None).fixes == ()


def test_a_library_that_a_model_needs_is_of_the_installed_pytorch() -> None:
    assert typed(required_library([LACKS.format("Torchvision")], HERE).fixes[0].tasks) == (
        f"{PIP} install torchvision==0.24.1",
    )
    assert typed(required_library([LACKS.format("OpenCV")], HERE).fixes[0].tasks) == (f"{PIP} install opencv-python",)
    assert "install torchvision" in typed(required_library([LACKS.format("Torchvision")], None).fixes[0].tasks)[-1]
    assert required_library(["nothing"], None).fixes == ()


def test_an_environment_without_pip() -> None:
    for facts, python in ((HERE, "/opt/env/bin/python"), (Facts(), "python")):
        said = missing_module(["/opt/env/bin/python: No module named pip"], facts)
        assert typed(said.fixes[0].tasks) == (f"{python} -m ensurepip --upgrade",)
    other = missing_module(["/opt/env/bin/python: No module named vllm"], HERE)
    assert typed(other.fixes[0].tasks) == (f"{PIP} install vllm",)


def test_a_build_that_lacks_pkg_resources_is_no_matter_of_this_environment() -> None:
    log = """  error: subprocess-exited-with-error
      Traceback (most recent call last):
        File "/e/lib/python3.11/site-packages/pip/_vendor/pyproject_hooks/_in_process/_in_process.py", line 149, in get
          return hook(config_settings)
        File "/tmp/pip-build-env-x/overlay/lib/setuptools/build_meta.py", line 317, in run_setup
          exec(code, locals())
        File "<string>", line 5, in <module>
      ModuleNotFoundError: No module named 'pkg_resources'
ERROR: Failed to build 'openai-whisper' when getting requirements to build wheel
"""
    entry = explained(Report(), scan([log.encode()]), HERE, where="here").symptoms[0]
    assert entry.meaning.startswith("pip builds a package with setuptools 82 or newer, which has no pkg_resources")
    assert entry.fixes[0].commands[0] == "printf 'setuptools<82\\n' > build-constraints.txt"


@pytest.mark.parametrize(
    ("installed", "meaning"),
    [
        ("84.2.1", "setuptools 84.2.1, which is installed, has no pkg_resources any more"),
        ("69.5.1", "setuptools 82 has no pkg_resources any more"),
        (None, "setuptools, which brings pkg_resources, is not installed"),
    ],
)
def test_what_setuptools_no_longer_brings(installed: str | None, meaning: str) -> None:
    there: tuple[Package, ...] = (Package(name="torchtnt", version="0.2.4", directory="/x"),)
    there += (Package(name="setuptools", version=installed, directory="/x"),) if installed else ()
    said = missing_module(
        ["ModuleNotFoundError: No module named 'pkg_resources'"], change(HERE, "pythons.0.packages", there)
    )
    assert said.meaning.startswith(meaning)
    assert typed(said.fixes[0].tasks) == (f"{PIP} install 'setuptools<82'",)


def test_a_notebook_of_another_python() -> None:
    kernel = NotebookKernel(
        name="voice", title="Voice", path="/root/.local/x", python="/opt/old/bin/python", exists=True
    )
    line = "ModuleNotFoundError: No module named 'torch'"
    said = missing_framework([line], change(HERE, "pythons.0.notebook_kernels", (kernel,)))
    assert said.meaning == (
        'PyTorch is installed in /opt/env/bin/python, and a notebook with the kernel "Voice" (voice) runs '
        "/opt/old/bin/python, which has no PyTorch"
    )
    last = "/opt/env/bin/python -m ipykernel install --user --name voice --display-name Voice"
    assert typed(said.fixes[0].tasks)[-1] == last
    assert missing_framework([line], HERE).fixes == ()
