"use strict";
// Filters the cells, and shows the details of the selected node. Every text goes in as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const grid = document.getElementById("grid");
  if (!grid) return;
  const said = document.getElementById("said"), none = document.getElementById("none");
  const header = document.querySelector("header.verdict"), root = document.documentElement;
  const cells = [...grid.querySelectorAll("i")];
  const states = cells.map(cell => Number(cell.className.slice(1)));
  const wanted = new Set();
  const hits = document.getElementById("hits"), HITS = 60;
  const rows = [...grid.querySelectorAll(".row")].map(row => ({label: row.querySelector("b"), cells: [...row.querySelectorAll("i")]}));
  let seen = cells, current = -1, words = null, key = "";

  const made = (name, text, ...inside) => {
    const one = document.createElement(name);
    if (text) one.textContent = text;
    one.append(...inside);
    return one;
  };
  const of = place => data.nodes[place] || {};
  const digits = value => Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "?";

  // All text about a node in lower case, for the search; made on the first search.
  const texts = () => words ||= cells.map((cell, place) => {
    const more = of(place);
    return [
      cell.title, data.hardware[data.of[place]], data.states[states[place]],
      ...(more.c || []).flatMap(n => [data.causes[n][0], data.causes[n][2]]),
      ...(more.t || []).flatMap(n => [data.targets[n][1], ...data.targets[n][2]]),
      ...(more.d || []).map(n => `${data.departures[n][0]} ${data.departures[n][3]} = ${data.departures[n][1]}`),
      ...(more.o || []).map(([n, device]) => `${data.spreads[n][0]} ${device}`),
      more.m === undefined ? "" : data.missing[more.m],
    ].join("\n").toLowerCase();
  });

  const search = made("input");
  search.type = "search";
  search.placeholder = "Name, check, fact, hardware …";
  search.setAttribute("aria-label", "Filter nodes");
  const count = made("span");
  count.className = "soft";
  count.setAttribute("role", "status");
  const all = made("button", "Show all");
  all.type = "button";

  // Whether a node is among those that a button belongs to: "c2" is the third cause, "d0" the first departure.
  const among = place => {
    const numbers = of(place)[key[0]], number = Number(key.slice(1));
    return Array.isArray(numbers) ? numbers.includes(number) : numbers === number;
  };
  const filter = () => {
    const text = search.value.trim().toLowerCase();
    const found = text && !key ? texts() : null;
    seen = [];
    cells.forEach((cell, place) => {
      const said = key ? among(place) : !found || found[place].includes(text);
      const show = said && (!wanted.size || wanted.has(states[place]));
      if (cell.hidden === show) cell.hidden = !show;
      if (show) seen.push(cell);
    });
    const narrowed = seen.length < cells.length;
    const total = `${cells.length.toLocaleString("en-US")} nodes`;
    count.textContent = narrowed ? `${seen.length.toLocaleString("en-US")} of ${total}` : total;
    none.hidden = seen.length > 0;
    grid.hidden = !seen.length;
    none.textContent = seen.length ? "" : `No node matches ${search.value.trim() || "the selected states"}`
      + (search.value.trim() && wanted.size ? " in the selected states." : ".");
    all.hidden = !narrowed && !text && !wanted.size;
    for (const row of rows) {
      const first = row.cells.find(cell => !cell.hidden);
      if (first) row.label.textContent = first.title;
    }
    listed(narrowed ? seen : []);
    if (current >= 0 && cells[current].hidden) choose(-1);
  };

  // The nodes that match, by name, where they are few enough to read.
  const listed = some => {
    hits.hidden = !some.length;
    hits.replaceChildren(...some.slice(0, HITS).map(cell => {
      const button = made("button", "", made("i", cell.textContent), ` ${cell.title}`);
      button.type = "button";
      button.addEventListener("click", () => choose(cells.indexOf(cell)));
      return made("li", "", button);
    }));
    if (some.length > HITS) hits.append(made("li", `and ${(some.length - HITS).toLocaleString("en-US")} more, in the grid`));
  };

  const section = (title, items) => {
    if (!items.length) return [];
    const part = made("div", "", made("h3", title), made("ul", "", ...items));
    part.className = "part";
    return [part];
  };
  const cause = (n, more) => {
    const [check, status, title] = data.causes[n];
    const own = (more.t || []).map(t => data.targets[t]).filter(([of]) => of === n);
    const link = made("a", title);
    link.href = `#finding-${n + 1}`;
    return made("li", "", made("b", `${status.toUpperCase()} `), link, made("br"), made("code", check),
      ...own.flatMap(([, message, evidence]) => [made("p", message), ...evidence.map(seen => made("pre", seen))]));
  };
  const departure = n => {
    const [fact, value, most] = data.departures[n];
    const rest = most ? `, most nodes have ${most}` : ", no value has a majority";
    return made("li", `${fact}: ${value}${rest}`);
  };
  const outlier = ([n, device, value, deviations]) => {
    const [figure, unit, median] = data.spreads[n];
    const far = `${deviations > 0 ? "+" : ""}${digits(deviations)} sigma`;
    return made("li", `${device}, ${figure}: ${digits(value)} ${unit}; the median is ${digits(median)} (${far})`);
  };

  const describe = place => {
    const more = of(place);
    const close = made("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => { choose(-1); grid.focus({preventScroll: true}); });
    const title = made("div", "", made("h2", cells[place].title), close);
    title.className = "title";
    const parts = [
      title,
      made("p", "", made("b", data.states[states[place]]), data.hardware[data.of[place]] ? `, ${data.hardware[data.of[place]]}` : ""),
      ...(more.m === undefined ? [] : [made("p", data.missing[more.m])]),
      ...section("Problems", (more.c || []).map(n => cause(n, more))),
      ...section("Differs from peers", (more.d || []).map(departure)),
      ...section("Outliers", (more.o || []).map(outlier)),
    ];
    if (parts.length === 2) parts.push(made("p", "No findings for this node."));
    said.replaceChildren(...parts);
    said.hidden = false;
    root.classList.add("open");
  };

  function choose(place) {
    if (current >= 0) {
      cells[current].classList.remove("at");
      cells[current].removeAttribute("id");
      cells[current].setAttribute("aria-selected", "false");
    }
    current = place;
    if (place < 0) {
      grid.removeAttribute("aria-activedescendant");
      said.replaceChildren();
      said.hidden = true;
      root.classList.remove("open");
      return;
    }
    const cell = cells[place];
    cell.classList.add("at");
    cell.id = "chosen";
    cell.setAttribute("aria-selected", "true");
    cell.setAttribute("aria-label", `${cell.title}: ${data.states[states[place]]}`);
    grid.setAttribute("aria-activedescendant", "chosen");
    describe(place);
    reveal(cell);
  }

  // Scrolls no further than needed, and never under the header or the drawer.
  const reveal = cell => {
    cell.scrollIntoView({block: "nearest"});
    const at = cell.getBoundingClientRect(), drawer = said.getBoundingClientRect();
    const bottom = drawer.left <= at.left ? drawer.top : innerHeight;
    const top = header.getBoundingClientRect().bottom;
    if (at.top < top) scrollBy(0, at.top - top - 8);
    else if (at.bottom > bottom) scrollBy(0, at.bottom - bottom + 8);
  };

  // The line of cells around one: from which to which, without a look at lines that the browser has not drawn.
  const height = at => seen[at]?.getBoundingClientRect().top;
  const line = at => {
    const top = height(at);
    let first = at, last = at;
    while (height(first - 1) === top) first--;
    while (height(last + 1) === top) last++;
    return [first, last];
  };
  const down = at => { const [first, last] = line(at); return last - first + 1; };
  const up = at => { const [first] = line(at); return first ? down(first - 1) : at; };
  const step = (key, at) => {
    switch (key) {
      case "ArrowRight": return 1;
      case "ArrowLeft": return -1;
      case "ArrowDown": return down(at);
      case "ArrowUp": return -up(at);
      case "Home": return -Infinity;
      case "End": return Infinity;
      default: return NaN;
    }
  };

  for (const cell of cells) {
    cell.setAttribute("role", "option");
    cell.setAttribute("aria-selected", "false");
  }
  grid.tabIndex = 0;
  grid.setAttribute("role", "listbox");
  grid.setAttribute("aria-label", "Nodes: move with the arrow keys");
  grid.addEventListener("click", event => {
    const place = cells.indexOf(event.target.closest("i"));
    if (place < 0) return;
    choose(place);
  });
  document.addEventListener("keydown", event => {
    if (event.key === "Escape" && current >= 0) choose(-1);
  });
  grid.addEventListener("keydown", event => {
    if (!seen.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const at = current < 0 ? -1 : seen.indexOf(cells[current]);
    const by = step(event.key, Math.max(0, at));
    if (Number.isNaN(by)) return;
    event.preventDefault();
    const to = at < 0 ? 0 : Math.max(0, Math.min(seen.length - 1, at + by));
    choose(cells.indexOf(seen[to]));
  });

  for (const item of document.querySelectorAll("#legend li")) {
    const button = made("button", "", ...item.childNodes);
    const state = Number(item.dataset.state);
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const on = !wanted.has(state);
      wanted[on ? "add" : "delete"](state);
      button.setAttribute("aria-pressed", String(on));
      filter();
    });
    item.append(button);
  }
  const released = () => {
    wanted.clear();
    key = "";
    for (const button of document.querySelectorAll("#legend button")) button.setAttribute("aria-pressed", "false");
  };
  for (const button of document.querySelectorAll("button.find")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      released();
      search.value = button.dataset.find;
      key = button.dataset.key;
      filter();
      document.getElementById("nodes").scrollIntoView();
      grid.focus({preventScroll: true});
    });
  }
  // The names of a node set; where the browser has no clipboard for us, as over http, they are selected and copied.
  const copied = async code => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const folded = code.closest("details");
      if (folded) folded.open = true;
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copied(button.closest(".nodes").querySelector("code"));
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 2000);
    });
  }
  search.addEventListener("input", () => { key = ""; filter(); });
  all.addEventListener("click", () => { released(); search.value = ""; filter(); });
  document.getElementById("filter").append(search, all, count);
  root.classList.add("ready");
  const top = () => root.style.setProperty("--top", getComputedStyle(header).position === "sticky"
    ? `${header.offsetHeight}px` : "0px");
  new ResizeObserver(top).observe(header);
  top();
  filter();
})();
