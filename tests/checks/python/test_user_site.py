"""What ~/.local hides of the environment."""

import pytest

from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.facts import UnmetRequirement
from tests.checks.environments import SITE, commands, environment, one, package, torch

HOME = "/root/.local/lib/python3.11/site-packages"
HUB = UnmetRequirement(
    package="transformers", version="4.57.6", requires="huggingface-hub<1.0,>=0.34.0", found="0.23.5"
)


@pytest.mark.parametrize(
    ("user", "asking", "own", "hidden"),
    [
        (HOME, SITE, "0.36.2", True),
        (None, SITE, "0.36.2", False),  # ~/.local takes no part
        (HOME, HOME, "0.36.2", False),  # what asks for it would be gone as well
        (HOME, SITE, "0.30.0", False),
    ],
)
def test_what_lies_in_local_hides_a_right_release(user: str | None, asking: str, own: str, hidden: bool) -> None:
    copies = (
        package("huggingface-hub", "0.23.5", directory=HOME),
        package("huggingface-hub", own),
        package("transformers", "4.57.6", directory=asking),
    )
    facts = environment(torch(), packages=copies, user_site=user, unmet=(HUB,))
    words = f" in ~/.local, which hides the environment's own {own}."
    assert one(unmet_requirement, facts)[1].endswith(words) is hidden
    assert ("export PYTHONNOUSERSITE=1" in commands(unmet_requirement, facts)) is hidden
