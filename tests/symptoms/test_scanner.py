"""How a log is read: any size, any encoding, any way in which a terminal or a launcher has changed its lines."""

import gzip
import random
import tracemalloc
from collections.abc import Iterator

import pytest

from gpudoctor.symptoms import Log, Scanner, scan
from tests.symptoms.samples import OOM, trace

NO_GPU = "RuntimeError: No CUDA GPUs are available"


def ids(log: Log) -> list[str]:
    return list(log.hits)


def read(text: str) -> Log:
    return scan([text.encode()])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_pieces_of_any_size_say_the_same(size: int) -> None:
    data = f"step 1\r\nstep é\n{trace(NO_GPU, 'torch/cuda/__init__.py')}Killed".encode()
    log = scan(data[i : i + size] for i in range(0, len(data), size))
    assert (ids(log), log.lines) == (["torch-no-gpus", "killed"], 9)
    assert (log.hits["torch-no-gpus"].line, log.hits["torch-no-gpus"].packages) == (8, ("torch",))
    assert log.hits["killed"].line == 9


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding: str) -> None:
    log = scan([f"é {NO_GPU} ü\nnext\n".encode(encoding)])
    assert (ids(log), log.lines) == (["torch-no-gpus"], 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\0" * 1000,
        b"\xff" * 1000,
        b"\r" * 1000,
        b"\x1b[" * 1000,
        gzip.compress(b"x" * 9999, mtime=0),
        b"\xff\xfe\x00",
    ],
)
def test_nonsense_says_nothing(data: bytes) -> None:
    log = scan([data])
    assert (log.hits, log.raised, log.harmless, log.failed) == ({}, [], {}, False)


def test_every_state_of_a_progress_bar_is_one_line() -> None:
    bar = "".join(f"\r{i:3}%|{'#' * i}| {i}/100" for i in range(100))
    log = read(f"{bar}\r{NO_GPU}\nKilled\n")
    assert (log.lines, log.hits["torch-no-gpus"].line, log.hits["killed"].line) == (2, 1, 2)


def test_a_message_behind_a_progress_bar_on_one_line() -> None:
    line = f"  1%|#         | 24/1752 [01:08<1:22:08,  2.88s/it][rank5]:[E602 11:17:52 x.cpp:632] [Rank 5] {NO_GPU}"
    log = read(line)
    assert (ids(log), log.hits["torch-no-gpus"].rank) == (["torch-no-gpus"], 5)


def test_a_message_that_a_terminal_has_broken() -> None:
    """At 80 columns, in the middle of a word; and at a word, as rich does it."""
    text = (
        "ImportError: " + "/home/somebody/environments/training/lib/python3.11/x.so: undefined symbol: my_own_function"
    )
    broken = "\n".join(text[i : i + 80] for i in range(0, len(text), 80))
    assert ids(read(text)) == ids(read(broken)) == ["undefined-symbol"]
    text = (
        "The wheel that was installed for this very environment says: CUDA Setup failed despite\nGPU being available."
    )
    assert ids(read(text)) == ["bnb-no-gpu"]
    assert read(text).hits["bnb-no-gpu"].line == 1


def test_lines_that_do_not_belong_together_are_not_joined() -> None:
    assert (
        ids(read("an ordinary line that is long enough to be broken, and it ends with: No CUDA GPUs are\n\navailable"))
        == []
    )


BOXED = """\
╭─────────────────────────────── Traceback (most recent call last) ────────────────────────────────╮
│ /env/lib/python3.11/site-packages/torch/cuda/__init__.py:319 in _lazy_init                       │
│                                                                                                  │
│ ❱ 319 │   │   torch._C._cuda_init()  # raises: Torch not compiled with CUDA enabled              │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
RuntimeError: No CUDA GPUs are available
"""


def test_a_traceback_in_a_box() -> None:
    log = read(BOXED)
    assert ids(log) == ["torch-no-gpus"]
    assert log.hits["torch-no-gpus"].packages == ("torch",)


@pytest.mark.parametrize("prefix", ["", "[rank1]: ", "2026-02-09 09:37:32 ERROR ", "app-1  | ", "    "])
def test_the_lines_of_a_frame_are_not_what_was_raised(prefix: str) -> None:
    text = trace("KeyError: 'labels'").replace("    main()", "    raise RuntimeError('No CUDA GPUs are available')")
    log = read("".join(f"{prefix}{line}\n" for line in text.splitlines()))
    assert ids(log) == []
    assert [one.text.removeprefix(prefix.strip()).strip() for one in log.raised] == ["KeyError: 'labels'"]


def test_exceptions_that_nobody_knows_are_kept_first_and_last() -> None:
    log = read("".join(trace(f"ValueError: number {i}") for i in range(50)))
    assert [one.text for one in log.raised] == ["ValueError: number 0", "ValueError: number 1", "ValueError: number 49"]
    log = read(trace("ImportError:\n\nthe words come on their own line"))
    assert [one.text for one in log.raised] == ["ImportError: the words come on their own line"]


def test_a_warning_of_an_error_is_a_warning_until_it_is_raised() -> None:
    warned = "/env/x.py:129: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old\n"
    assert read(warned).hits["torch-old-driver"].kind == "warning"
    assert not read(warned).failed
    both = read(warned + trace("RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."))
    assert (both.hits["torch-old-driver"].kind, both.hits["torch-old-driver"].times) == ("error", 2)


def test_repetitions_are_counted_and_the_next_lines_kept() -> None:
    log = read(f"{NO_GPU}\none\ntwo\n" * 30)
    hit = log.hits["torch-no-gpus"]
    assert (hit.times, hit.line) == (30, 1)
    assert hit.lines[:3] == [NO_GPU, "one", "two"]
    assert len(hit.lines) == 13


def test_a_long_line_is_shown_from_where_it_says_something() -> None:
    log = read(f"[info] {'x ' * 400}] {NO_GPU} {'y' * 5000}")
    shown = log.hits["torch-no-gpus"].text
    assert shown.startswith(NO_GPU)
    assert len(shown) == 400


def test_a_message_across_the_cut_of_a_line_without_end() -> None:
    for before in (16300, 16360, 16383, 16384, 16390):
        assert ids(scan([b"x" * before, NO_GPU.encode(), b"y" * 200_000])) == ["torch-no-gpus"]


def test_numbers_decide_where_lines_are_alike() -> None:
    log = read("".join(f"train ended: exit code {code}\n" for code in (0, 1, 2, 137)))
    assert ids(log) == ["exit-137"]


def test_a_line_like_many_before_is_still_looked_at_where_it_matters() -> None:
    steps = "".join(f"{{'loss': {i}.5}}\n" for i in range(100))
    assert ids(read(steps + NO_GPU + "\n" + steps)) == ["torch-no-gpus"]


def test_two_streams_make_one_log() -> None:
    out = Scanner()
    err = Scanner(out.log)
    out.feed(b"step 1\nstep 2\n")
    err.feed(f"{NO_GPU}\n".encode())
    out.feed(b"step 3\nKilled")
    out.close(), err.close()
    assert (out.log.lines, {i: h.line for i, h in out.log.hits.items()}) == (5, {"torch-no-gpus": 3, "killed": 5})


def _many(megabytes: int) -> Iterator[bytes]:
    """A log of lines that are all different, some of them with messages, and tracebacks."""
    chance = random.Random(3)
    for _ in range(megabytes):
        lines = [
            f"{chance.random()} {chance.getrandbits(64):x} word {OOM if chance.random() < 0.001 else ''}"
            for _ in range(9000)
        ]
        lines += [trace(f"ValueError: {chance.random()}"), "\0" * 9999]
        yield "\n".join(lines).encode()


def test_memory_is_bounded() -> None:
    short, long = list(_many(1)), list(_many(3))  # made before, since everything takes longer while it is traced
    tracemalloc.start()
    try:
        log = scan(short)
        small = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        log = scan(long)
        large = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert log.lines > 27_000
    assert large < small + (4 << 20)


def test_an_error_that_wraps_others_ends_with_the_words_of_the_last() -> None:
    text = (
        "RuntimeError: Failed to import diffusers.pipelines because of the following error (look up to see it):\n"
        "Failed to import diffusers.models because of the following error (look up to see it):\n"
        "infer_schema(func): Parameter q has unsupported type torch.Tensor. The valid types are: ...\n"
    )
    (found,) = scan(
        [f'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    run()\n{text}'.encode()]
    ).raised
    assert found.text == (
        "RuntimeError: Failed to import diffusers.models because of the following error (look up to see it): "
        "infer_schema(func): Parameter q has unsupported type torch.Tensor. The valid types are: ..."
    )
