"""The place Environment, by its keys and by the mouse."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input

from gpudoctor import pipeline
from gpudoctor.facts import Facts
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.commands import Commands
from gpudoctor.tui.environment.detail import EnvironmentDetail
from gpudoctor.tui.environment.facts_model import dotted
from gpudoctor.tui.environment.facts_tree import FactsTree
from gpudoctor.tui.environment.picker import TOOLKITS, Picker
from gpudoctor.tui.session import SessionSource
from tests.builders import python
from tests.checks.nvidia_machines import having
from tests.tui.environment.machines import machine
from tests.tui.screens import SIZES, compare, run, settled, text_of

FACTS = machine()
# Facts of each kind; how many there are in all changes with every new one.
TREE = {
    "schema": "gpudoctor.facts/1",
    "quick": False,
    "host": {"architecture": "x86_64", "wsl": None, "memory_limit": {"unknown": "no cgroup is mounted"}},
    "gpus": [{"name": "NVIDIA GeForce RTX 4090", "nvlinks": [True, False]}, {"name": "NVIDIA A2"}],
    "log": {"events": []},
}


def doctor(facts: Facts = FACTS) -> Callable[[], Doctor]:
    return lambda: Doctor(SessionSource(title="recorded", facts=facts))


async def there(pilot: Pilot[Any]) -> None:
    await settled(pilot, lambda: not pilot.app.session.running)  # type: ignore[attr-defined]
    await pilot.press("4")
    await settled(pilot, lambda: pilot.app.screen.query(Picker) and pilot.app.screen.query_one(Picker).path)


def place(tree: FactsTree) -> str:
    return "" if tree.cursor_node is None else dotted(tree.cursor_node.data or ())


def text(pilot: Pilot[Any]) -> str:
    return "\n".join(text_of(pilot.app))


@pytest.mark.parametrize("size", SIZES)
def test_the_overview_looks_as_it_did(size: tuple[int, int]) -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        compare(pilot.app, "environment")

    run(doctor(), what, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_facts_look_as_they_did(size: tuple[int, int]) -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("v")
        tree = pilot.app.screen.query_one(FactsTree)
        tree.show(TREE)
        await settled(pilot)
        await pilot.press("down", "down", "down", "enter")
        await settled(pilot)
        compare(pilot.app, "environment-facts")

    run(doctor(), what, size)


def test_f_leads_to_the_facts_and_back() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        switcher = pilot.app.screen.query_one(ContentSwitcher)
        await pilot.press("v")
        assert switcher.current == "environment-facts"
        assert pilot.app.screen.query_one(FactsTree).has_focus
        await pilot.press("v")
        assert switcher.current == "environment-overview"
        assert pilot.app.screen.query_one(Picker).has_focus

    run(doctor(), what)


def test_the_last_entry_is_about_cuda_outside_python() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("down")
        await settled(pilot)
        assert pilot.app.screen.query_one(Picker).path == TOOLKITS
        assert "/usr/local/cuda-12.4" in text(pilot)
        await pilot.press("enter")  # there is nothing to pick
        assert not pilot.app.session.running  # type: ignore[attr-defined]
        await pilot.click(Picker, offset=(3, 1))
        await settled(pilot)
        assert "PyTorch 2.9.1" in text(pilot)

    run(doctor(), what, (120, 40))


def test_the_right_side_is_copied() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("c")
        assert "built for: CUDA 12.8, cuDNN 9.10.2" in pilot.app.clipboard

    run(doctor(), what)


def test_a_search_goes_from_place_to_place() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("slash", *"cudnn")
        await settled(pilot)
        tree = pilot.app.screen.query_one(FactsTree)
        assert place(tree) == "pythons.0.unmet.0.requires"
        assert "1 of 8 matches for cudnn" in text(pilot)
        await pilot.press("enter", "n")
        await settled(pilot)
        assert place(tree) == "pythons.0.frameworks.0.cudnn"
        await pilot.press("c")
        assert pilot.app.clipboard == 'pythons.0.frameworks.0.cudnn = "9.10.2"'
        await pilot.press("N", "N")
        await settled(pilot)
        assert "8 of 8" in text(pilot)
        assert place(tree) == "pythons.0.frameworks.0.live.libraries.0"
        row = tree.region.y + tree.cursor_line - tree.scroll_offset.y
        assert "0  /opt/env/lib/python3.11" in text_of(pilot.app)[row]

    run(doctor(), what, (120, 40))


def test_a_search_for_nothing_says_so_and_escape_leaves_it() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("slash", *"[/zzz]")
        await settled(pilot)
        assert "No match for [/zzz]" in text(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert not pilot.app.screen.query_one(Input).has_focus
        await pilot.press("n", "N")  # nowhere to go

    run(doctor(), what)


def test_branches_are_made_when_they_are_opened() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("v")
        tree = pilot.app.screen.query_one(FactsTree)
        gpus = next(node for node in tree.root.children if node.data == ("gpus",))
        assert not gpus.children
        tree.move_cursor(gpus)
        await pilot.press("enter", "down", "enter")
        await settled(pilot)
        assert [node.data for node in gpus.children] == [("gpus", 0)]
        assert "vendor  nvidia" in text(pilot)
        tree.show(tree.facts)  # as after another examination
        await settled(pilot)
        assert "vendor  nvidia" in text(pilot)
        assert place(tree) == "gpus.0"

    run(doctor(), what, (120, 40))


def test_markup_in_facts_stays_text() -> None:
    nasty = "[red]x[/red] [@click=app.quit]\x1b[31m"
    ill = having(FACTS, pythons=(python(path=f"/opt/{nasty}/bin/python", error=nasty),))

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        assert "[red]x[/red]" in text(pilot)
        assert "\\x1b[31m" in text(pilot)
        await pilot.press("v", "slash", *"[red")
        await settled(pilot)
        assert "[red]x[/red]" in text(pilot)

    run(doctor(ill), what, (120, 40))


def test_while_nothing_is_known_it_says_so() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        pilot.app.session.facts = None  # type: ignore[attr-defined]
        pilot.app.screen.refresh_from(pilot.app.session)  # type: ignore[attr-defined]
        await settled(pilot)
        assert "Checking:" in text(pilot)

    run(lambda: Doctor(SessionSource(title="x", facts=having(FACTS, pythons=()))), what)


def test_it_fits_when_the_terminal_changes_its_size() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.resize_terminal(200, 60)
        await settled(pilot)
        wide = pilot.app.screen.query_one(Picker).size.width
        await pilot.resize_terminal(60, 20)
        await settled(pilot)
        assert pilot.app.screen.query_one(Picker).size.width < wide
        assert pilot.app.screen.query_one(EnvironmentDetail).max_scroll_x == 0

    run(doctor(), what)


def offered(app: Doctor) -> list[str]:
    return [entry.name for entry in Commands(app.screen).entries()]


def test_an_interpreter_that_is_picked_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def examined(machine: object, options: pipeline.CheckOptions, facts: object) -> object:
        asked.append(options.pythons)
        found = having(FACTS, pythons=(python(path=options.pythons[0] if options.pythons else "/opt/env/bin/python"),))
        yield pipeline.Done(pipeline.check(facts=found), found)

    monkeypatch.setattr("gpudoctor.tui.app.examine", examined)
    files = {"/home/me/.venvs/jax/bin/python": "", "/home/me/.venvs/jax/pyvenv.cfg": ""}
    source = SessionSource(make=lambda: RecordedMachine(files, env={"HOME": "/home/me"}))

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await settled(pilot, lambda: "jax" in text(pilot))
        picker = pilot.app.screen.query_one(Picker)
        assert picker.path == "/opt/env/bin/python"
        await pilot.press("enter")  # it was examined already
        await pilot.press("down")
        await settled(pilot, lambda: "This interpreter was not checked" in text(pilot))
        await pilot.press("enter")
        await settled(pilot, lambda: len(asked) == 2 and not pilot.app.session.running)  # type: ignore[attr-defined]
        await settled(pilot, lambda: picker.path == "/home/me/.venvs/jax/bin/python")
        assert "opt/env" in text(pilot)  # it can be picked again
        assert "No framework" in text(pilot)
        app = pilot.app
        assert isinstance(app, Doctor)
        assert not any(name.startswith("Back to") for name in offered(app))  # it is this machine still
        await app.open(SessionSource(title="another", facts=FACTS))
        assert "Back to this machine" in offered(app)
        await app.open(app.first)
        assert app.session.source.options.pythons == ("/home/me/.venvs/jax/bin/python",)

    run(lambda: Doctor(source), what)
    assert asked[:2] == [(), ("/home/me/.venvs/jax/bin/python",)]


def test_a_look_that_a_dead_disk_holds_is_joined_by_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, freed = [], threading.Event()

    def held(_: object) -> tuple[tuple[str, str], ...]:
        begun.append(1)
        freed.wait(20)
        return (("/opt/late/bin/python", "venv"),)

    monkeypatch.setattr("gpudoctor.pipeline.interpreters", held)
    monkeypatch.setattr(
        "gpudoctor.tui.app.examine", lambda *_: iter([pipeline.Done(pipeline.check(facts=FACTS), FACTS)])
    )

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        for _ in range(3):
            await pilot.press("1", "4")
        await settled(pilot)
        assert begun == [1]
        freed.set()
        await settled(pilot, lambda: "late" in text(pilot))
        await pilot.press("1", "4")
        await settled(pilot, lambda: len(begun) == 2)

    run(lambda: Doctor(SessionSource()), what)


def test_an_examination_that_broke_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        pilot.app.session.fail("InterpreterError: /x is no Python interpreter, by its name.")  # type: ignore[attr-defined]
        pilot.app.screen.refresh_from(pilot.app.session)  # type: ignore[attr-defined]
        await settled(pilot)
        assert "The checks failed: InterpreterError" in text(pilot)

    run(doctor(), what)
