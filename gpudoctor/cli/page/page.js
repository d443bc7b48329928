"use strict";
/* What textual-serve's script does not do. It has run already, and waits for the window's load event. */

const terminal = document.getElementById("terminal");
const over = document.getElementById("over");
const begin = window.onload;
window.onload = null;

/* The cookie lets this page in from now on: the token shall not stay in the address, where others could read it. */
history.replaceState(null, "", "/");
terminal.dataset.sessionWebsocketUrl = `${location.origin.replace(/^http/, "ws")}/ws`;
terminal.dataset.fontSize = innerWidth < 600 ? 11 : innerWidth < 1000 ? 14 : 16;

/* Cells are measured once, so the font has to be there; without it there is still the browser's own. */
addEventListener("load", async () => {
  const waited = new Promise(resolve => setTimeout(resolve, 3000));
  await Promise.race([document.fonts.load('16px "Roboto Mono"').catch(() => {}), waited]);
  begin();
  follow();
});

/* -- Keys work at once ------------------------------------------------------------------------------------------- */

function focus() {
  if (!over.open) document.querySelector(".xterm-helper-textarea")?.focus();
}
addEventListener("focus", focus);
addEventListener("click", focus);

/* What is left beside the last cell has the application's colour, dark or light, which the terminal is told. */
function follow() {
  const behind = document.querySelector(".xterm-viewport");
  const copy = () => { document.body.style.background = behind.style.backgroundColor; };
  new MutationObserver(copy).observe(behind, {attributeFilter: ["style"]});
}

/* -- How it ends --------------------------------------------------------------------------------------------------- */

const ENDS = {
  1000: ["gpudoctor was closed", "Nothing of it runs any more.", "Open again"],
  1001: ["The server was ended", "`gpudoctor serve` was ended on the machine.", "Connect again"],
  1011: ["gpudoctor ended", "It died, or was killed. The terminal in which `gpudoctor serve` runs may show why.", "Open again"],
};
const LOST = ["The connection is lost", "The server, the machine, or the network between is gone.", "Connect again"];

function tell([title, why, button]) {
  document.getElementById("over-title").textContent = title;
  document.getElementById("over-why").textContent = why;
  document.getElementById("again").textContent = button;
  if (!over.open) over.showModal();
}

const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", focus, {once: true});
    this.addEventListener("close", event => tell(ENDS[event.code] ?? LOST));
  }
};
over.addEventListener("cancel", event => event.preventDefault());
document.getElementById("again").addEventListener("click", async () => {
  const why = document.getElementById("over-why");
  try {
    const answer = await fetch("/", {cache: "no-store"});
    if (answer.ok) location.reload();
    else why.textContent = await answer.text();
  } catch {
    why.textContent = "No answer. Is `gpudoctor serve` running there?";
  }
});
addEventListener("error", event => tell(["The page does not work in this browser", event.message, "Try again"]));

/* -- Files and texts go to the visitor ------------------------------------------------------------------------------ */

/* textual-serve opens a file in another window, which browsers block, or leave empty. */
const open = window.open;
window.open = (address, ...more) => {
  if (!String(address ?? "").startsWith(`${location.origin}/download/`)) return open.call(window, address, ...more);
  const link = Object.assign(document.createElement("a"), {href: address, download: ""});
  document.body.append(link);
  link.click();
  link.remove();
  return null;
};

/* Browsers have this only where the address is https or loopback, and the terminal's script relies on it. */
if (!navigator.clipboard) {
  const writeText = async text => {
    const area = Object.assign(document.createElement("textarea"), {value: text});
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    focus();
  };
  Object.defineProperty(navigator, "clipboard", {value: {writeText, readText: async () => ""}});
}
