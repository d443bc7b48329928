"""docs/provisioning.md names each file of examples/ and no other; gpudoctor takes every call that stands in them."""

import re
from pathlib import Path

import pytest

from gpudoctor.cli import parser
from tests.examples import EXAMPLES, ROOT, calls, files

PAGE = ROOT / "docs" / "provisioning.md"
LINK = re.compile(r"\]\(\.\./examples/([^)]+)\)")


def test_the_page_names_every_file_and_no_other() -> None:
    named = set(LINK.findall(PAGE.read_text()))
    assert named == {str(path.relative_to(EXAMPLES)) for path in files()}


def test_what_the_page_shows_stands_in_the_files() -> None:
    """A block under a link to a file is taken from it, less the lines left out as "..."."""
    shown = re.findall(r"<!-- from (\S+) -->\n```\w*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(shown) >= 6
    for name, block in shown:
        whole = {line.strip() for line in (EXAMPLES / name).read_text().splitlines()}
        missing = [line for line in block.splitlines() if line.strip() not in whole]
        assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("path", [*files(), PAGE], ids=lambda path: path.name)
def test_gpudoctor_takes_every_call(path: Path) -> None:
    for words in calls(path.read_text()):
        words = ["7" if "$" in word else word for word in words]
        parser(words[0]).parse_args(words)


def test_the_calls_are_found() -> None:
    found = {str(path.relative_to(EXAMPLES)) for path in files() if calls(path.read_text())}
    assert {
        "docker/Dockerfile", "ci/github-actions.yml", "ci/gitlab-ci.yml", "kubernetes/daemonset.yaml",
        "kubernetes/init-container.yaml", "systemd/gpudoctor-textfile.service", "cloud-init/gpudoctor.yaml",
        "packer/gpudoctor.pkr.hcl",
    } <= found  # fmt: skip
    assert calls('exec "/opt/gpudoctor/bin/gpudoctor" check --json\n') == [["check", "--json"]]
