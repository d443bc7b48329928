"""What an assistant gets: the tools, their answers, and one clear sentence for what is wrong with a call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from gpudoctor.cli.mcp_server.answers import MaskedDiagnosis, answer_json
from gpudoctor.cli.mcp_server.bounds import TEXT_LIMIT
from gpudoctor.cli.mcp_server.tools import LARGEST_LOG
from gpudoctor.facts import Facts
from gpudoctor.report.build import build
from gpudoctor.report.renderers.json import render
from tests.builders import change, nvidia_host
from tests.cli.mcp import Assistant

NOTE = 600  # characters that the sentence about what was left out may take
XID = "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus."


def test_the_tools_are_listed_as_read_only_with_sound_schemas(shared: Assistant) -> None:
    tools = shared.tools()
    assert list(tools) == ["check", "explain", "setup_plan", "diff"]
    for tool in tools.values():
        assert tool.description
        assert len(tool.description) < 400
        hints = tool.annotations
        assert hints
        assert (hints.read_only_hint, hints.destructive_hint) == (True, False)
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert [name for name, tool in tools.items() if tool.output_schema] == ["check"]


def test_a_check_is_quick_and_comes_as_text_and_as_data(shared: Assistant) -> None:
    answer = shared.call("check")
    assert not answer.error
    assert answer.text.startswith("gpudoctor ")
    assert answer.data is not None  # the client has held it against the schema
    assert answer.data["machine"].splitlines()[0] == answer.text.splitlines()[0]
    assert answer.data["status"].upper().replace("-", " ") in answer.text
    assert all(one["check"] in answer.text for one in answer.data["findings"])


def test_a_full_check_of_chosen_areas(shared: Assistant) -> None:
    answer = shared.call("check", full=True, only=["device.no-gpu", "python"])
    assert answer.data is not None
    assert {one["check"].partition(".")[0] for one in answer.data["findings"]} <= {"device", "python"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("driver.not-loaded", "NVIDIA's kernel module is not loaded\n=====".splitlines()[0]),
        ("driver", "driver.library-mismatch"),
        ("Xid 79", "fell off the bus"),
        ("46", "call explain again with the one that is meant:\n- "),
        ("RuntimeError: CUDA out of memory.", "out of memory"),
        (f"epoch 1\n{XID}\nRuntimeError: CUDA error: unspecified launch failure\n", "line 2: NVRM: Xid"),
        ("epoch 1\nepoch 2\n", "No known error in the log."),
    ],
)
def test_what_can_be_explained(shared: Assistant, text: str, expected: str) -> None:
    answer = shared.call("explain", text=text)
    assert not answer.error
    assert expected in answer.text


def test_whose_log_it_is_can_be_said(shared: Assistant) -> None:
    line = f"Jan  3 04:05:06 another-node kernel: {XID}"
    by_itself, here = (shared.call("explain", text=line, machine=one).text for one in ("auto", "this"))
    assert "The message is from another machine" in by_itself
    assert "another machine" not in here
    assert "machine  " not in shared.call("explain", text=line, machine="other").text  # which was not looked at


def test_a_path_is_a_text_and_no_file_is_read(shared: Assistant, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"{XID}\nthe content of the file\n")
    answer = shared.call("explain", text=str(log))
    assert "Xid" not in answer.text
    assert "content of the file" not in answer.text


def test_a_huge_log_gives_a_bounded_answer_within_its_deadline(shared: Assistant) -> None:
    one = "Traceback (most recent call last):\n  File 'a.py', line {}\nValueError: {}\nCUDA error {}: no kernel\n"
    text = "".join(one.format(n, "x" * 60, n) for n in range(6_000)) + XID
    assert 900_000 < len(text) < LARGEST_LOG
    answer = shared.call("explain", text=text)
    assert not answer.error
    assert len(answer.text) < TEXT_LIMIT + NOTE
    assert "fell off the bus" in answer.text


def test_a_log_that_is_too_long_is_refused_in_a_sentence(shared: Assistant) -> None:
    answer = shared.call("explain", text="x\n" * LARGEST_LOG)
    assert answer.error
    assert answer.text == (
        "The text has 2,097,151 characters, and explain takes up to 1,048,576. Pass a shorter text, such as the part "
        "around the first error."
    )


def test_a_setup_is_planned_and_nothing_is_made(shared: Assistant) -> None:
    answer = shared.call("setup_plan", frameworks=["pytorch", "jax"], manager="pip", cpu=True)
    assert not answer.error
    assert "gpu-env/bin/python -m pip install" in answer.text
    assert "jax" in answer.text
    assert not os.path.exists("gpu-env")


def test_two_files_are_compared_and_masked(shared: Assistant, tmp_path: Path) -> None:
    one = nvidia_host()
    other = change(one, "nvidia.kernel.loaded", "580.95.05")
    other = change(other, "gpus.0.uuid", "GPU-7d1f0b0e-1111-2222-3333-444455556666")
    (tmp_path / "a.json").write_bytes(msgspec.json.encode(one))
    (tmp_path / "b.json").write_bytes(msgspec.json.encode(other))
    (tmp_path / "report.json").write_text(render(build(Facts(), ())))
    answer = shared.call("diff", a=str(tmp_path / "a.json"), b=str(tmp_path / "b.json"), all=True)
    assert "580.95.05" in answer.text
    assert "7d1f0b0e" not in answer.text
    assert (
        "One side is a report" in shared.call("diff", a=str(tmp_path / "a.json"), b=str(tmp_path / "report.json")).text
    )


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("check", {"full": "yes"}, "The arguments of check are not valid: `full` takes true or false, not a string."),
    ("check", {"command": "id"}, "The arguments of check are not valid: there is no argument `command`."),
    ("check", {"only": ["drivre"]}, 'Unknown check or area "drivre". Did you mean "driver"?'),
    ("check", {"python": "/nowhere/bin/python"}, "/nowhere/bin/python: no such file or directory."),
    ("explain", {}, "The arguments of explain are not valid: `text` is missing."),
    ("explain", {"text": " \n"}, 'explain needs a text: a check ID, an error code such as "Xid 79", an error '
     "message, or a log."),
    ("explain", {"text": "driver.not-loadet"}, 'Unknown check "driver.not-loadet". Did you mean "driver.not-loaded"?'),
    ("setup_plan", {"frameworks": []}, "The arguments of setup_plan are not valid: Expected `array` of length >= 1 - "
     "at `frameworks`."),
    ("setup_plan", {"frameworks": ["--run"]}, "The arguments of setup_plan are not valid: Expected `str` matching "
     "regex '^[A-Za-z][A-Za-z0-9_.\\\\[\\\\]=<>!~*+-]*$' - at `frameworks[0]`."),
    ("setup_plan", {"frameworks": ["pytorhc"]}, 'Unknown framework "pytorhc". Did you mean "pytorch"?'),
    ("setup_plan", {"frameworks": ["jax"], "python_version": "4"}, '--python-version takes a release of Python such '
     'as 3.12, not "4".'),
    ("diff", {"a": "/dev/zero", "b": "/etc/hostname"}, "/dev/zero is not a file."),
    ("diff", {"a": "/etc/hostname", "b": "/x"}, "The facts file /etc/hostname is not valid: JSON is malformed"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "sentence"), BAD)
def test_a_bad_argument_is_refused_in_a_sentence(
    shared: Assistant, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    answer = shared.call(tool, **arguments)
    assert answer.error
    assert answer.text.startswith(sentence)
    assert "\n" not in answer.text


def test_an_unknown_tool_is_an_error_of_the_protocol(shared: Assistant) -> None:
    from mcp import MCPError, types

    with pytest.raises(MCPError) as caught:
        shared.call("run", command="id")
    assert caught.value.error.code == types.INVALID_PARAMS
    assert caught.value.error.message == "Unknown tool 'run'. Tools: check, explain, setup_plan, diff."


def test_names_and_secrets_are_masked(shared: Assistant) -> None:
    token = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
    text = f"ValueError: /home/alice/train.py: token={token} at 00000000-1111-2222-3333-444455556666 is not valid"
    answer = shared.call("explain", text=text)
    assert "/home/user2/train.py: token=***" in answer.text
    assert not [one for one in ("alice", token, "444455556666") if one in answer.text]


@pytest.mark.parametrize(("of", "noted"), [("alice", True), ("bob", False)])
def test_masked_paths_come_with_what_they_stand_for(
    of: str, noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudoctor.cli.mcp_server.answers._masked", lambda _: MaskedDiagnosis(of_alice()))
    given = {"text": f"OSError: /home/{of}/lib/libcudart.so.12: cannot open shared object file"}
    text = msgspec.json.decode(answer_json("explain", msgspec.json.encode(given), ()))["text"]
    assert of not in text
    assert text.endswith("($HOME). Put that in before you use a path.\n") == noted


def test_errors_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    given = msgspec.json.encode({"a": "/home/alice/facts.json", "b": "/home/bob/facts.json"})
    assert msgspec.json.decode(answer_json("diff", given, ()))["error"] == (
        "The facts file /home/user/facts.json cannot be read: No such file or directory."
    )


def of_alice() -> Facts:
    """A machine of one user's."""
    named = change(nvidia_host(), "host.user.name", "alice")
    return change(change(named, "host.environment", {"HOME": "/home/alice"}), "host.hostname", "gpu7")


def test_the_host_s_own_name_is_masked_where_a_log_is_compared_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.cli.mcp_server.answers._masked", lambda _: MaskedDiagnosis(of_alice()))
    given = {"text": f"Jan  3 04:05:06 node9 kernel: {XID}\nNVRM: more"}
    text = msgspec.json.decode(answer_json("explain", msgspec.json.encode(given), ()))["text"]
    assert "host node9 in the log, host here" in text
    assert "gpu7" not in text
