"""Expectations in a report that leaves the machine: judged by what is true, told without what identifies anybody."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from gpudoctor.catalogue import broken
from gpudoctor.check_engine import Check
from gpudoctor.expect.evaluate import judged
from gpudoctor.expect.expectation import Expectation
from gpudoctor.expect.values import FoundValue, found
from gpudoctor.facts import Facts
from gpudoctor.privacy.secrets import MASK

Text = Callable[[str], str]


class Hidden(NamedTuple):
    """An expectation whose check tells its verdict on the true facts in masked words.

    Attributes:
        true: as it was read.
        facts: as they were found.
        text: masks a text.
    """

    true: Expectation
    facts: Facts
    text: Text

    @property
    def id(self) -> str:
        """The id of its check."""
        return self.true.id

    def check(self, facts: Facts) -> Check[Any]:
        """The check; `facts` are the masked ones, and only shown."""
        try:
            seen = found(self.facts, self.true.steps)
            masked = found(facts, tuple(map(self.text, self.true.steps)))
            shown = masked if len(masked) == len(seen) else tuple(map(self._without, seen))
            whys = [judged(self.true.wanted, one.value) for one in seen]
            reported = [(one, None if why is None else self.text(why)) for one, why in zip(shown, whys, strict=True)]
            secret = any(one.value != other.value for one, other in zip(seen, shown, strict=True))
            return self._expectation(secret).reported(reported, facts)
        except Exception as error:  # as of one that is not hidden
            return broken(self.id, type(error).__name__)

    def _without(self, one: FoundValue) -> FoundValue:
        """A value of which the masked facts hold no counterpart."""
        value = self.text(one.value) if isinstance(one.value, str) else one.value
        python = None if one.python is None else self.text(one.python)
        return one._replace(path=self.text(one.path), value=value, python=python)

    def _expectation(self, secret: bool) -> Expectation:
        """The expectation in masked words; where the fact is hidden, so is what it should be."""
        true, text = self.true, self.text
        return true._replace(
            path=text(true.path),
            place=text(true.place),
            message=text(true.message),
            fix=text(true.fix),
            shown=MASK if secret else text(true.wanted_words),
        )


def hidden(expected: Iterable[Any], facts: Facts, text: Text) -> tuple[Hidden, ...]:
    """The same expectations for a report that leaves the machine.

    Args:
        expected: those of the options.
        facts: as they were found.
        text: masks a text.
    """
    return tuple(Hidden(one, facts, text) for one in expected)
