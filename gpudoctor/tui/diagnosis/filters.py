"""One line that says what the list shows, and changes it with a click."""

from __future__ import annotations

from gpudoctor.tui.diagnosis.items import WORDS
from gpudoctor.tui.diagnosis.view import FindingFilter
from gpudoctor.tui.switches import SearchField, Switch, SwitchBar


def switches(view: FindingFilter) -> list[Switch]:
    """What can be changed."""
    return [
        Switch("f", "status", f"status {WORDS[view.status]}" if view.status else "status", bool(view.status)),
        Switch("F", "area", f"area {view.area}" if view.area else "area", bool(view.area)),
        Switch("p", "others", "including passed" if view.others else "passed", view.others),
        Switch("/", "search", f'"{view.text}"' if view.text else "search", bool(view.text)),
    ]


class FindingFilters(SwitchBar):
    """The line."""

    DEFAULT_CSS = "FindingFilters { padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__(markup=False, id="filters")

    def show(self, view: FindingFilter) -> None:
        """Say what is shown."""
        leave = [Switch("esc", "leave", "all", False)] if view.narrowed else []
        self.tell([*switches(view), *leave])


class FindingSearch(SearchField):
    """Where text is searched for."""

    DEFAULT_CSS = "FindingSearch { padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__(placeholder="text in a title, command or ID", id="search", compact=True)
