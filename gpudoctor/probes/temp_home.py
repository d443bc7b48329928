"""A home folder for one import: frameworks write caches, settings and ids into it, and a diagnosis leaves nothing.

It takes temporary files too: TensorFlow writes one for each function that AutoGraph converts, and removes them only
where its process ends in order.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from gpudoctor.process_cleanup import undone


@contextmanager
def spare_home(env: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment with a temporary home, gone afterwards; what decides which packages are imported stays.

    Where no temporary folder can be made, nothing can be written at home either: the environment stays as it is.
    """
    import shutil
    import tempfile

    with ExitStack() as stack:
        try:
            folder = stack.enter_context(
                undone(
                    lambda: tempfile.mkdtemp(prefix="gpudoctor-"),
                    lambda made: shutil.rmtree(made, ignore_errors=True),
                )
            )
        except OSError:
            yield dict(env)
            return
        home = {"HOME": folder} if sys.platform == "linux" else {}  # elsewhere the user site is found by other rules
        cache = os.path.join(folder, ".cache")
        yield {**env, **_kept(env), **home, "XDG_CACHE_HOME": cache, "TMPDIR": folder}


def _kept(env: Mapping[str, str]) -> dict[str, str]:
    """What is derived from the home, pointed at the real one: the user site, and settings that are there to be read.

    Python finds the user site in ~/.local (site.getuserbase), Keras its backend in ~/.keras/keras.json.
    """
    home = env.get("HOME", "")
    if not home or sys.platform != "linux":
        return {}
    kept = {"PYTHONUSERBASE": env.get("PYTHONUSERBASE") or os.path.join(home, ".local")}
    keras = os.path.join(home, ".keras")
    if "KERAS_HOME" not in env and os.path.exists(os.path.join(keras, "keras.json")):
        kept["KERAS_HOME"] = keras
    return kept
