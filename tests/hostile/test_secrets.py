"""Secrets and names planted in every text that a machine can tell: none of them is in what is handed on."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor import check
from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import load
from gpudoctor.facts.host import User
from gpudoctor.privacy.masks import masked
from gpudoctor.report.formats import FORMATS
from gpudoctor.report.renderers.json import render as as_json
from tests.builders import change, framework, gpu, nvidia_host, with_framework
from tests.hostile.running import held

# ruff: noqa: E501 - as tools print them

# What is masked always, and the words around it in which tools print it.
ALWAYS = {
    "hf_QzWxEcRvTbYnUmIkOlPa": "HF_TOKEN=hf_QzWxEcRvTbYnUmIkOlPa",
    "ghp_QzWxEcRvTbYnUmIkOlPaQzWxEcRvTbYnUmIk": "git clone https://ghp_QzWxEcRvTbYnUmIkOlPaQzWxEcRvTbYnUmIk@github.com/a/b",
    "github_pat_11ABCDEFG0QzWxEcRvTbYn": "origin https://oauth2:github_pat_11ABCDEFG0QzWxEcRvTbYn@github.com/a/b.git (fetch)",
    "glpat-QzWxEcRvTbYnUmIkOlPa": "PRIVATE-TOKEN: glpat-QzWxEcRvTbYnUmIkOlPa",
    "nvapi-QzWxEcRvTbYnUmIkOlPaQzWx": "ngc --key nvapi-QzWxEcRvTbYnUmIkOlPaQzWx",
    "pypi-AgEIcHlwaS5vcmcQzWxEcRv": "twine upload -p pypi-AgEIcHlwaS5vcmcQzWxEcRv",
    "dckr_pat_QzWxEcRvTbYnUmIkOlPa": "docker login -p dckr_pat_QzWxEcRvTbYnUmIkOlPa",
    "sk-QzWxEcRvTbYnUmIkOlPaQzWx": "OPENAI_API_KEY=sk-QzWxEcRvTbYnUmIkOlPaQzWx",
    "xoxb-123456789012-QzWxEcRvTbYn": "slack xoxb-123456789012-QzWxEcRvTbYn",
    "AKIAQZWXECRVTBYNUMIK": "aws_access_key_id AKIAQZWXECRVTBYNUMIK",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYQZWXECRVTB": "aws_secret_access_key = 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",
    "AIzaSyQzWxEcRvTbYnUmIkOlPaQzWxEcRvTbYnU": "GOOGLE_API_KEY=AIzaSyQzWxEcRvTbYnUmIkOlPaQzWxEcRvTbYnU",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.QzWxEcRvTbYn": "bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.QzWxEcRvTbYn",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b": "WANDB key 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "Geheim-Zug-1": "https://ada.byron:Geheim-Zug-1@pypi.example.org/simple",
    "Geheim-Zug-2": "PIP_EXTRA_INDEX_URL=https://Geheim-Zug-2@pypi.example.org/simple",
    "jd-Geheim-Zug-3": "https://conda.anaconda.org/t/jd-Geheim-Zug-3/main/linux-64",
    "Geheim-Zug-4": "Authorization: Basic Geheim-Zug-4",
    "Geheim-Zug-5": '{"auths": {"https://index.docker.io/v1/": {"auth": "Geheim-Zug-5"}}}',
    "Geheim-Zug-6": "mysql --password=Geheim-Zug-6",
    "Geheim-Zug-7": "train.py --wandb-api-key Geheim-Zug-7",
    "Geheim-Zug-8": "rd.iscsi.password=Geheim-Zug-8 quiet",
    "Geheim-Zug-9": "export DB_PASSWD='Geheim-Zug-9'",
    "Geheim-Zug-10": "token: Geheim-Zug-10",
    "Geheim-Zug-11": '"client_secret": "Geheim-Zug-11"',
    "Geheim-Zug-12": "netroot=iscsi:ada:Geheim-Zug-12@192.0.2.7::3260::iqn.2026-11.org.example:disk",
    "Geheim-Zug-13": "postgresql://ada:Geheim-Zug-13@db.example.org/train",
    "Geheim-Zug-14": "x-api-key: Geheim-Zug-14",
    "Geheim/Zug+15==": "AWS_SESSION_TOKEN=Geheim/Zug+15==",
    "Geheim-Zug-16": "sshpass -p Geheim-Zug-16 ssh ada@node",
    "Geheim-Zug-17": "curl -u ada:Geheim-Zug-17 https://example.org/",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n-----END PRIVATE KEY-----",
}  # fmt: skip
# What is masked in what is handed on.
NAMES = {
    "zelda": "/home/zelda/env/lib /scratch/zelda/data zelda@gpu-titania-7: denied",
    "titania": "gpu-titania-7.cluster.example.org is down",
    "1320423032211": None,
    "7d1f0b0e-1111-2222-3333-444455556666": "GPU-7d1f0b0e-1111-2222-3333-444455556666 has fallen off",
    "b8c2a0d4": "root=UUID=b8c2a0d4-5678-4abc-9def-0123456789ab quiet",
    "9e:1a:4c:77:b0:2f": "eth0 9e:1a:4c:77:b0:2f up",
    "9e-1a-4c-77-b0-2f": "BOOTIF=01-9e-1a-4c-77-b0-2f",
    "203.0.113.77": "tcp://203.0.113.77:29500 nfsroot=203.0.113.77:/srv ip=203.0.113.77::198.51.100.1",
}
PLANTED = "\n".join([*ALWAYS.values(), *(text for text in NAMES.values() if text)])


def planted(tree: Any) -> Any:
    """Facts with all of it behind each text that a machine tells freely: what holds a blank."""
    if isinstance(tree, dict):
        return {key: one if key == "name" else planted(one) for key, one in tree.items()}  # names tell what a word is
    if isinstance(tree, list):
        return [planted(one) for one in tree]
    return f"{tree}\n{PLANTED}" if isinstance(tree, str) and " " in tree else tree


def machine() -> Facts:
    """A machine of somebody's with a framework that fails; each of its fields that hold words holds all of it."""
    facts = with_framework(framework(), nvidia_host(2))
    facts = change(facts, "gpus.0", gpu(0, serial="1320423032211", uuid="GPU-7d1f0b0e-1111-2222-3333-444455556666"))
    facts = change(facts, "host.hostname", "gpu-titania-7.cluster.example.org")
    facts = change(facts, "host.user", User(uid=1000, name="zelda"))
    environment = {f"NCCL_{number}": text for number, text in enumerate([*ALWAYS.values(), PLANTED])}
    facts = change(facts, "host.environment", {"HOME": "/home/zelda", **environment})
    live = facts.pythons[0].frameworks[0].live
    assert live is not None
    broken = msgspec.structs.replace(live, error=PLANTED, stderr=PLANTED, warnings=(PLANTED,), import_error=PLANTED)
    facts = change(facts, "pythons.0.frameworks.0.live", broken)
    facts = change(facts, "host.kernel.command_line", PLANTED)
    facts = change(facts, "containers.docker_config_error", PLANTED)
    facts = change(facts, "nvidia.kernel.dkms_errors", (PLANTED,))
    facts = change(facts, "failed", (("python 0", PLANTED),))
    return load(json.dumps(planted(json.loads(msgspec.json.encode(facts)))).encode())


@pytest.fixture(scope="module")
def facts_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("planted") / "facts.json"
    path.write_bytes(msgspec.json.encode(machine()))
    return str(path)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.chdir(tmp_path)


def leaked(text: str, hidden: bool) -> list[str]:
    """What a text holds that it must not; long lines may be folded in it."""
    flat = text.replace("\\n", "\n").replace("\n", "").replace(" ", "")
    return [one for one in (*ALWAYS, *(NAMES if hidden else ())) if one in text or one.replace(" ", "") in flat]


def test_the_machine_holds_all_of_it(facts_file: str) -> None:
    assert leaked(Path(facts_file).read_text(), hidden=True) == [*ALWAYS, *NAMES]


def test_masked_facts() -> None:
    assert leaked(msgspec.json.encode(masked(machine())).decode(), hidden=True) == []


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("option", ["--mask", "--no-mask"])
def test_reports(facts_file: str, form: str, option: str) -> None:
    ran = held(("check", "--facts", facts_file, "--format", form, option), lambda _: None)
    assert leaked(ran.out, hidden=option == "--mask") == []


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--verbose", "--mask"),
        ("check", "--verbose"),
        ("check", "--symptom", PLANTED),
        ("explain", "--log", "log"),
        ("explain", "--log", "log", "--json"),
        ("setup", "pytorch"),
        ("setup", "pytorch", "--format", "shell"),
        ("record", "--force"),
    ],
    ids=" ".join,
)
def test_other_outputs(facts_file: str, words: tuple[str, ...]) -> None:
    Path("log").write_text(f"RuntimeError: CUDA error: out of memory {PLANTED}\n")
    ran = held((*words, "--facts", facts_file), lambda _: None)
    assert leaked(ran.out, hidden="--mask" in words) == []


def test_differences(facts_file: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_bytes(msgspec.json.encode(nvidia_host()))
    for words in (("--all",), ("--all", "--json")):
        assert leaked(held(("diff", facts_file, "other.json", *words), lambda _: None).out, hidden=False) == []


def test_a_bundle(facts_file: str) -> None:
    held(("bundle", "--facts", facts_file, "b.tar.gz"))
    with tarfile.open("b.tar.gz") as bundle:
        for member in bundle:
            file = bundle.extractfile(member)
            assert file is not None
            assert leaked(file.read().decode(), hidden=True) == [], member.name


def test_the_page_of_a_fleet(facts_file: str) -> None:
    Path("reports").mkdir()
    report = check(facts=machine())
    Path("reports/node1.json").write_text(as_json(report))
    faces: dict[str, Callable[[str], object]] = dict.fromkeys(("text", "json", "html", "prometheus", "csv"), len)
    for form, reader in faces.items():
        for option in ("--mask", "--no-mask"):
            ran = held(("fleet", "report", "reports", "--format", form, "--all", option), reader)
            assert leaked(ran.out, hidden=False) == [], (form, option)
