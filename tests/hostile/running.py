"""Runs command lines in this process on files of strangers, and holds what came of it to what is promised."""

import contextlib
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import yaml

from gpudoctor import demo
from gpudoctor.cli import main
from gpudoctor.report.formats import FORMATS
from gpudoctor.toml import tomllib
from tests.checks import smoke_machines
from tests.cli import Ran
from tests.hostile.consumers import READERS, one_json, terminal
from tests.hostile.mutations import FILES, mutated, written
from tests.machines.registry import machines

LOG = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
EVERYTHING = ("pytorch", "tensorflow", "cupy", "jax", "onnxruntime")
AS = {
    "shell": terminal,
    "dockerfile": terminal,
    "ansible": lambda text: yaml.safe_load(text),
    "cloud-init": lambda text: yaml.safe_load(text),
    "environment.yml": lambda text: yaml.safe_load(text),
}
# Exit codes of each command, by docs/cli.md; those of nagios and npd say the same in their own way (docs/formats.md).
CODES = {"check": {0, 1, 2, 3}, "explain": {0, 1, 2, 3}, "diff": {0, 1, 2}, "setup": {0, 1, 2, 3}, "bundle": {0, 2}}
CODES |= {"record": {0, 1, 2, 3}, "fleet": {0, 1, 2, 3}}


def bases() -> list[Any]:
    """Trees of facts of all kinds of machines."""
    facts = [one.make() for one in machines()]
    facts += [demo.load("cpu-wheel"), demo.load("mismatch"), smoke_machines.machine(), smoke_machines.between(2)]
    return [json.loads(msgspec.json.encode(one)) for one in facts]


def main_says(argv: Sequence[str]) -> Ran:
    """How a run in this process ended."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(argv)
    return Ran(code, out.getvalue(), err.getvalue())


def held(argv: Sequence[str], reader: Callable[[str], object] = terminal, sentences: int = 1) -> Ran:
    """Run a command line and hold: an exit code of the docs, so many sentences on standard error at most."""
    ran = main_says(argv)
    assert ran.code in CODES[argv[0]], ran
    assert "Traceback" not in ran.err, ran.err
    terminal(ran.err)
    said = ran.err.splitlines()
    assert len(said) <= sentences, ran.err
    for one in said:
        assert one.startswith("gpudoctor: "), one
        assert one.endswith((".", "?")), one
    if ran.out:
        reader(ran.out)
    return ran


def judged(text: str) -> None:
    """A report of which no check broke."""
    one_json(text)
    assert [one for one in json.loads(text)["unknown"] if one["broken"]] == []


def commands(facts: str, good: str, folder: Path) -> list[tuple[tuple[str, ...], Callable[[str], object]]]:
    """Every command that reads a facts file, with what its output is read by."""
    log, bundle = folder / "log", folder / "bundle.tar.gz"
    log.write_text(LOG)
    found: list[tuple[tuple[str, ...], Callable[[str], object]]] = [
        (("check", "--facts", facts, "--format", name), judged if name == "json" else READERS[name]) for name in FORMATS
    ]
    found += [
        (("check", "--facts", facts, "--verbose"), terminal),
        (("check", "--facts", facts, "--mask", "--json"), judged),
        (("diff", facts, good), terminal),
        (("diff", good, facts), terminal),
        (("diff", "--all", "--json", facts, good), one_json),
        (("setup", "--facts", facts, *EVERYTHING), terminal),
        (("setup", "--facts", facts, "--json", "pytorch"), one_json),
        (("explain", "--facts", facts, "--log", str(log)), terminal),
        (("explain", "--facts", facts, "--log", str(log), "--json"), judged),
        (("record", "--facts", facts, "--force"), _expectations),
        (("bundle", "--facts", facts, "--force", str(bundle)), lambda text: _bundle(text, bundle)),
    ]
    return found + [(("setup", "--facts", facts, "--format", form, "pytorch"), AS[form]) for form in AS]


def _expectations(text: str) -> None:
    terminal(text)
    tomllib.loads(text)


def _bundle(text: str, path: Path) -> None:
    terminal(text)
    with tarfile.open(path) as bundle:
        for member in bundle:
            file = bundle.extractfile(member)
            assert file is not None
            (one_json if member.name.endswith(".json") else terminal)(file.read().decode())


def batches(size: int = 10) -> range:
    """Numbers of tests that make `size` files each."""
    return range(max(1, FILES // size))


def strange(trees: Sequence[Any], seed: int) -> bytes:
    """The mutated file of a seed."""
    random = Random(seed)
    return written(mutated(random.choice(trees), random), random)
