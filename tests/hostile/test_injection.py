"""Scripts and shell words in every text of a machine: no page runs them, and no form that setup writes does."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import yaml

from gpudoctor import check, demo
from gpudoctor.facts import Facts
from gpudoctor.facts.validation import sound
from gpudoctor.privacy.tree import walk
from gpudoctor.report.renderers import html
from gpudoctor.report.renderers.json import render as as_json
from tests.checks import smoke_machines
from tests.hostile.consumers import page
from tests.hostile.mutations import FILES
from tests.hostile.running import EVERYTHING, held
from tests.machines.registry import machines
from tests.setup.grounds import machine

SCRIPTS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "<!--<script>",
    "]]><script>",
    "&lt;script&gt;",
    "</textarea></title></noscript><iframe src=//x>",
    "${alert(1)}`{{1}}",
)  # fmt: skip
# Each makes a file PWNED where a shell takes it for more than a word; redirections need no program.
SHELL = (
    "; >PWNED", "$(>PWNED)", "`>PWNED`", "' >PWNED '", '" >PWNED "', "\n>PWNED\n", " && >PWNED", "| >PWNED",
    " -e >PWNED", "\\'; >PWNED #", "{{ lookup('pipe', 'id') }}", "{% raw %}", "$HOME",
)  # fmt: skip


def tainted(facts: Facts, seed: int, payloads: tuple[str, ...]) -> Facts:
    """Facts with a payload behind (or in the place of) many of its texts; all still what facts can be."""
    random = Random(seed)

    def taint(text: str) -> str:
        return f"{text}{random.choice(payloads)}" if random.random() < 0.4 and text not in ("", "Linux") else text

    return sound(walk(msgspec.structs.replace(facts, created=""), taint))


def made() -> list[Facts]:
    every = [one.make() for one in machines()]
    return [*every, demo.load("bad-link"), smoke_machines.machine(), smoke_machines.between(4)]


@pytest.mark.parametrize("seed", range(max(4, FILES // 15)))
def test_no_page_runs_what_a_machine_says(seed: int) -> None:
    facts = made()
    for at in range(seed % 9, len(facts), 9):
        page(html.render(check(facts=tainted(facts[at], seed, SCRIPTS))))


def test_no_page_of_a_fleet_runs_what_a_machine_says(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    for seed, facts in enumerate(made()[::6]):
        name = SCRIPTS[seed % len(SCRIPTS)].replace("/", "%2F")
        report = walk(check(facts=tainted(facts, seed, SCRIPTS)), lambda text: text)
        (tmp_path / "reports" / f"{name}{seed}.json").write_text(as_json(report))
    ran = held(("fleet", "report", str(tmp_path / "reports"), "--format", "html", "--all", "--no-mask"), lambda _: None)
    page(ran.out, scripts=2)
    assert "</script><script>alert" not in ran.out


def scripts_of(text: str) -> list[str]:
    return [text]


def _of_ansible(text: str) -> list[str]:
    """What a playbook gives to shells."""
    found: list[str] = []

    def look(node: Any) -> None:
        if isinstance(node, dict):
            found.extend(str(node[key]) for key in ("ansible.builtin.shell", "shell") if isinstance(node.get(key), str))
            for one in node.values():
                look(one)
        elif isinstance(node, list):
            for one in node:
                look(one)

    look(yaml.load(text, Playbook))
    return found


class Playbook(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML as Ansible does; a string that is not marked as unsafe must be no template."""


def _string(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    text = str(loader.construct_scalar(node))
    assert node.tag == "!unsafe" or not re.search(r"\{[{%#]", text), text
    return text


Playbook.add_constructor("!unsafe", _string)
Playbook.add_constructor("tag:yaml.org,2002:str", _string)


def _of_cloud_init(text: str) -> list[str]:
    """What cloud-init gives to a shell: each text of runcmd."""
    plan = yaml.safe_load(text) or {}
    return [one for one in plan.get("runcmd", []) if isinstance(one, str)]


def _of_docker(text: str) -> list[str]:
    """What a build gives to /bin/sh: each RUN, its lines joined, with the document behind it."""
    found = []
    lines = iter(text.replace("\\\n", " ").splitlines())
    for line in lines:
        assert not line or line.startswith(("#", "RUN ", "ENV ", "COPY <<", "ARG ")), line
        document = []
        if mark := re.search(r"<<'(END_OF_FILE_*)'", line):
            document = [*iter(lambda: next(lines), mark[1]), mark[1]]
        if line.startswith("RUN "):
            found.append("\n".join([line.removeprefix("RUN "), *document]))
        elif line.startswith(("ENV ", "COPY ")):  # the build itself puts variables in these
            assert not re.search(r"(?<!\\)\$(?!PATH\b)", line), line
            assert len(shlex.split(line.partition(" ")[2].replace("$PATH", ""))) <= 2, line
    return found


FORMS: dict[str, Callable[[str], list[str]]] = {
    "shell": scripts_of,
    "dockerfile": _of_docker,
    "ansible": _of_ansible,
    "cloud-init": _of_cloud_init,
}


def run_without_programs(script: str, folder: Path) -> None:
    """Run a script in a shell that finds no program, as nobody, where it may write: only words of the shell work."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    argv = ["/bin/bash", "--noprofile", "--norc", "-c", script]
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if _root() else {}
    subprocess.run(argv, cwd=home, env={"PATH": "/none", "HOME": str(home)}, capture_output=True, timeout=60, **nobody)  # type: ignore[call-overload]
    assert [one.name for one in home.iterdir() if "PWNED" in one.name] == []


def test_what_would_run_is_found(tmp_path: Path) -> None:
    open_way(tmp_path)
    for payload in SHELL[:8]:
        if payload.strip() not in ("' >PWNED '", '" >PWNED "'):
            with pytest.raises(AssertionError):
                run_without_programs(f"true {payload}", tmp_path)
            (tmp_path / "home" / "PWNED").unlink()


def _root() -> bool:
    import os

    return os.geteuid() == 0


def open_way(folder: Path) -> None:
    """Let nobody reach a folder of pytest's."""
    for one in (folder, *folder.parents[:3]):
        if str(one).startswith("/tmp/pytest"):
            one.chmod(one.stat().st_mode | 0o011)


ENVIRONMENTS = (
    "/tmp/a b", "/tmp/it's", '/tmp/"q"', "/tmp/$(>PWNED)", "/tmp/`>PWNED`", "/tmp/x; >PWNED", "/tmp/x\n>PWNED",
    "-e >PWNED", "/tmp/x && >PWNED", "/tmp/$HOME", "/tmp/{{ 7*7 }}", "/tmp/%x",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("form", FORMS)
def test_no_form_runs_what_a_machine_says(form: str, tmp_path: Path) -> None:
    open_way(tmp_path)
    path = tmp_path / "facts.json"
    grounds = [machine(name) for name in ("ada", "hopper", "blackwell")]
    scripts = []
    for seed in range(max(6, FILES // 10)):
        path.write_bytes(msgspec.json.encode(tainted(grounds[seed % 3], seed, SHELL)))
        ran = held(
            ("setup", "--facts", str(path), "--format", form, EVERYTHING[seed % 5], "--container-toolkit"), len, 3
        )
        scripts += FORMS[form](ran.out)
    run_without_programs("\n".join(scripts), tmp_path)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("form", [*FORMS, "json"])
def test_no_form_runs_the_name_of_an_environment(form: str, tmp_path: Path) -> None:
    open_way(tmp_path)
    path = tmp_path / "facts.json"
    path.write_bytes(msgspec.json.encode(machine("ada")))
    for manager in ("uv", "pip", "conda", "pixi", "poetry"):
        scripts = []
        for place in ENVIRONMENTS:
            words = ["setup", "--facts", str(path), "pytorch", f"--env={place}", "--manager", manager]
            words += ["--json"] if form == "json" else ["--format", form]
            ran = held(words, len)
            if ran.code == 0 and form in FORMS:
                scripts += FORMS[form](ran.out)
            elif ran.code == 0 and form == "text":
                scripts += [
                    line.removeprefix("$ ") for line in map(str.strip, ran.out.splitlines()) if line[:2] == "$ "
                ]
            elif ran.code == 0:
                plan = json.loads(ran.out)
                steps = plan["steps"]
                scripts += [one["shown"] for s in steps for kind in ("commands", "verify", "undo") for one in s[kind]]
        assert scripts or form not in ("shell", "json"), manager
        # Each in a subshell of its own, which begins a hundred times sooner than another program.
        run_without_programs("\n".join(f"(eval -- {shlex.quote(script)})" for script in scripts), tmp_path)
