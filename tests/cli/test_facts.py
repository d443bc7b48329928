"""`gpudoctor facts`: one JSON document that is judged elsewhere as it is here, without what identifies anybody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.cli import gpudoctor


def test_facts_judged_again_give_what_the_live_run_gave(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    for more in ((), ("--python", str(tmp_path / "env"))):
        ran = gpudoctor("facts", "--quick", "--no-mask", "-o", "host.json", *more, cwd=tmp_path)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
        live = json.loads(gpudoctor("check", "--quick", "--json", *more, cwd=tmp_path).out)
        again = json.loads(gpudoctor("check", "--facts", "host.json", "--json", cwd=tmp_path).out)
        for changing in ("created", "seconds"):
            assert live.pop(changing)
            assert again.pop(changing)
        assert again == live
    assert sorted(os.listdir(tmp_path)) == ["env", "host.json"]


def test_masked_facts_give_the_same_verdicts(tmp_path: Path) -> None:
    gpudoctor("facts", "--quick", "-o", "host.json", cwd=tmp_path)
    live = json.loads(gpudoctor("check", "--quick", "--json", cwd=tmp_path).out)
    again = json.loads(gpudoctor("check", "--facts", "host.json", "--json", cwd=tmp_path).out)
    assert again["summary"] == live["summary"]
    assert [f["check"] for f in again["findings"]] == [f["check"] for f in live["findings"]]


def test_a_facts_file_fits_its_schema() -> None:
    schema = json.loads(gpudoctor("facts", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(gpudoctor("facts", "--quick").out), schema)


def test_secrets_and_names_are_masked_unless_asked_for() -> None:
    env = {"HOME": "/home/jane.doe", "USER": "jane.doe", "VIRTUAL_ENV": "/home/jane.doe/secret-project/env"}
    assert "jane.doe" not in gpudoctor("facts", "--quick", env=env).out
    assert "jane.doe" in gpudoctor("facts", "--quick", "--no-mask", env=env).out


@pytest.mark.parametrize("name", ["facts.json", "-"])
def test_output(tmp_path: Path, name: str) -> None:
    ran = gpudoctor("facts", "--quick", "--output", name, cwd=tmp_path)
    assert ran.code == 0
    assert os.listdir(tmp_path) == ([name] if name != "-" else [])
    assert json.loads(ran.out if name == "-" else (tmp_path / name).read_text())["quick"] is True


def test_another_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text('ID=acme\nVERSION_ID="3"\nPRETTY_NAME="Acme 3"\n')
    facts = json.loads(gpudoctor("facts", "--quick", "--root", str(tmp_path)).out)
    assert facts["host"]["distribution"]["name"] == "Acme 3"
    assert facts["pythons"] == []


def test_no_mask_shows_no_secret() -> None:
    env = {"LD_LIBRARY_PATH": "/opt/hf_abcdefghijklmnop/lib:/home/alice/lib"}
    for words, expected in (((), "/opt/***/lib:/home/user2/lib"), (("--no-mask",), "/opt/***/lib:/home/alice/lib")):
        facts = json.loads(gpudoctor("facts", "--quick", *words, env=env).out)
        assert facts["host"]["environment"]["LD_LIBRARY_PATH"] == expected
