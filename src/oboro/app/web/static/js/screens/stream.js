// Stream: how a running stream is doing. Figures are asked for every second while the screen is open.
import { h, s, clear } from "../dom.js";
import { ask, isCancelled } from "../net.js";
import { t, count, number, bytes } from "../words.js";
import { failed } from "../frame.js";

const held = { url: "", metrics: "", state: "" };
const WAIT = 1000, KEPT = 120;

export function streamScreen(body) {
  const wrong = h("div", {}), shown = h("div", { class: "answer" });
  let timer = null, history = [], over = false;
  const field = (name) => h("div", {}, h("label", { for: `stream-${name}` }, t(`stream.${name}`)), h("input", { type: "text", id: `stream-${name}`, value: held[name], placeholder: t(`stream.${name}_such`), size: "34", spellcheck: "false", oninput: (event) => { held[name] = event.target.value; } }));
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); history = []; watch(); } }, h("div", { class: "fields" }, ["url", "metrics", "state"].map(field)), h("button", { class: "main", type: "submit" }, t("stream.watch")), " ", h("button", { type: "button", onclick: halt }, t("stream.halt")));
  clear(body, h("section", { class: "card" }, h("p", { class: "quiet" }, t("stream.said")), form), wrong, shown);
  function halt() { clearTimeout(timer); timer = null; }

  async function watch() {
    halt();
    try {
      const found = await ask("stream", held);
      if (over) return;
      clear(wrong);
      history = [...history, found].slice(-KEPT);
      draw(found);
      timer = setTimeout(watch, WAIT);
    } catch (error) { if (!isCancelled(error)) failed(error, wrong); }
  }

  // A rate from two counts; where the stream says it itself, what it says.
  function rate(found) {
    if (found.figures.records_per_second !== undefined && history.length < 2) return found.figures.records_per_second;
    const before = history.at(-Math.min(6, history.length));
    if (!before || before === found || found.figures.records === undefined) return found.figures.records_per_second ?? null;
    return Math.max(0, (found.figures.records - before.figures.records) / Math.max(0.001, found.moment - before.moment));
  }
  const first = (figures, ...names) => names.map((name) => figures[name]).find((one) => one !== undefined && one !== null) ?? null;
  function age(seconds) { return seconds < 90 ? t("stream.seconds", { n: number(seconds, 2) }) : seconds < 5400 ? t("stream.minutes", { n: number(seconds / 60, 2) }) : t("stream.hours", { n: number(seconds / 3600, 2) }); }

  function draw(found) {
    const of = found.figures, late = first(of, "latency_ms_p99"), block = first(of, "block_seconds_p99", "delay_seconds_p99");
    const cards = [
      ["rate", rate(found) === null ? null : number(rate(found), 3)], ["records", count0(first(of, "records"))], ["released", count0(first(of, "released"))],
      ["delay", late !== null ? t("stream.ms", { n: number(late, 3) }) : block !== null ? t("stream.ms", { n: number(block * 1000, 3) }) : null],
      ["held", count0(first(of, "held", "waiting", "behind", "window_records"))], ["suppressed", count0(first(of, "suppressed_cells"))], ["crowd", count0(first(of, "smallest_crowd", "smallest_class", "k_achieved"))],
      ["dead", count0(first(of, "dead_letters"))], ["age", found.state?.snapshot ? age(found.state.snapshot.age) : first(of, "state_age_seconds", "snapshot_age_seconds") === null ? null : age(first(of, "state_age_seconds", "snapshot_age_seconds"))],
    ].filter(([, value]) => value !== null);
    clear(shown, h("section", { class: "card" }, h("div", { class: "figures" }, cards.map(([name, value]) => h("div", { class: "figure-card" }, h("div", { class: "value" }, value), h("div", { class: "label" }, t(`stream.${name}_is`))))), history.length > 2 ? sparkline() : null),
      found.state ? h("section", { class: "card" }, h("h2", {}, t("stream.folder")), h("p", {}, found.state.running === null ? t("stream.unknown") : found.state.running ? h("span", { class: "good" }, "✓ ", t("stream.running")) : h("span", { class: "note" }, t("stream.stopped"))),
        h("dl", { class: "facts" }, ["snapshot", "log"].filter((kind) => found.state[kind]).map((kind) => h("div", {}, h("dt", {}, t(`stream.${kind}`)), h("dd", {}, `${bytes(found.state[kind].bytes)}, ${age(found.state[kind].age)}`))))) : null,
      Object.keys(of).length ? h("details", { class: "card" }, h("summary", {}, t("stream.all")), h("dl", { class: "facts" }, Object.entries(of).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "number" ? number(value) : value ?? "–"))))) : null);
  }
  const count0 = (value) => (value === null ? null : count(value));

  function sparkline() {
    const rates = history.slice(1).map((one, place) => Math.max(0, ((one.figures.records ?? 0) - (history[place].figures.records ?? 0)) / Math.max(0.001, one.moment - history[place].moment))), top = Math.max(...rates, 1);
    return s("svg", { viewBox: "0 0 600 80", class: "chart spark", role: "img", "aria-label": t("stream.over_time", { top: number(top, 3) }) }, s("polyline", { class: "line line-0", points: rates.map((one, place) => `${(place * 600) / Math.max(1, rates.length - 1)},${76 - (one / top) * 70}`).join(" ") }));
  }
  return () => { over = true; halt(); };
}
