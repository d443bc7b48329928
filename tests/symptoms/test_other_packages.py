"""What a message says of a package that is missing, has another name, or cannot be installed by pip."""

from gpudoctor.facts import Facts
from gpudoctor.symptoms.extractors.software import missing_module, renamed_package, required_library
from gpudoctor.tasks.as_typed import typed
from tests.builders import framework, nvidia_host, with_framework

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
