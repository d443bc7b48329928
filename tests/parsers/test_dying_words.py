"""What is kept of a process that died: its fatal lines, and frames that are not our own scripts'."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.parsers.crash_output import dying_words, tail

OURS = '  File "/opt/env/lib/python3.12/site-packages/gpudoctor/workers/ask_jax.py", line 30 in ask'
JAX = '  File "/opt/env/lib/python3.12/site-packages/jax/_src/xla_bridge.py", line 900 in backends'
CHECK = "F0000 00:00:1731500000.123456    4711 cuda_executor.cc:1068] Check failed: context != nullptr"
ABORTED = "Fatal Python error: Aborted"
DUMP = f"""{CHECK}
*** Check failure stack trace: ***
    @     0x7f1a2b3c4d5e  absl::lts_20230802::log_internal::LogMessage::Fail()
{ABORTED}

Current thread 0x00007f1a2b3c4d5e (most recent call first):
{JAX}
{OURS}
  File "/opt/env/lib/python3.12/site-packages/gpudoctor/workers/ask.py", line 29 in <module>

Extension modules: numpy.core._multiarray_umath, jaxlib.cpu_feature_guard (total: 2)
"""
TRACEBACK = f"""Traceback (most recent call last):
{OURS.replace(" in ask", ", in ask")}
    import jax
    ^^^^^^^^^^
{JAX.replace(" in backends", ", in backends")}
    boom()
terminate called after throwing an instance of 'c10::Error'
  what():  CUDA error: initialization error
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ()),
        (DUMP, (CHECK, ABORTED, JAX.strip())),
        (
            TRACEBACK,
            (
                "terminate called after throwing an instance of 'c10::Error'",
                "what():  CUDA error: initialization error",
                JAX.replace(" in backends", ", in backends").strip(),
            ),
        ),
        ("one\n\ntwo\n" + OURS, ("one", "two")),
        ("malloc(): corrupted top size\nlast", ("malloc(): corrupted top size",)),
        ("\n".join(f"{n}" for n in range(9)), ("3", "4", "5", "6", "7", "8")),
        (
            "\n".join(f"F{n:04} Check failed: {n}" for n in range(9)),
            ("F0000 Check failed: 0", "F0001 Check failed: 1", "F0008 Check failed: 8"),
        ),
    ],
)
def test_the_fatal_line_and_where_it_was(text: str, said: tuple[str, ...]) -> None:
    assert dying_words(text) == said


def test_a_long_dump_does_not_push_the_fatal_line_out() -> None:
    dump = "\n".join(f'  File "/x/jax/{n}.py", line {n} in f' for n in range(100))
    kept = tail(f"noise\n{CHECK}\n{dump}", 40)
    assert kept.splitlines()[0] == CHECK
    assert len(kept.splitlines()) == 41
    assert dying_words(kept)[0] == CHECK
    assert tail("\n".join(map(str, range(50))), 30).splitlines() == [str(n) for n in range(20, 50)]


def test_a_process_that_really_aborts(tmp_path: Path) -> None:
    script = tmp_path / "gpudoctor" / "workers" / "ask_it.py"
    script.parent.mkdir(parents=True)
    library = tmp_path / "foreign.py"
    library.write_text("import os\ndef f():\n    os.abort()\n", encoding="utf-8")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport foreign\nforeign.f()\n"
    script.write_text(code, encoding="utf-8")
    argv = [sys.executable, "-X", "faulthandler", str(script)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert dying_words(ended.stderr) == ("Fatal Python error: Aborted", f'File "{library}", line 3 in f')
