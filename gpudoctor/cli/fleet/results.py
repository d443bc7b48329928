"""Where the results of `gpudoctor fleet run` go when nobody names a directory."""

import os
from datetime import date
from itertools import chain, count

from gpudoctor.cli import UsageError


def default_directory() -> str:
    """A name that nothing has yet: gpudoctor-fleet-2026-11-23, then gpudoctor-fleet-2026-11-23-2."""
    name = f"gpudoctor-fleet-{date.today().isoformat()}"
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    return next(one for one in names if not os.path.lexists(one))


def made_directory() -> str:
    """Make the directory; two runs that begin at once get two.

    Raises:
        UsageError: it cannot be made.
    """
    while True:
        name = default_directory()
        try:
            os.mkdir(name)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(
                f"{name} cannot be made: {error.strerror or error}. Name a directory with --output."
            ) from None
        return name
