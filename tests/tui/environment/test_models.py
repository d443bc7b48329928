"""What the place Environment says, without any widget."""

import msgspec
import pytest

from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.maybe import Unknown
from gpudoctor.tui.environment.described import described, of_framework
from gpudoctor.tui.environment.facts_model import at, children, copied, plain, search, value_of
from gpudoctor.tui.environment.interpreters import entries
from gpudoctor.tui.environment.libraries import besides, linked
from gpudoctor.tui.environment.lines import LabeledLine, laid_out
from gpudoctor.tui.environment.toolkits import toolkits
from tests.builders import framework, live, nvidia_host, python
from tests.checks.nvidia_machines import having
from tests.tui.environment.machines import CUBLAS, CUDA, CUDNN, SYSTEM_CUDNN, TORCH, machine


def lines(found: list[LabeledLine]) -> dict[str, tuple[str, str]]:
    """The first line of each label."""
    return {line.label: (line.text, line.style) for line in reversed(found)}


# -- interpreters --------------------------------------------------------------------------------------------


def facts(*pythons: Python) -> Facts:
    return having(nvidia_host(), pythons=pythons)


FOUND = [("/home/me/code/.venv/bin/python", "venv"), ("/opt/env/bin/python", "venv"), ("/usr/bin/python3", "system")]


def test_the_examined_come_first_and_only_once() -> None:
    found = entries(facts(python(framework())), FOUND)
    assert [(one.name, one.state) for one in found] == [
        ("/opt/env", "examined"),
        ("code/.venv", "found"),
        ("python3", "found"),
    ]
    assert [one.about for one in found] == ["venv, 3.11.7, 1 framework", "venv", "system"]


def test_the_one_that_is_examined_right_now_is_told() -> None:
    found = entries(facts(python()), FOUND, ("/usr/bin/python3",), running=True)
    assert [(one.path, one.state) for one in found] == [
        ("/opt/env/bin/python", "examined"),
        ("/usr/bin/python3", "examining"),
        ("/home/me/code/.venv/bin/python", "found"),
    ]
    assert found[1].about == "system, being checked"
    assert entries(None, [], (), running=True) == []


def test_the_system_python_is_one_by_any_name() -> None:
    system = python(path="/usr/bin/python3.11", real="/usr/bin/python3.11", kind="system", prefix="/usr")
    found = entries(facts(system), [("/usr/bin/python3.11", "system"), ("/usr/local/bin/python3.12", "system")])
    assert [one.path for one in found] == ["/usr/bin/python3.11", "/usr/local/bin/python3.12"]


def test_an_environment_by_two_names_is_one() -> None:
    found = entries(facts(), [("/opt/env/bin/python", "venv"), ("/opt/env/bin/python3", "venv")])
    assert [one.path for one in found] == ["/opt/env/bin/python"]
    assert [one.path for one in entries(facts(python()), [("/opt/env/bin/python3", "venv")])] == ["/opt/env/bin/python"]


def test_one_that_does_not_answer_says_so() -> None:
    (one,) = entries(facts(python(error="it hung", version=Unknown("it hung"))), [])
    assert one.about == "venv, does not respond"
    uv = entries(facts(python(kind="standalone", path="/d/uv/python/cpython-3.13/bin/python3")), [])[0]
    assert (uv.name, uv.kind) == ("cpython-3.13", "uv")


# -- libraries -----------------------------------------------------------------------------------------------


def test_a_need_beside_what_was_truly_loaded() -> None:
    cudnn, cublas, nccl = linked(TORCH)
    assert (cudnn.agrees, cudnn.message) == (True, "9.10.2, by RUNPATH, loaded")
    assert (cublas.agrees, cublas.loaded) == (False, CUBLAS)
    assert cublas.message == "12.4.5, by LD_LIBRARY_PATH"
    assert nccl.message == "not found, required by libtorch_cuda.so"
    assert besides(TORCH) == [CUDA]


def test_a_longer_name_is_another_library() -> None:
    ill = framework(needs=TORCH.needs, live=live(libraries=("/x/libcudnn.so.90", "/x/libcudnn_ops.so.9")))
    assert linked(ill)[0].loaded is None
    assert len(besides(ill)) == 2


def test_without_an_import_nothing_is_known_to_be_loaded() -> None:
    assert [one.loaded for one in linked(msgspec.structs.replace(TORCH, live=None))] == [None, None, None]
    assert linked(framework(needs=Unknown("no file"))) == []
    assert besides(framework(live=live(libraries=Unknown("it died")))) == []


# -- in words ------------------------------------------------------------------------------------------------


def test_a_framework_is_told_by_what_it_was_built_for_sees_and_loads() -> None:
    said = lines(of_framework(TORCH))
    assert of_framework(TORCH)[0] == LabeledLine("", "PyTorch 2.9.1", "heading")
    assert said["built for"][0] == "CUDA 12.8, cuDNN 9.10.2"
    assert said["sees"] == ("1 GPU", "pass")
    assert said["import"][0] == "works in 1.5 s"
    assert said["  used"][0] == CUDNN
    assert said["  hidden"] == (SYSTEM_CUDNN, "dim")
    assert said["  loaded"] == (CUBLAS, "warn")
    assert said["libnccl.so.2"][1] == "fail"


@pytest.mark.parametrize(
    ("ill", "label", "message", "style"),
    [
        (framework(live=None), "sees", "unknown: it was not imported", "dim"),
        (framework(live=live(0, error="CUDA error 803")), "sees", "no GPU", "fail"),
        (framework(live=live(0, error="CUDA error 803")), "error", "CUDA error 803", "fail"),
        (
            framework(live=live(import_error="ImportError: libcudnn.so.8")),
            "import",
            "ImportError: libcudnn.so.8",
            "fail",
        ),
        (framework(live=live(died="SIGSEGV", stage="init")), "import", "killed by SIGSEGV in stage init", "fail"),
        (
            framework(live=live(hung=True, stage="devices")),
            "import",
            "stopped responding in stage devices",
            "fail",
        ),
        (framework(live=live(count=Unknown("it hung"))), "sees", "unknown: it hung", "warn"),
        (framework(cuda=None, variant="cpu", live=live(0)), "built for", "the CPU only", ""),
        (framework(cuda=None, variant="cpu", live=live(0)), "sees", "no GPU", "dim"),
        (framework(cuda=None, hip="6.3", variant="rocm"), "built for", "ROCm 6.3", ""),
        (framework(cuda=Unknown("x"), variant=Unknown("no metadata")), "built for", "unknown: no metadata", "warn"),
        (framework(archs=Unknown("stripped")), "code for", "unknown: stripped", "warn"),
        (framework(needs=Unknown("no file")), "libraries", "unknown: no file", "warn"),
        (framework(live=live(cudnn_error="libcudnn.so.9: cannot open")), "cuDNN", "libcudnn.so.9: cannot open", "fail"),
        (framework(live=live(providers=("CPUExecutionProvider",))), "providers", "CPUExecutionProvider", ""),
        (framework("jax", plugin="jax-cuda12-plugin", backend_version="0.5"), "jaxlib", "0.5", ""),
        (framework(others=(("tensorflow-cpu", "2.16"),)), "also found", "tensorflow-cpu 2.16", "warn"),
    ],
)
def test_what_ails_a_framework_is_told(ill: Framework, label: str, message: str, style: str) -> None:
    assert lines(of_framework(ill))[label] == (message, style)


def test_several_equal_gpus_are_counted() -> None:
    seen = nvidia_host(2).nvidia.cuda.devices
    assert isinstance(seen, tuple)
    from gpudoctor.facts import FrameworkDevice

    devices = tuple(FrameworkDevice(index=i, name="NVIDIA H100") for i in range(8))
    assert lines(of_framework(framework(live=live(8, devices=devices))))["sees"][0] == "8 GPUs: 8 x NVIDIA H100"


def test_an_interpreter_tells_what_quarrels_in_it() -> None:
    (examined,) = machine().pythons
    said = lines(described(examined))
    assert said["Python"][0] == "cpython, 3.11.7, venv, pip installs"
    assert said["shadowed"] == ("torch comes from /code/torch.py (working directory)", "warn")
    assert said["unmet"][0] == "torch 2.9.1 requires nvidia-cudnn-cu12==9.10.2.21; found 9.1.0.70"
    assert lines(described(python(error="it did not answer")))["error"] == ("it did not answer", "fail")
    assert any("No framework" in line.text for line in described(python()))


def test_toolkits_and_driver_libraries_are_told_the_winner_first() -> None:
    found = toolkits(machine())
    said = lines(found)
    assert said["nvcc"][0] == "/usr/bin/nvcc -> /usr/local/cuda-12.4/bin/nvcc, 12.4, on PATH"
    assert said["CUDA_HOME"] == ("/usr/local/cuda, by CUDA_HOME, nvcc 12.4, no headers", "warn")
    assert said["compiler"][0] == "/usr/bin/cc, gcc 11.4.0"
    texts = [line.text for line in found if line.label in ("  used", "  hidden")]
    assert texts[0].startswith("/usr/local/cuda/lib64/libcudart.so.12")
    assert texts[1].startswith("/opt/old/libcudart.so.12")
    assert "loaded" in said["libcuda.so.1"][0]


def test_a_machine_without_any_of_it_says_so() -> None:
    said = lines(toolkits(Facts()))
    assert said["installed"] == ("unknown: not gathered", "warn")
    assert said["CUDA_HOME"][0] == "not found by build tools"
    rocm = lines(toolkits(having(nvidia_host(), amd__rocm="6.3.4")))
    assert rocm["release"][0] == "6.3.4"


# -- rows ----------------------------------------------------------------------------------------------------


def test_text_hangs_beneath_itself_and_fits() -> None:
    rows = laid_out(
        [LabeledLine("", "a heading", "heading"), LabeledLine("sees", "word " * 20), LabeledLine("lies", "/opt/" * 20)],
        40,
    )
    assert all(len(row.label) + len(row.text) <= 40 for row in rows)
    assert [row.label.strip() for row in rows if row.label.strip()] == ["sees", "lies"]
    assert "".join(row.text for row in rows if "/" in row.text) == "/opt/" * 20
    assert all(row.text.endswith("/") for row in rows if "/" in row.text)


def test_a_long_name_has_a_row_of_its_own() -> None:
    rows = laid_out([LabeledLine("libcudnn_engines_precompiled.so.9", "9.10.2"), LabeledLine("x", "y")], 48)
    assert rows[0].text == "libcudnn_engines_precompiled.so.9"
    assert rows[1].text == "9.10.2"


def test_rows_are_harmless() -> None:
    assert laid_out([LabeledLine("\x1b[2J", "\x07[red]")], 40)[0].text == "\\x07[red]"


# -- the tree of facts ---------------------------------------------------------------------------------------

TREE = plain(machine())


def test_values_lie_at_their_places() -> None:
    assert at(TREE, ("gpus", 0, "name")) == "NVIDIA GeForce RTX 4090"
    assert value_of(at(TREE, ("gpus",))) == "1 entry"
    assert value_of(at(TREE, ("gpus", 0, "ecc"))) == "none"
    assert value_of(at(TREE, ("gpus", 0, "serial"))) == "unknown: not gathered"
    assert children(at(TREE, ("gpus", 0, "serial"))) == []
    assert value_of("") == '""'
    assert value_of("a\nb" + "x" * 400).startswith("a bx")
    assert len(value_of("x" * 400)) == 301


def test_the_search_finds_keys_and_values() -> None:
    assert ("gpus", 0, "name") in search(TREE, "rtx 4090")
    assert ("gpus", 0, "pcie_replays") in search(TREE, "REPLAYS")
    assert ("gpus", 0, "serial") in search(TREE, "unknown: not gathered")
    assert ("pythons", 0) not in search(TREE, "torch")
    assert search(TREE, "") == []
    assert search(TREE, "nothing of the kind") == []


def test_a_place_is_copied_with_its_whole_value() -> None:
    assert copied(TREE, ("gpus", 0, "name")) == 'gpus.0.name = "NVIDIA GeForce RTX 4090"'
    assert copied(TREE, ("gpus", 0, "serial")) == "gpus.0.serial = unknown: not gathered"
    assert copied(TREE, ("gpus", 0, "ecc")) == "gpus.0.ecc = null"
    assert copied(TREE, ()).startswith("facts = {\n")
    assert copied({"x": "\x1b\ud800"}, ("x",)).encode() == b'x = "\\u001b\\ud800"'
