"""Where files of expectations lie when nobody names one."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudoctor.expect import ExpectFileError

if TYPE_CHECKING:
    from gpudoctor.expect.expectation import Expectation

HERE = "gpudoctor.toml"
SITE = "/etc/gpudoctor/expect.d"
MOST = 200  # files


def expectations(given: Sequence[str] = (), root: str = "/", automatic: bool = True) -> "tuple[Expectation, ...]":
    """What is expected of a machine.

    Args:
        given: files that the user names, instead of ./gpudoctor.toml.
        root: under which the machine's own files lie.
        automatic: whether files that nobody names are read: ./gpudoctor.toml and the site's.

    Raises:
        ExpectFileError: a file cannot be used, or somebody else could have written it.
    """
    files = list(given)
    if automatic and os.name == "posix":  # elsewhere nobody can say who else may write to a file
        here = [HERE] if not given and os.path.lexists(HERE) else []
        files = [*_site(root), *files, *here]
    if not files:
        return ()
    from gpudoctor.expect.loader import load  # most machines have no such file, and every start would pay for it

    return load(dict.fromkeys(files))


def of_node(texts: Sequence[tuple[str, str]] = (), root: str = "/") -> "tuple[Expectation, ...]":
    """What is expected of a node of a fleet: by the site's files that lie there, and by files that were sent to it.

    Args:
        texts: of each file that was sent, its name and what stands in it.
        root: under which the node's own files lie.

    Raises:
        ExpectFileError: a file cannot be used, or somebody else could have written it.
    """
    files = _site(root) if os.name == "posix" else []
    if not files and not texts:
        return ()
    from gpudoctor.expect.loader import distinct, load, loads

    return distinct([*load(files), *(one for name, text in texts for one in loads(text, name))])


def _site(root: str) -> list[str]:
    folder = os.path.join(root, SITE.lstrip("/"))
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml") and not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ExpectFileError(f"{folder} cannot be read: {error.strerror or error}.") from None
    if len(names) > MOST:
        raise ExpectFileError(f"{folder} contains more than {MOST} files.")
    files = [os.path.join(folder, name) for name in names]
    for file in files:
        inside = os.path.realpath(file).startswith(os.path.join(os.path.realpath(root), ""))
        if not inside:
            raise ExpectFileError(f"{file} is a link to outside of {root}.")
    return files
