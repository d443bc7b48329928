"""A user without a name, and PyTorch's compiler, which asks for it."""

from typing import Any

import pytest

from gpudoctor.checks.pytorch.user_without_name import user_without_name
from gpudoctor.facts import Facts, PackageImport
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import commands, environment, one, severity, torch, verifies

CRASH = "KeyError: 'getpwuid(): uid not found: 1000910000'"
PLAIN = (
    "User 1000910000 has no name: no account, and neither USER nor LOGNAME is set. The compiler of PyTorch 2.11.0 "
    "needs one: torch.compile fails with KeyError: 'getpwuid(): uid not found'."
)


def nameless(login: Any = False, number: Any = "2.11.0", error: str | None = None, **variables: str) -> Facts:
    facts = change(environment(torch(number)), "host.user.login", login)
    facts = change(change(facts, "host.user.uid", 1000910000), "host.environment", variables)
    done = PackageImport(package="vllm", version="0.23.0", module="vllm", error=error)
    return change(facts, "pythons.0.imports", (done,))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nameless(), ("problem", PLAIN)),
        (nameless(login=True), ("pass", "")),
        (nameless(number="2.13.0"), ("pass", "")),
        (nameless(number="2.13.0", login=Unknown("closed")), ("pass", "")),
        (nameless(login=Unknown("closed")), ("unknown", "closed")),
        (nameless(TORCHINDUCTOR_CACHE_DIR="/data/cache"), ("pass", "")),
        (change(nameless(), "gpus", ()), ("pass", "")),
    ],
)
def test_user_without_name(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(user_without_name, facts) == verdict


def test_an_import_that_fails_over_it_is_an_error() -> None:
    for facts in (nameless(error=CRASH), nameless(error=CRASH, TORCHINDUCTOR_CACHE_DIR="/data/cache")):
        assert one(user_without_name, facts)[1].endswith("The compiler of PyTorch 2.11.0 needs one: import vllm fails.")
        assert severity(user_without_name, facts) == "fail"
    assert severity(user_without_name, nameless()) == "warn"


def test_the_newer_pytorch_is_one_for_this_driver() -> None:
    typed = commands(user_without_name, nameless())
    assert "PyTorch 2.13 and newer need no name. Install the cu126 build" in typed
    old = change(nameless(), "nvidia.cuda.version", "11.4")
    assert "2.13" not in commands(user_without_name, old)


def test_a_name_is_enough() -> None:
    typed = commands(user_without_name, change(nameless(), "host.container", "docker"))
    assert "export USER=gpu" in typed
    assert "the -e option" in typed
    assert verifies(user_without_name, nameless())[0] == (
        "/opt/env/bin/python -c 'import getpass; print(getpass.getuser())'"
    )
