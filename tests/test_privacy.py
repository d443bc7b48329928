"""Nobody is found in masked facts, nothing else is lost, and they are judged as the real ones are."""

import random
import re
from functools import partial

import msgspec
import pytest

from gpudoctor import check, demo
from gpudoctor.facts import Facts, ServiceLine, ServiceLog, User
from gpudoctor.facts.history import ChangeHistory, RecordedChange
from gpudoctor.facts.host import UserGroup
from gpudoctor.maybe import Unknown
from gpudoctor.privacy.masks import Masks, masked
from gpudoctor.privacy.secrets import harmless
from gpudoctor.privacy.tree import strings
from gpudoctor.report.model import Report, SymptomEntry
from tests.builders import change, host, nvidia_host
from tests.machines.registry import machines

TOKENS = (
    "hf_abcdefghijklmnop",
    "ghs_abcdefghijklmnop",
    "github_pat_11AAAAAAA0aaaaaaaaaaaa",
    "nvapi-abcdefghijklmnopqrstuvwxyz0123",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk",
    "0123456789abcdef0123456789abcdef01234567",
)
CARD = "GPU-7d1f0b0e-1111-2222-3333-444455556666"  # of no card here: what the facts name first is number 0
SECRETS = [
    *((token, "***") for token in TOKENS),
    ("https://conda.anaconda.org/t/jd-1234-abcd/main", "https://conda.anaconda.org/t/***/main"),
    ("https://conda.anaconda.org/t/jd-1234-abcd/2024-main", "https://conda.anaconda.org/t/***/2024-main"),
    ("https://forum.example/t/a-long-title/1690", "https://forum.example/t/a-long-title/1690"),
    ('bytes.fromhex("0123456789abcdef0123456789abcdef")', 'bytes.fromhex("0123456789abcdef0123456789abcdef")'),
    ("https://alice:geheim@host.example/simple", "https://***@host.example/simple"),
    ("--api-key=geheim1 HF_TOKEN=abcd", "--api-key=*** HF_TOKEN=***"),
    ("tokenizer=fast --max-tokens=12", "tokenizer=fast --max-tokens=12"),
    ("train.py --hf-token geheim1 --lr 3", "train.py --hf-token *** --lr 3"),
    ("--password 'geheim1' -x", "--password '***' -x"),
    ("Authorization: Bearer geheim1geheim", "Authorization: Bearer ***"),
    ("--no-token --verbose", "--no-token --verbose"),
    ("--max-tokens 4096 --tokenizer llama", "--max-tokens 4096 --tokenizer llama"),
    ("a token that was lost", "a token that was lost"),
    ("cannot import name 'hf_cache_home'", "cannot import name 'hf_cache_home'"),
    ("aws_secret_access_key = geheim1/K7", "aws_secret_access_key = ***"),
    ('{"https://index.docker.io/v1/": {"auth": "geheim1"}}', '{"https://index.docker.io/v1/": {"auth": "***"}}'),
    ("netroot=iscsi:alice:geheim1@san::3260", "netroot=iscsi:***@san::3260"),
    ("sshpass -p geheim1 ssh node", "sshpass -p *** ssh node"),
    ("curl -s -u bob:geheim1 https://example.org/", "curl -s -u bob:*** https://example.org/"),
    ("docker run -u 1000:1000 --auth none", "docker run -u 1000:1000 --auth none"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END", "-----BEGIN RSA PRIVATE KEY-----***-----END"),
]


def with_home(text: str, hostname: str = "localhost", user: str = "alice") -> Facts:
    facts = nvidia_host(host=host(hostname=hostname, environment={"LD_LIBRARY_PATH": text}))
    facts = change(facts, "gpus.0.uuid", None)
    return change(facts, "host.user", User(uid=1000, name=user))


def hidden(text: str, hostname: str = "gpu-node-7", user: str = "alice") -> str:
    """What masking makes of a variable's value."""
    return masked(with_home(text, hostname, user)).host.environment["LD_LIBRARY_PATH"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/alice/lib:/home/alice2/lib", "/home/user/lib:/home/user2/lib"),
        ("/home/alice2/lib:/home/alice/lib", "/home/user2/lib:/home/user/lib"),
        ("/Users/alice/x", "/Users/user/x"),
        ("/mnt/c/Users/Alice B/AppData", "/mnt/c/Users/user2/AppData"),
        ("/net/home/bob/x", "/net/home/user2/x"),
        ("/data/alice/x:/data/alice", "/data/user/x:/data/user"),
        ("/opt/alice/x", "/opt/user/x"),
        ("/data/alice.old:/data/malice", "/data/alice.old:/data/malice"),
        ("/opt/homes/alicia", "/opt/homes/alicia"),
        ("Permission denied for alice, alice@gpu-node-7", "Permission denied for user, user@host"),
        ("alice2 and malice and alice.py", "alice2 and malice and alice.py"),
        ("libcublas.so.11.0.7.247", "libcublas.so.11.0.7.247"),
        ("/usr/local/lib/libcudart.so.10.1.0.105:/x", "/usr/local/lib/libcudart.so.10.1.0.105:/x"),
        ("driver 11.0.7.247: too old", "driver 11.0.7.247: too old"),
        *SECRETS,
        ("root=UUID=7d1f0b0e-1111-2222-3333-444455556666 quiet", "root=UUID=*** quiet"),
        ("root=PARTUUID=1234abcd-02 quiet", "root=PARTUUID=*** quiet"),
        ("rd.luks=7d1f0b0e-1111-2222-3333-444455556666", "rd.luks=00000000-0000-0000-0000-000000000000"),
        ("BOOTIF=01-aa-bb-cc-dd-ee-ff ip=10.0.0.7::10.0.0.1:", "BOOTIF=*** ip=***::10.0.0.1:"),
        ("tcp://10.0.0.7:29500 aa:bb:cc:dd:ee:ff", "tcp://***:29500 ***"),
        ("on interface enx00e04c680001", "on interface enx***"),
        ("0000:01:00.0 10de:2684", "0000:01:00.0 10de:2684"),
        (CARD, "GPU-00000000-0000-0000-0000-000000000000"),
        (f"{CARD} GPU-7d1f0b0e", "GPU-00000000-0000-0000-0000-000000000000 GPU-00000000"),
        ("GPU-0a1b2c3d4e5f6789 GPU-1", "GPU-0000000000000000 GPU-1"),
        (f"MIG-{CARD}/1/0", "MIG-GPU-00000000-0000-0000-0000-000000000000/1/0"),
        ("/mnt/gpu-node-7/x", "/mnt/host/x"),
        ("/mnt/gpu-node-77/x", "/mnt/gpu-node-77/x"),
        ("gpu-node-7.cluster.example.org: down", "host: down"),
    ],
)
def test_strings(text: str, expected: str) -> None:
    assert hidden(text) == expected
    assert hidden(expected, "host", "user") == expected


@pytest.mark.parametrize(
    ("user", "text", "expected"),
    [
        ("root", "/root/x:/home/root/y", "/root/x:/home/user/y"),
        ("py", "/home/py/x:/data/py/y:/scratch/a/py", "/home/user/x:/data/user/y:/scratch/a/user"),
        (
            "py",
            "/opt/env/lib/python3.11/site-packages/py/z py.test",
            "/opt/env/lib/python3.11/site-packages/py/z py.test",
        ),
        ("py", "/data/py/env/lib/site-packages/py/z", "/data/user/env/lib/site-packages/py/z"),
        ("nvidia", "/opt/nvidia/lib nvidia", "/opt/nvidia/lib nvidia"),
        ("lib", "/usr/lib/x:/opt/lib:/data/lib", "/usr/lib/x:/opt/lib:/data/user"),
        ("cuda", "/usr/local/cuda/lib64:/data/cuda/x", "/usr/local/cuda/lib64:/data/user/x"),
    ],
)
def test_users_with_the_name_of_something_else(user: str, text: str, expected: str) -> None:
    assert hidden(text, user=user) == expected


def test_a_message_that_names_a_package_and_a_home_keeps_nobodys_name() -> None:
    facts = change(with_home("/opt/alice/x alice: denied"), "containers.docker_config_error", None)
    reported = "/opt/e/lib/python3.11/site-packages/torch/x.so: /home/alice/lib/y.so: no such file"
    found = masked(change(facts, "containers.docker_config_error", reported))
    assert found.containers.docker_config_error == reported.replace("alice", "user")
    assert found.host.environment["LD_LIBRARY_PATH"] == "/opt/user/x user: denied"


def test_names_and_serials() -> None:
    facts = masked(change(with_home(""), "gpus.0.serial", "1320423032211"))
    assert facts.host.hostname == "host"
    assert facts.host.user.name == "user"
    assert isinstance(facts.gpus, tuple)
    assert facts.gpus[0].serial == "***"


def test_groups_of_people() -> None:
    groups = (UserGroup(gid=44, name="video"), UserGroup(gid=1000, name="alice"), UserGroup(gid=2001, name="project-x"))
    facts = masked(change(with_home(""), "host.user.groups", groups))
    assert facts.host.user.groups == (
        groups[0],
        UserGroup(gid=1000, name="group1000"),
        UserGroup(gid=2001, name="group2001"),
    )


def test_root_keeps_its_name() -> None:
    assert masked(change(with_home("/root/x"), "host.user.name", "root")).host.user.name == "root"


def test_a_home_elsewhere() -> None:
    facts = with_home("/groups/vision/al/x:/groups/vision/al2", user="bob")
    facts = change(facts, "host.environment", facts.host.environment | {"HOME": "/groups/vision/al"})
    assert masked(facts).host.environment == {
        "LD_LIBRARY_PATH": "/home/user/x:/groups/vision/al2",
        "HOME": "/home/user",
    }


def test_addresses_in_variables_that_hold_them() -> None:
    environment = {"MASTER_ADDR": "10.0.0.7", "CUDA_VERSION": "11.0.7.247", "NODE_IP": "fe80::1:2:3:4"}
    facts = change(with_home(""), "host.environment", environment)
    expected = {"MASTER_ADDR": "***", "CUDA_VERSION": "11.0.7.247", "NODE_IP": "***"}
    assert masked(facts).host.environment == expected


def test_keys_are_never_touched() -> None:
    environment = {"alice": "alice x", "hf_abcdefghijklmnop": "1", "/home/alice": "/home/alice"}
    facts = masked(change(with_home(""), "host.environment", environment))
    assert list(facts.host.environment) == list(environment)
    assert facts.host.environment["alice"] == "user x"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("GPU-7d1f", "GPU-00000001-0000-0000-0000-000000000000"),
        ("GPU-7d1f0b0e-1111", "GPU-00000001-0000"),
        ("GPU-5", "GPU-5"),  # of neither
        ("GPU-", "GPU-"),
        ("GPU-7", "GPU-0"),  # of both: still no choice
        ("1,0", "1,0"),
    ],
)
def test_a_mask_by_uuid_still_chooses_the_same(given: str, expected: str) -> None:
    facts = with_home("")
    assert isinstance(facts.gpus, tuple)
    first = change(facts, "gpus.0.uuid", "GPU-70000000-1111-2222-3333-444455556666").gpus
    second = change(facts, "gpus.0.uuid", CARD).gpus
    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    facts = change(facts, "gpus", (*first, *second))
    facts = masked(change(facts, "host.environment", {"CUDA_VISIBLE_DEVICES": given}))
    assert facts.host.environment == {"CUDA_VISIBLE_DEVICES": expected}
    assert masked(facts) == facts


def test_nothing_else_changes() -> None:
    facts = nvidia_host()
    assert isinstance(facts.gpus, tuple)
    assert masked(facts) == change(facts, "gpus.0.uuid", "GPU-00000000-0000-0000-0000-000000000000")


@pytest.mark.parametrize(("text", "expected"), SECRETS)
def test_secrets_are_left_out_of_everything(text: str, expected: str) -> None:
    assert harmless(Report(next=(text,))).next == (expected,)


def test_the_own_home_is_the_user_s_whatever_its_name() -> None:
    facts = change(with_home("", "gpu-node-7"), "host.environment", {"HOME": "/home/bob"})
    assert (
        Masks(change(facts, "host.user.name", "root")).text("/home/bob/x /home/alice/y") == "/home/user/x /home/user2/y"
    )


def test_the_words_of_a_log_are_masked() -> None:
    symptom = SymptomEntry(
        id="driver",
        role="root",
        program="driver",
        message="alice: /home/alice/x",
        meaning="",
        details=("on gpu-node-7",),
    )
    report = Masks(with_home("", "gpu-node-7")).report(Report(symptoms=(symptom,)))
    assert (report.symptoms[0].message, report.symptoms[0].details) == ("user: /home/user/x", ("on host",))
    assert report.symptoms[0].program == "driver"


def test_the_lines_of_services_are_masked() -> None:
    line = ServiceLine(service="podman", symptom="cdi", text="gpu-node-7: /home/alice/x: --token geheim1")
    facts = masked(change(with_home("", "gpu-node-7"), "services", ServiceLog(lines=(line,))))
    assert isinstance(facts.services.lines, tuple)
    assert facts.services.lines[0].text == "host: /home/user/x: --token ***"


Reported = tuple[str, list[object], list[str]]


def reported(facts: Facts) -> Reported:
    """What is found: each check and how it ended, not the sentences and paths in which a name may stand."""
    report = check(facts=facts)
    found = [(f.check, f.status, tuple(c.check for c in f.consequences), len(f.fixes)) for f in report.findings]
    return report.status, list(found), [one.check for one in report.unknown]


NAMES = (("nvidia", "py"), ("driver", "torch"), ("lib", "cuda"), ("gpu-node-7.example.org", "alice"))
MAKERS = {one.name: one.make for one in machines()}
MAKERS |= {f"demo {name}": partial(demo.load, name) for name in ("bad-link", "cpu-wheel", "mismatch")}


def unlucky(name: str, facts: Facts) -> list[tuple[str, str]]:
    """Names of host and user that are words of other things: by chance one of ours, and one of these very facts."""
    words = sorted({word for text in strings(facts) for word in re.findall(r"[A-Za-z]\w+", text)})
    chance = random.Random(name)
    return [chance.choice(NAMES), (chance.choice(words), chance.choice(words))]


@pytest.mark.parametrize("name", MAKERS)
def test_masked_facts_are_judged_the_same(name: str) -> None:
    for hostname, user in (("", ""), *unlucky(name, MAKERS[name]())):
        facts = MAKERS[name]()
        if hostname:
            facts = change(change(facts, "host.hostname", hostname), "host.user.name", user)
        found = masked(facts)
        assert reported(found) == reported(facts), (hostname, user)
        assert masked(found) == found, (hostname, user)
        assert len(list(strings(found))) == len(list(strings(facts)))


def test_what_is_unknown_stays_unknown() -> None:
    facts = change(change(with_home(""), "host.hostname", Unknown("closed")), "host.user.name", Unknown("no passwd"))
    found = masked(facts)
    assert (found.host.hostname, found.host.user.name) == (Unknown("closed"), Unknown("no passwd"))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Facts) == found


@pytest.mark.parametrize("name", ["H100", "HBM3", "nvidia", "torch", "cuda", "pass", "gpu", "py", "root", "localhost"])
@pytest.mark.parametrize("domain", ["", ".corp.example.com"])
def test_a_name_that_is_a_gpus_or_a_packages_changes_nothing_but_itself(name: str, domain: str) -> None:
    node = next(m for m in machines() if m.name == "hgx-h100").make()
    node = change(change(node, "host.user.name", name), "host.hostname", name + domain)
    node = change(node, "pythons.0.path", f"/home/{name}/env/bin/python")
    found = masked(node)
    assert found.nvidia.cuda == node.nvidia.cuda
    assert [gpu.name for gpu in found.gpus] == [gpu.name for gpu in node.gpus]  # type: ignore[union-attr]
    real, hidden_ = check(facts=node), check(facts=found)
    assert [one.check for one in hidden_.findings] == [one.check for one in real.findings]
    assert list(hidden_.inventory.packages) == ["/home/user/env/bin/python"]  # the keys are data here


@pytest.mark.parametrize("name", ["opt", "var", "env"])
def test_folders_that_every_machine_has_keep_their_names(name: str) -> None:
    text = "/opt/nvidia/lib:/var/lib/nvidia:/opt/env/lib"
    assert hidden(text, user=name) == text


def test_who_asked_for_a_change_is_masked() -> None:
    """A short name, and one of another account, which no rule for words finds."""
    asked = [
        RecordedChange(time="2026-11-20 06:31:52", action="upgrade", name="cuda", user=user, command=command)
        for user, command in (("bo", "apt install /home/bo/x.deb"), ("carla", None), ("root", None), ("uid 1000", None))
    ]
    facts = change(nvidia_host(), "history", ChangeHistory(packages=tuple(asked)))
    found = masked(facts).history.packages
    assert not isinstance(found, Unknown)
    assert [c.user for c in found] == ["user2", "user3", "root", "uid 1000"]
    assert found[0].command == "apt install /home/user2/x.deb"
