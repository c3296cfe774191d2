// Stream: how a running stream is doing. Figures are asked for every second while the screen is open.
import { h, s, clear, card, quiet, facts } from "../dom.js";
import { ask } from "../net.js";
import { t, number } from "../words.js";
import { failedUnlessLeft } from "../frame.js";

const held = { url: "", metrics: "", state: "" };
const WAIT = 1000, KEPT = 120;

export function streamScreen(body) {
  const wrong = h("div"), shown = h("div.answer");
  let timer = null, history = [], over = false;
  const field = (name) => h("div", h("label", { for: `stream-${name}` }, t(`stream.${name}`)), h("input", { type: "text", id: `stream-${name}`, value: held[name], placeholder: t(`stream.${name}_such`), size: "34", spellcheck: "false", oninput: (event) => { held[name] = event.target.value; } }));
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); history = []; watch(); } }, h("div.fields", ["url", "metrics", "state"].map(field)), h("button.main", { type: "submit" }, t("stream.watch")), " ", h("button", { type: "button", onclick: halt }, t("stream.halt")));
  clear(body, card(quiet(t("stream.said")), form), wrong, shown);
  function halt() { clearTimeout(timer); timer = null; }

  async function watch() {
    halt();
    try {
      const found = await ask("stream", held);
      if (over) return;
      clear(wrong);
      history = [...history, found].slice(-KEPT);
      draw(found);
    } catch (error) { if (wrong.textContent !== error.message) failedUnlessLeft(error, wrong); }
    if (!over) timer = setTimeout(watch, WAIT);
  }

  // A rate from two counts; where the stream says it itself, what it says.
  function rate(found) {
    if (found.figures.records_per_second !== undefined && history.length < 2) return found.figures.records_per_second;
    const before = history.at(-Math.min(6, history.length));
    if (!before || before === found || found.figures.records === undefined) return found.figures.records_per_second ?? null;
    return Math.max(0, (found.figures.records - before.figures.records) / Math.max(0.001, found.moment - before.moment));
  }
  function draw(found) {
    const of = found.figures, now = rate(found), cards = [...(now === null ? [] : [[number(now, 3), t("stream.rate_is")]]), ...found.cards];
    clear(shown, card(h("div.figures", cards.map(([value, name]) => h("div.figure-card", h("div.value", value), h("div.label", name)))), history.length > 2 ? sparkline() : null),
      found.folder ? card(h("h2", t("stream.folder")), h("p", { class: found.folder.running ? "good" : "note" }, found.folder.said), facts(found.folder.facts)) : null,
      Object.keys(of).length ? h("details.card", h("summary", t("stream.all")), facts(Object.entries(of).map(([name, value]) => [name, typeof value === "number" ? number(value) : value ?? "–"]))) : null);
  }

  function sparkline() {
    const rates = history.slice(1).map((one, place) => Math.max(0, ((one.figures.records ?? 0) - (history[place].figures.records ?? 0)) / Math.max(0.001, one.moment - history[place].moment))), top = Math.max(...rates, 1);
    return s("svg", { viewBox: "0 0 600 80", class: "chart spark", role: "img", "aria-label": t("stream.over_time", { top: number(top, 3) }) }, s("polyline.line.line-0", { points: rates.map((one, place) => `${(place * 600) / Math.max(1, rates.length - 1)},${76 - (one / top) * 70}`).join(" ") }));
  }
  return () => { over = true; halt(); };
}
