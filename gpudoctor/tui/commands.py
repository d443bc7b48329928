"""What the command palette offers: what the keys of the screen do, the places, and other machines to open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.app import App
from textual.command import DiscoveryHit, Hit, Hits, Provider

from gpudoctor.demo import DEMOS, load
from gpudoctor.tui.screens import ALL
from gpudoctor.tui.session import SessionSource

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor


# Other words for what an action or a place does.
SYNONYMS = {
    "run_fix": "run fix apply repair execute",
    "undo_fix": "undo revert roll back",
    "again": "refresh rescan rerun reload check again restart",
    "again_one": "recheck verify try again",
    "save": "export html json markdown svg report write share",
    "keep": "export json",
    "search": "filter find search grep text",
    "status": "filter show only",
    "area": "filter show only",
    "state": "filter show only",
    "others": "filter all passed unknown skipped",
    "copy": "clipboard yank commands",
    "copy_all": "clipboard yank commands",
    "copy_nodes": "clipboard yank hostlist",
    "start": "run begin smoke tests",
    "halt": "cancel abort end",
    "theme": "dark light colors",
    "help": "help shortcuts bindings",
    "quit": "exit close leave",
    "choose": "open load file diff",
    "zoom": "time span",
    "smoke": "start stop run test benchmark",
    "gpus": "monitor nvidia-smi nvitop processes",
    "environment": "python venv conda",
    "compare": "diff",
    "fleet": "nodes cluster",
}
WORDS = 100.0  # the score of whole words; those of letters are below 50
# Keys that move something, which nobody looks for by name; and what has an entry of its own.
MOVES = {
    "move", "go", "step", "command_palette", "leave", "back", "scroll", "line", "page", "end", "select", "fold",
    "scroll_up", "scroll_down", "scroll_left", "scroll_right", "scroll_home", "scroll_end",
    "page_up", "page_down", "page_left", "page_right", "cursor_up", "cursor_down", "first", "last", "next", "previous",
    "app.focus_next", "app.focus_previous", "help_quit",
}  # fmt: skip


class PaletteEntry(NamedTuple):
    """One command: its name, a sentence, what it does, and other words by which people look for it."""

    name: str
    message: str
    run: Callable[[], Awaitable[object] | object]
    words: str = ""


class Commands(Provider):
    """Finds commands by their names."""

    @property
    def doctor(self) -> Doctor:
        """The application."""
        return cast("Doctor", self.app)

    def entries(self) -> Iterator[PaletteEntry]:
        """All commands, in the order in which they are shown to somebody who has typed nothing."""
        app = self.doctor
        yield from self._keys()
        for place in ALL:
            more = SYNONYMS.get(place.name, "")
            yield PaletteEntry(f"Go to {place.title}", place.shows, partial(app.action_go, place.name), more)
        if not app.is_web:  # who looks on in a browser opens no files of this machine
            yield from self._files()
        for name, message in DEMOS.items():
            yield PaletteEntry(f"Open the demo {name}", message, partial(self._demo, name))
        if app.session.source != app.first:
            yield PaletteEntry(
                f"Back to {app.first.title}", "Close the demo or the recorded machine", partial(app.open, app.first)
            )

    def _keys(self) -> Iterator[PaletteEntry]:
        """What the keys of the screen do, those of the application last; what is not possible now says why."""
        seen = set()
        for key, (node, binding, enabled, tooltip) in self.screen.active_bindings.items():
            name = binding.action.partition("(")[0]
            moves = name in MOVES or key in ("enter", "ctrl+q") or key.startswith("super+")
            if not binding.description or binding.action in seen or moves:
                continue
            seen.add(binding.action)
            why = "" if enabled else getattr(node, "why_not", lambda _: "")(name)
            if not enabled and not why:
                continue
            title = f"{binding.description} ({self.app.get_key_display(binding)})"
            run = partial(_say, self.app, why) if why else partial(self.app.run_action, binding.action, node)
            yield PaletteEntry(title, why or tooltip, run, SYNONYMS.get(name, ""))

    def _files(self) -> Iterator[PaletteEntry]:
        """What asks for a file."""
        ask = self.doctor.ask_for
        yield PaletteEntry("Open a facts file", "Load a machine recorded by `gpudoctor facts`", partial(ask, "facts"))
        message = "Replay GPU metrics from a file"
        yield PaletteEntry("Play recorded samples", message, partial(ask, "samples"))
        yield PaletteEntry(
            "Open a fleet", "Load the reports of many machines from a directory or a file", partial(ask, "fleet")
        )

    async def discover(self) -> Hits:
        """All of them."""
        for entry in self.entries():
            yield DiscoveryHit(entry.name, entry.run, help=entry.message)

    async def search(self, query: str) -> Hits:
        """Those that match what was typed, by name or by description."""
        matcher = self.matcher(query)
        for entry in self.entries():
            score = max(matcher.match(entry.name), 0.5 * matcher.match(entry.message), _named(query, entry))
            if score > 0:
                yield Hit(score, matcher.highlight(entry.name), entry.run, text=entry.name, help=entry.message)

    async def _demo(self, name: str) -> None:
        await self.doctor.open(SessionSource(title=f"demo: {name}", facts=load(name), demo=name))


def _named(query: str, entry: PaletteEntry) -> float:
    """A score above any of letters alone where each word typed begins a word of the entry, less if of its sentence."""
    typed = query.casefold().split()

    def begins(text: str) -> bool:
        known = text.casefold().replace(",", " ").split()
        return bool(typed) and all(any(word.startswith(one) for word in known) for one in typed)

    names = f"{entry.name} {entry.words}"
    return WORDS if begins(names) else WORDS - 10 if begins(f"{names} {entry.message}") else 0.0


def _say(app: App[Any], why: str) -> None:
    """Say why something is not possible now."""
    app.notify(why, severity="warning")
