// The frame of the page: where one is, undo, language, what is going on, and the recipe beside everything.
import { h, clear, choice } from "./dom.js";
import { takeToken } from "./net.js";
import { t, speak, preferred, language, count, bytes } from "./words.js";
import { store, onState, accept, act } from "./store.js";
import { announce, failed, go, leave, said, work, working } from "./frame.js";
import { drawer } from "./drawer.js";
import { openScreen } from "./screens/open.js";
import { columnsScreen } from "./screens/columns.js";
import { hierarchyScreen } from "./screens/hierarchy.js";
import { promiseScreen } from "./screens/promise.js";
import { spaceScreen } from "./screens/space.js";
import { rowsScreen } from "./screens/rows.js";
import { reportScreen } from "./screens/report.js";
import { takeScreen } from "./screens/take.js";
import { streamScreen } from "./screens/stream.js";
import { assessScreen } from "./screens/assess.js";

const SCREENS = {
  open: openScreen, columns: columnsScreen, hierarchy: hierarchyScreen, promise: promiseScreen, space: spaceScreen,
  rows: rowsScreen, report: reportScreen, take: takeScreen, stream: streamScreen, assess: assessScreen,
};
const ALONE = new Set(["open", "stream", "assess"]);
const place = () => { const found = /^#\/(\w+)/.exec(location.hash)?.[1]; return found in SCREENS ? found : "open"; };

const header = h("header.top");
const nav = h("nav.steps");
const main = h("main", { id: "main", tabindex: "-1" });
const side = h("aside.drawer");
const skip = h("a.skip", { href: "#main", onclick: (event) => { event.preventDefault(); main.focus(); } });

let current = null, leaving = null;

async function back(which) {
  try { await act(which, {}); announce(t(`${which}ne`)); } catch (error) { failed(error); }
}

function drawTop() {
  const { table, can, version } = store.state;
  const langs = choice("lang", [["en", "English"], ["ja", "日本語"]], language(), change);
  langs.ariaLabel = t("language");
  clear(header,
    h("a.brand", { href: "#/open" }, h("img", { src: "/part/moon.svg", alt: "", width: "28", height: "28" }), h("span", "oboro")),
    h("div.table-name", { version }, table
      ? [h("strong", table.name), h("span.quiet", t("rows_columns", { rows: count(table.rows), columns: count(table.columns.length) }), table.bytes ? ` · ${bytes(table.bytes)}` : "")]
      : h("span.quiet", t("no_table"))),
    h("div.tools",
      h("button.quiet-button", { key: "undo", disabled: !can.undo, "aria-label": t("undo"), "aria-keyshortcuts": "Control+Z", onclick: () => back("undo") }, "↶ ", h("span", t("undo"))),
      h("button.quiet-button", { key: "redo", disabled: !can.redo, "aria-label": t("redo"), "aria-keyshortcuts": "Control+Shift+Z", onclick: () => back("redo") }, "↷ ", h("span", t("redo"))),
      langs));
}

function drawNav() {
  const here = place();
  nav.setAttribute("aria-label", t("steps"));
  clear(nav, h("ol", Object.keys(SCREENS).map((name, place) => {
    const closed = !store.state.table && !ALONE.has(name);
    return h("li", h("a", { href: `#/${name}`, "aria-current": name === here ? "page" : null, "aria-disabled": closed ? "true" : null, class: closed ? "closed" : null },
      h("span.number", { "aria-hidden": "true" }, place + 1), h("span", t(`screen.${name}`)),
      name === "columns" && store.state.unconfirmed?.length ? h("span.badge", { title: t("columns.unconfirmed", { count: count(store.state.unconfirmed.length) }) }, count(store.state.unconfirmed.length)) : null));
  })));
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function draw() {
  leaving?.();
  leave();
  current = place();
  drawTop();
  drawNav();
  const closed = !store.state.table && !ALONE.has(current);
  const heading = h("h1", { tabindex: "-1" }, t(`screen.${current}`));
  const body = h("div", { class: `screen screen-${current}` });
  clear(main, h("div.head", heading, h("p.lead", t(`lead.${current}`))), body);
  document.title = `${t(`screen.${current}`)} – oboro`;
  main.dataset.screen = current;
  drawer.show();
  leaving = closed
    ? (clear(body, h("p.card", t("open_first"), " ", h("a", { href: "#/open" }, t("screen.open")))), null)
    : SCREENS[current](body) || null;
  drawer.about();
}

async function change(lang) { await speak(lang); skip.textContent = t("skip"); draw(); document.getElementById("lang").focus(); }

function keys(event) {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  if (event.target.matches("input[type=text], input[type=number], textarea")) return;
  event.preventDefault();
  back(event.shiftKey ? "redo" : "undo");
}

async function start() {
  const token = takeToken();
  await speak(preferred());
  skip.textContent = t("skip");
  drawer.attach(side, () => current);
  clear(document.body, skip, header, h("div.frame", nav, h("div.middle", main, side)), working, said);
  document.body.dataset.ready = "frame";
  window.addEventListener("hashchange", () => { draw(); main.querySelector("h1").focus(); window.scrollTo(0, 0); });
  window.addEventListener("keydown", keys);
  onState(() => { drawTop(); drawNav(); });
  draw();
  if (!token) { failed({ kind: "token" }, main.querySelector(".screen")); return; }
  try {
    const state = await work("state", {}, { stay: true });
    accept({ state });
    if (state.table && place() === "open" && !sessionStorage.getItem("oboro-seen")) { sessionStorage.setItem("oboro-seen", "yes"); go("columns"); }
    draw();
  } catch (error) { const wrong = h("div"); main.querySelector(".screen").prepend(wrong); failed(error, wrong); }
  document.body.dataset.ready = "yes";
}

start();
