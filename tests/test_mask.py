"""Nobody is found in a masked facts file, and nothing else is lost."""

import pytest

from gpudoctor.facts import Facts, User
from gpudoctor.mask import masked
from tests.builders import change, host, nvidia_host


def with_home(text: str, hostname: str = "localhost") -> Facts:
    facts = nvidia_host(host=host(hostname=hostname, environment={"LD_LIBRARY_PATH": text}))
    return change(facts, "host.user", User(uid=1000, name="alice"))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("/home/alice/lib:/home/alice2/lib", "/home/user/lib:/home/user/lib"),
        ("/Users/alice/x", "/Users/user/x"),
        ("/opt/homes/alice", "/opt/homes/alice"),
        ("libcublas.so.11.0.7.247", "libcublas.so.11.0.7.247"),
        ("hf_abcdefghijklmnop", "***"),
        ("/mnt/gpu-node-7/x", "/mnt/host/x"),
        ("/mnt/gpu-node-77/x", "/mnt/gpu-node-77/x"),
    ],
)
def test_strings(text: str, hidden: str) -> None:
    found = masked(with_home(text, hostname="gpu-node-7"))
    assert found.host.environment == {"LD_LIBRARY_PATH": hidden}


def test_names_and_serials() -> None:
    facts = masked(change(with_home(""), "gpus.0.serial", "1320423032211"))
    assert facts.host.hostname == "host"
    assert facts.host.user.name == "user"
    assert isinstance(facts.gpus, tuple)
    assert facts.gpus[0].serial == "***"


def test_root_keeps_its_name() -> None:
    assert masked(change(with_home("/root/x"), "host.user.name", "root")).host.user.name == "root"


def test_nothing_else_changes() -> None:
    facts = nvidia_host()
    assert masked(facts) == facts
