"""Files of expectations on their way to the nodes: read and compared with be usable here, sent as one argument."""

import base64
import zlib
from collections.abc import Sequence

import msgspec

from gpudoctor.expect import ExpectFileError
from gpudoctor.expect.file_permissions import LIMIT, read
from gpudoctor.expect.loader import load, loads
from gpudoctor.lazy_regex import pattern

# Of one argument Linux takes 128 KiB (MAX_ARG_STRLEN, execve(2)), and a launcher may need some of it for itself.
LONGEST = 96 << 10
_NO = "The expectations that were sent cannot be read."
_ARGUMENT = pattern(r"[A-Za-z0-9_=-]*\Z")


def packed(paths: Sequence[str]) -> str:
    """The files as one argument, of letters that mean nothing to a shell; empty where there are none.

    Raises:
        ExpectFileError: one of them cannot be used, or all are too large to be sent.
    """
    if not paths:
        return ""
    load(dict.fromkeys(paths))
    texts = [(path, read(path)) for path in dict.fromkeys(paths)]
    argument = base64.urlsafe_b64encode(zlib.compress(msgspec.json.encode(texts), 9)).decode()
    if len(argument) > LONGEST:
        raise ExpectFileError(
            f"{paths[0]} is too large to send to nodes: {len(argument) >> 10} KiB compressed, the limit is "
            f"{LONGEST >> 10}; put such files in /etc/gpudoctor/expect.d on the nodes."
        )
    return argument


def unpacked(argument: str) -> tuple[tuple[str, str], ...]:
    """The name and the text of each file.

    Raises:
        ExpectFileError: the argument was not made by `packed`, or a text says something that cannot be.
    """
    if not argument:
        return ()
    try:
        if not _ARGUMENT.match(argument):
            raise ValueError
        data = zlib.decompressobj().decompress(base64.urlsafe_b64decode(argument), 16 * LIMIT)
        texts = msgspec.json.decode(data, type=tuple[tuple[str, str], ...])
    except (ValueError, zlib.error, msgspec.MsgspecError, RecursionError):
        raise ExpectFileError(_NO) from None
    for name, text in texts:
        loads(text, name)
    return texts
