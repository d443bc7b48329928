"""An editable installation whose directory is gone."""

import pytest

from gpudoctor.checks.python.checkout_gone import checkout_gone
from gpudoctor.facts import Facts, LostCheckout
from tests.builders import ask
from tests.checks.environments import commands, environment, one, torch

FOLDER = "/home/me/accelerate"


def lost(package: str = "accelerate", version: str = "1.12.0", *needed_by: str) -> Facts:
    gone = LostCheckout(package=package, version=version, folder=FOLDER, needed_by=needed_by)
    return environment(torch(), lost_checkouts=(gone,))


def test_it_is_named_with_what_needs_it() -> None:
    assert one(checkout_gone, lost("accelerate", "1.12.0", "transformers", "trl")) == (
        "problem",
        "accelerate 1.12.0 was installed from /home/me/accelerate, which does not exist: it cannot be imported. "
        "transformers and trl require it.",
    )


@pytest.mark.parametrize(
    ("facts", "spec"),
    [(lost(), "accelerate==1.12.0"), (lost(version="1.13.0.dev0"), "accelerate"), (lost(version="1.12.0+me"), None)],
)
def test_a_known_project_is_installed_from_its_index(facts: Facts, spec: str | None) -> None:
    text = commands(checkout_gone, facts)
    assert f"--force-reinstall --no-deps {spec or 'accelerate'}\n" in f"{text}\n"


def test_ones_own_project_is_not_looked_for_on_an_index() -> None:
    """Somebody else may have taken its name there."""
    text = commands(checkout_gone, lost("my-utils"))
    assert "pip install" not in text
    assert "uninstall" in text
    assert "uninstall" not in commands(checkout_gone, lost("my-utils", "0.1", "trl"))


def test_where_all_are_there_nothing_is_said() -> None:
    assert ask(checkout_gone, environment(torch())) == [("pass", "")]
