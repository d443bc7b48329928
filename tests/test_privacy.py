"""Nobody is found in a masked facts file, and nothing else is lost."""

import pytest

from gpudoctor.facts import Facts, User
from gpudoctor.privacy import masked
from tests.builders import change, host, nvidia_host

TOKENS = (
    "hf_abcdefghijklmnop",
    "ghs_abcdefghijklmnop",
    "github_pat_11AAAAAAA0aaaaaaaaaaaa",
    "nvapi-abcdefghijklmnopqrstuvwxyz0123",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk",
    "0123456789abcdef0123456789abcdef01234567",
)


def with_home(text: str, hostname: str = "localhost") -> Facts:
    facts = nvidia_host(host=host(hostname=hostname, environment={"LD_LIBRARY_PATH": text}))
    return change(facts, "host.user", User(uid=1000, name="alice"))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("/home/alice/lib:/home/alice2/lib", "/home/user/lib:/home/user/lib"),
        ("/Users/alice/x", "/Users/user/x"),
        ("/mnt/c/Users/Alice B/AppData", "/mnt/c/Users/user/AppData"),
        ("/net/home/bob/x", "/net/home/user/x"),
        ("/data/alice/x:/data/alice", "/data/user/x:/data/user"),
        ("/data/alice.old:/data/malice", "/data/alice.old:/data/malice"),
        ("/opt/homes/alicia", "/opt/homes/alicia"),
        ("libcublas.so.11.0.7.247", "libcublas.so.11.0.7.247"),
        *((token, "***") for token in TOKENS),
        ("https://conda.anaconda.org/t/jd-1234-abcd/main", "https://conda.anaconda.org/t/***/main"),
        ("root=UUID=7d1f0b0e-1111-2222-3333-444455556666 quiet", "root=UUID=*** quiet"),
        ("GPU-7d1f0b0e-1111-2222-3333-444455556666", "GPU-7d1f0b0e-1111-2222-3333-444455556666"),
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


def test_an_account_that_comes_with_an_image_hides_nothing_of_the_system() -> None:
    facts = change(with_home("/opt/nvidia/lib"), "host.user.name", "nvidia")
    assert masked(facts).host.environment == {"LD_LIBRARY_PATH": "/opt/nvidia/lib"}


def test_nothing_else_changes() -> None:
    facts = nvidia_host()
    assert masked(facts) == facts
