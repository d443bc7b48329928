"""The place as a person uses it: its keys, its sizes, and a driver that hangs, which freezes nothing."""

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input

import gpudoctor.tui.app
from gpudoctor import demo
from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.monitor import sampler as sampling
from gpudoctor.monitor.facts_source import Still
from gpudoctor.monitor.replay import Replay, read
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.commands import Commands
from gpudoctor.tui.gpus.overview import Overview
from gpudoctor.tui.gpus.screen import GpusScreen
from gpudoctor.tui.gpus.sources import source_of
from gpudoctor.tui.session import Session, SessionSource
from tests.builders import card, change, nvidia_host, plain_host
from tests.standins import clean_up, compile_into, left_running, needs_gcc
from tests.tui.screens import SIZES, compare, run, settled, text_of

RECORDING = b"""{"schema": "gpudoctor.samples/1", "title": "one that trains"}
{"gpu": "GPU 0", "device": {"name": "NVIDIA Imagined", "memory": 25757220864}}
{"gpu": "GPU 0", "sample": {"at": 0.0, "utilization": 97}}
"""
LINES = read(RECORDING)
MARK = f"STANDIN_MARK=gpus-{os.getpid()}"


class Gpus(Doctor):
    """The application, with this place first, that examines nothing by itself."""

    DEFAULT_MODE = "gpus"
    CSS_PATH: ClassVar[Any] = Path(gpudoctor.tui.app.__file__).parent / "style.tcss"

    def begin(self) -> None:
        """Examine nothing: that is tested elsewhere."""


def app_of(facts: Facts | None, title: str = "demo: test", **more: Any) -> Callable[[], Doctor]:
    name = title.removeprefix("demo: ") if facts and title.startswith("demo: ") else ""
    return lambda: Gpus(SessionSource(title=title, facts=facts, demo=name, **more))


def text(pilot: Pilot[Any]) -> str:
    return "\n".join(text_of(pilot.app))


def place(pilot: Pilot[Any]) -> GpusScreen:
    assert isinstance(pilot.app.screen, GpusScreen)
    return pilot.app.screen


def shown(pilot: Pilot[Any]) -> str | None:
    return place(pilot).query_one("#gpus", ContentSwitcher).current


async def until(pilot: Pilot[Any], *holds: str) -> None:
    await settled(pilot, lambda: all(one in text(pilot) for one in holds))


def use(make: Callable[[], Doctor], *steps: Callable[[Pilot[Any]], Awaitable[object]], size: Any = (80, 24)) -> Doctor:
    async def all_of(pilot: Pilot[Any]) -> None:
        for step in steps:
            await step(pilot)

    app = run(make, all_of, size)
    assert isinstance(app, Doctor)
    return app


# -- what is shown -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_eight_gpus_stand_in_a_table_with_the_one_of_few_lanes_marked(size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "8 x NVIDIA H100", "replayed", "Gen5 x4!", "Throttle", "python", "GPU 0 Utilization")
        assert len([line for line in text_of(pilot.app) if "Gen5 x16" in line]) == 7
        assert max(map(len, text_of(pilot.app))) <= size[0]

    use(app_of(demo.load("bad-link")), look, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_one_gpu_has_the_whole_place(size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "GPU 0  NVIDIA GeForce RTX 4090", "Utilization", "Temperature", "PCIe", "PCIe Gen4 x16")
        await until(pilot, "python", "last ", "Throttle:")
        assert shown(pilot) == "gpus-detail"

    use(app_of(nvidia_host()), look, size=size)


def test_facts_show_one_moment() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "a single recorded sample", "20 of 450 W", "Unknown: not in the", "facts.", "No process")
        assert "last " not in text(pilot)

    use(app_of(nvidia_host(), "host.json"), look)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (plain_host(), "There is no GPU on the PCI bus either."),
        (plain_host(pci=(card(driver=None),)), "no driver bound"),
        (plain_host(pci=(card(vendor="8086", name="Arc"),)), "Intel Arc  driver nvidia, not sampled"),
        (demo.load("mismatch"), "Driver/library version mismatch"),
    ],
)
def test_without_a_gpu_it_says_why_and_what_the_bus_shows(facts: Facts, message: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: "No GPU is visible to a driver here" in text(pilot))
        assert " ".join(message.split()) in " ".join(text(pilot).split())

    use(app_of(facts), look, size=(120, 40))


# -- keys and the mouse --------------------------------------------------------------------------------------


def test_enter_opens_a_gpu_brackets_go_on_and_escape_goes_back() -> None:
    async def press(pilot: Pilot[Any]) -> None:
        await until(pilot, "8 x NVIDIA H100")
        await pilot.press("down", "down")
        await until(pilot, "GPU 2 Utilization")
        await pilot.press("enter")
        await until(pilot, "GPU 2  NVIDIA H100", "All GPUs")
        await pilot.press("right_square_bracket")
        await until(pilot, "GPU 3  NVIDIA H100")
        await pilot.press(*["left_square_bracket"] * 4)
        await until(pilot, "GPU 7  NVIDIA H100")
        await pilot.press("escape")
        await until(pilot, "Throttle", "Open")
        assert place(pilot).query_one(Overview).chosen == "nvidia 2"
        assert "All GPUs" not in text(pilot)

    use(app_of(demo.load("bad-link")), press)


def test_a_click_opens_a_gpu() -> None:
    async def click(pilot: Pilot[Any]) -> None:
        await until(pilot, "8 x NVIDIA H100")
        row = next(at for at, line in enumerate(text_of(pilot.app)) if "Gen5 x4!" in line)
        await pilot.click(offset=(20, row))
        await until(pilot, "GPU 5  NVIDIA H100", "(too few lanes)")

    use(app_of(demo.load("bad-link")), click)


def test_the_shown_time_grows_and_shrinks() -> None:
    async def press(pilot: Pilot[Any]) -> None:
        await until(pilot, "last 48 s")
        for key, message in (
            ("plus", "last 96 s"),
            ("plus", "last 4 min"),
            ("plus", "last 12 min"),
            ("plus", "12 min"),
        ):
            await pilot.press(key)
            await until(pilot, message)
        await pilot.press("minus", "minus", "minus", "minus")
        await until(pilot, "last 48 s")

    use(app_of(nvidia_host()), press)


def test_blocks_stand_in_for_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: "⣿" in text(pilot))
        await pilot.press("b")
        await settled(pilot, lambda: "█" in text(pilot) and "⣿" not in text(pilot))

    async def console(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: "█" in text(pilot) and "⣿" not in text(pilot))

    use(app_of(nvidia_host()), press)
    monkeypatch.setenv("TERM", "linux")
    use(app_of(nvidia_host()), console)


def test_c_copies_what_is_shown() -> None:
    async def press(pilot: Pilot[Any]) -> None:
        await until(pilot, "8 x NVIDIA H100")
        await pilot.press("c")
        assert len(pilot.app.clipboard.splitlines()) == 8
        await pilot.press("enter")
        await until(pilot, "GPU 0  NVIDIA H100")
        await pilot.press("c")
        assert pilot.app.clipboard.startswith("GPU 0 NVIDIA H100")
        assert len(pilot.app.clipboard.splitlines()) == 1

    use(app_of(demo.load("bad-link")), press)


def test_it_bears_any_size_while_it_runs() -> None:
    async def resize(pilot: Pilot[Any]) -> None:
        await until(pilot, "8 x NVIDIA H100")
        for size in ((200, 60), (20, 5), (1, 1), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await until(pilot, "8 x NVIDIA H100", "Gen5 x4!")
        await pilot.press("enter")
        for size in ((200, 60), (20, 5), (1, 1), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await until(pilot, "GPU 0  NVIDIA H100", "Temperature")

    use(app_of(demo.load("bad-link")), resize)


# -- the running machine -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml", "-DDATACENTRE", "-DLIVE")


def live(folder: str, **env: str) -> Callable[[], Doctor]:
    mark, _, value = MARK.partition("=")
    variables = {"LD_LIBRARY_PATH": folder, "PATH": "", mark: value, **env}
    return app_of(None, "this machine", make=lambda: Machine(env=variables))


def nothing_is_left() -> None:
    end = time.monotonic() + 20
    while (left := left_running(MARK)) and time.monotonic() < end:
        time.sleep(0.02)
    clean_up(left)
    assert left == []


@needs_gcc
def test_a_live_gpu_is_drawn_and_its_child_ends_with_the_application(folder: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "GPU 0  NVIDIA GeForce RTX 4090", "live", "7%", "MIG on, 2 devices", "30 of 450 W")
        assert len(left_running(MARK)) == 1

    use(live(folder, STANDIN_DEVICES="1"), look)
    nothing_is_left()


@needs_gcc
def test_nothing_is_asked_while_another_place_is_shown(folder: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        await until(pilot, "live", "Temp")
        pilot.app.switch_mode("compare")
        await settled(pilot, lambda: not left_running(MARK))
        pilot.app.switch_mode("gpus")
        await settled(pilot, lambda: len(left_running(MARK)) == 1)
        await until(pilot, "live", "Temp")

    use(live(folder), go)
    nothing_is_left()


@needs_gcc
def test_a_dialog_above_it_ends_nothing(folder: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        await until(pilot, "live", "Temp")
        before = left_running(MARK)
        pilot.app.action_command_palette()
        await pilot.pause(0.5)
        await pilot.press("escape")
        await pilot.pause(0.5)
        assert left_running(MARK) == before

    use(live(folder), go)
    nothing_is_left()


@needs_gcc
@pytest.mark.parametrize("how", ["hang", "deaf", "stop"])
def test_a_driver_that_hangs_is_named_and_freezes_nothing(
    folder: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "STALLED", 1.6)

    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "NVIDIA's driver stopped responding 2 s ago, asked for the state of GPU 1.")
        await pilot.press("down", "enter")
        await until(pilot, "GPU 1  NVIDIA GeForce RTX 4091")
        await until(pilot, "stopped responding")

    use(live(folder, STANDIN_BAD="1", STANDIN_ROUNDS="3", STANDIN_GPU_TROUBLE=how), look)
    nothing_is_left()


@needs_gcc
def test_a_driver_that_does_not_start_is_named(folder: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "nvmlInit failed with 18: Driver/library version mismatch")

    use(live(folder, STANDIN_NVML="18"), look)
    nothing_is_left()


def test_without_a_driver_it_waits_for_the_bus(tmp_path: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "No GPU is visible to a driver here", "The PCI devices are not known yet", "--demo bad-link")
        session = place(pilot).doctor.session
        session.facts = change(plain_host(), "pci", (card(),))
        place(pilot).doctor.changed.publish(session)
        await until(pilot, "On the PCI bus:", "AD102 [GeForce RTX 4090]")

    use(live(str(tmp_path)), look)
    nothing_is_left()


# -- pictures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("opened", [False, True], ids=["table", "one"])
def test_pictures(size: tuple[int, int], opened: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording stands still, so that its picture is always the same."""
    monkeypatch.setattr("gpudoctor.monitor.replay.Replay.start", lambda _: None)

    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "8 x NVIDIA H100", "GPU 0 Utilization")
        await pilot.press("end")
        await until(pilot, "GPU 7 Utilization")
        if opened:
            await pilot.press("up", "up", "enter")
            await until(pilot, "GPU 5  NVIDIA H100")
        await settled(pilot)
        compare(pilot.app, "gpus-one" if opened else "gpus-table")

    use(app_of(demo.load("bad-link"), "demo: bad-link"), look, size=size)


def test_a_recorded_machine_that_is_called_like_a_demo_is_none() -> None:
    session = Session(SessionSource(title="demo.json", facts=demo.load("cpu-wheel")))
    assert isinstance(source_of(session), Still)
    session.open(msgspec.structs.replace(session.source, demo="cpu-wheel"))
    assert isinstance(source_of(session), Replay)


@pytest.mark.parametrize("facts", [None, demo.load("mismatch")], ids=["this machine", "another"])
def test_recorded_samples_are_played_whatever_machine_is_looked_at(facts: Facts | None) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, "replayed: one that trains", "NVIDIA Imagined", "97%")

    use(lambda: Doctor(SessionSource(facts=facts, samples=LINES)), look)  # it opens with this place


def test_recorded_samples_are_asked_for_in_the_palette(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(RECORDING)
    (tmp_path / "bad").write_text("{}")

    async def look(pilot: Pilot[Any]) -> None:
        offered = {entry.name: entry for entry in Commands(pilot.app.screen).entries()}
        offered["Play recorded samples"].run()
        await settled(pilot, lambda: pilot.app.screen.query("OpenScreen #path"))
        field = pilot.app.screen.query_one("#path", Input)
        for name, why in (("none", "No such file"), ("bad", "The file is not a recording")):
            field.value = str(tmp_path / name)
            await pilot.press("enter")
            await until(pilot, why)
        field.value = str(path)
        await pilot.click("#open")
        await until(pilot, "replayed: one that trains")
        assert pilot.app.current_mode == "gpus"

    use(lambda: Doctor(SessionSource(title="host.json", facts=demo.load("mismatch"))), look)
