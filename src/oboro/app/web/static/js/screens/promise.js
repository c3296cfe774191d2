// Promise: what is asked in plain words, and the live answer. All panels are drawn from one answer.
import { h, clear, redraw } from "../dom.js";
import { ask, isCancelled } from "../net.js";
import { t, count, percent, number } from "../words.js";
import { store, onChange, answerNow, wantAnswer, moveDemands, act, isMoving } from "../store.js";
import { failed, announce } from "../frame.js";
import { classSizes } from "../charts.js";
import { dataTable } from "../tables.js";

const KS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];
const SHARES = [0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5];
const LS = [1, 2, 3, 4, 5, 6, 8, 10];
const TS = [1, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05];
const RISKS = [1, 0.5, 0.33, 0.2, 0.1, 0.09, 0.05, 0.02, 0.01];
const plainOf = (value, name) => (value && typeof value === "object" ? value[name] : value);

export function promiseScreen(body) {
  const asked = h("section", { class: "card asked" }), answer = h("div", { class: "answer" });
  clear(body, h("div", { class: "promise" }, asked, answer));
  let demands = structuredClone(store.state.demands), version = store.state.version;

  // A slider over chosen steps; the number beside it takes any value.
  function slider(key, label, said, steps, value, show, change, number) {
    const near = steps.reduce((best, one, place) => (Math.abs(one - value) < Math.abs(steps[best] - value) ? place : best), 0), name = `slide-${key}`;
    const output = h("output", { for: name }, show(value)), note = h("span", { id: `${name}-note`, class: "quiet" }, said(value));
    const range = h("input", { type: "range", id: name, min: "0", max: String(steps.length - 1), step: "1", value: near, "data-key": name, "aria-valuetext": show(value), "aria-describedby": `${name}-note` });
    const set = (next) => { output.textContent = show(next); note.textContent = said(next); range.setAttribute("aria-valuetext", show(next)); change(next); };
    range.addEventListener("input", () => set(steps[Number(range.value)]));
    const exact = number ? h("input", { type: "number", class: "exact", "aria-label": t("promise.exact", { what: label }), value: number.of(value), min: number.min, max: number.max, step: number.step, "data-key": `${name}-exact`,
      onchange: (event) => { const next = number.to(Number(event.target.value)); if (Number.isFinite(next)) set(next); } }) : null;
    return h("div", { class: "slider" }, h("div", { class: "slider-head" }, h("label", { for: name }, label), exact || output), range, note);
  }

  function moved(key, next) { demands = next; moveDemands(demands, key); }
  const without = (given, name) => Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));

  function ofColumn(kind, part, label, said, steps, off, show) {
    return store.state.sensitive.map((column) => {
      const held = demands[kind], value = typeof held === "number" ? held : plainOf(held?.[column], part) ?? off;
      return slider(`${kind}-${column}`, t(label, { column }), (one) => (one === off ? t("promise.off") : said(one)), steps, value, show, (next) => {
        const rest = without(typeof held === "object" ? demands[kind] || {} : {}, column), before = demands[kind]?.[column];
        const one = before && typeof before === "object" ? { ...before, [part]: next } : next;
        const all = next === off ? rest : { ...rest, [column]: one };
        moved(kind, Object.keys(all).length ? { ...demands, [kind]: all } : without(demands, kind));
      });
    });
  }

  function drawAsked() {
    const people = store.state.person ? "people" : "records";
    redraw(asked, h("h2", {}, t("promise.asked")),
      slider("k", t("promise.k"), (k) => t(`promise.k_said_${people}`, { k: count(k), others: count(k - 1) }), KS, demands.k, (k) => count(k), (k) => moved("k", { ...demands, k }), { of: (k) => k, to: (k) => Math.max(1, Math.round(k)), min: 1, step: 1 }),
      slider("suppress", t("promise.suppress"), (share) => t("promise.suppress_said", { rows: count(Math.floor(share * store.state.table.rows)) }), SHARES, demands.suppress || 0, (share) => percent(share, 1), (suppress) => moved("suppress", { ...demands, suppress }),
        { of: (share) => Number((share * 100).toFixed(3)), to: (value) => Math.max(0, Math.min(100, value)) / 100, min: 0, max: 100, step: 0.1 }),
      store.state.sensitive.length ? h("h3", {}, t("promise.secrets")) : h("p", { class: "quiet" }, t("promise.no_secrets")),
      ofColumn("l_diversity", "l", "promise.l", (l) => t("promise.l_said", { l: count(l) }), LS, 1, (l) => (l === 1 ? "–" : count(l))),
      h("details", { class: "more", open: more, ontoggle: (event) => { more = event.target.open; } }, h("summary", { "data-key": "more" }, t("promise.more")),
        ofColumn("t_closeness", "t", "promise.t", (one) => t("promise.t_said", { t: number(one) }), TS, 1, (one) => (one === 1 ? "–" : number(one))),
        ofColumn("alpha", "alpha", "promise.alpha", (one) => t("promise.alpha_said", { share: percent(one) }), TS, 1, (one) => (one === 1 ? "–" : percent(one))),
        ["maximum_risk", "average_risk"].map((name) => slider(name, t(`promise.${name}`), (one) => (one === 1 ? t("promise.off") : t(`promise.${name}_said`, { share: percent(one) })), RISKS, demands[name] ?? 1, (one) => (one === 1 ? "–" : percent(one)),
          (next) => moved(name, next === 1 ? without(demands, name) : { ...demands, [name]: next })))));
  }

  function figure(label, value, note) { return h("div", { class: "figure-card" }, h("div", { class: "value" }, value), h("div", { class: "label" }, label), note ? h("div", { class: "quiet" }, note) : null); }

  function drawAnswer() {
    const found = answerNow();
    answer.classList.toggle("stale", !found || isMoving());
    answer.setAttribute("aria-busy", found && !isMoving() ? "false" : "true");
    if (store.error) { redraw(answer, h("section", { class: "card" }, h("p", { class: "wrong", role: "alert" }, store.error))); return; }
    if (!found) { if (!answer.childElementCount) clear(answer, h("section", { class: "card" }, h("p", { class: "quiet" }, t("promise.searching")))); return; }
    if (!found.best) { drawWhyNot(found); return; }
    const look = found.look, node = look ? look.node : found.best, stamp = { "data-version": found.version };
    redraw(answer,
      h("section", { class: "card hero", ...stamp },
        h("div", { class: "verdict" }, h("span", { class: found.exact && !store.state.taken ? "good" : "note" }, store.state.taken ? t("promise.taken") : found.exact ? `✓ ${t("promise.proved")}` : t("promise.bounded", { bound: percent(found.bound, 1) })),
          store.state.taken ? h("button", { class: "small", "data-key": "best", onclick: () => take({ levels: null }) }, t("promise.best_again")) : null),
        h("div", { class: "figures" },
          figure(t("promise.loss"), percent(node.loss, 1), t("promise.loss_said")),
          figure(t("promise.hidden"), count(node.suppressed), t("promise.hidden_said", { share: percent(node.suppressed / found.rows, 2), limit: count(found.limit) })),
          look ? figure(t("promise.classes"), count(look.classes), t("promise.classes_said", { size: number(found.rows / Math.max(1, look.classes), 3) })) : null),
        h("p", { class: "quiet" }, t("promise.searched", { size: count(found.size), looked: count(found.evaluated), remembered: count(found.remembered) }))),
      look ? h("div", { class: "two" },
        h("section", { class: "card", ...stamp }, h("h2", {}, t("promise.levels")), h("ul", { class: "ladders" }, found.steps.map((step) => ladder(step, look.column_loss)))),
        h("section", { class: "card", ...stamp }, h("h2", {}, t("promise.sizes")), h("p", { class: "quiet" }, t("promise.sizes_said")), classSizes(look.class_sizes, store.state.demands.k))) : null,
      look ? h("section", { class: "card", ...stamp }, h("h2", {}, t("promise.neighbours")), h("p", { class: "quiet" }, t("promise.neighbours_said")), neighbours(look)) : null);
    document.body.dataset.answered = found.version;
  }

  function ladder(step, losses) {
    const rungs = Array.from({ length: step.height + 1 }, (_, level) => h("span", { class: `rung${level === step.level ? " on" : level < step.level ? " below" : ""}` }));
    return h("li", {}, h("span", { class: "bar-label", title: step.column }, step.column), h("span", { class: "rungs", role: "img", "aria-label": t("promise.level_of", { level: step.level, height: step.height }) }, rungs),
      h("span", { class: "example" }, step.level === 0 ? t("promise.as_it_is") : t("promise.example", { label: step.example ?? t("missing"), labels: count(step.labels) })), losses ? h("span", { class: "bar-text" }, percent(losses[step.column], 1)) : null);
  }

  function neighbours(look) {
    const levels = look.node.levels, rows = look.neighbours.map((one) => {
      const finer = one.level < levels[one.column];
      return [h("th", { scope: "row" }, one.column), t(finer ? "promise.finer" : "promise.coarser", { level: one.level }), one.node.feasible ? percent(one.node.loss, 1) : t("promise.cannot"),
        count(one.node.suppressed), one.node.feasible ? h("button", { class: "small", "data-key": `take-${one.column}-${one.level}`, "aria-label": t("promise.take_label", { column: one.column, level: one.level }), onclick: () => take({ levels: one.node.levels }) }, t("take_it")) : ""];
    });
    return dataTable(t("promise.neighbours"), [t("column"), t("promise.change"), t("promise.loss"), t("promise.hidden"), t("choose")], rows, { numeric: [2, 3], scroll: "neighbours" });
  }

  async function take(given) {
    try { await act("take", given); announce(t("promise.taken")); } catch (error) { failed(error, answer); }
  }

  async function drawWhyNot(found) {
    const near = h("div", { class: "row" }, h("p", { class: "quiet" }, t("promise.searching")));
    redraw(answer, h("section", { class: "card refused", "data-version": found.version }, h("h2", {}, t("promise.impossible")), h("p", {}, found.why), h("h3", {}, t("promise.nearest")), near));
    document.body.dataset.answered = found.version;
    try {
      const ways = (await ask("nearest", { version: found.version })).nearest;
      if (found !== answerNow()) return;
      clear(near, ways.length ? ways.map((way) => h("button", { "data-key": `near-${way.demand}`, onclick: () => { demands = way.demands; drawAsked(); moveDemands(demands, "nearest"); } },
        way.value === null ? t("promise.near_without", { demand: t(`demand.${way.demand}`) }) : way.demand === "k" ? t("promise.near_k", { k: count(way.value) }) : t("promise.near_suppress", { share: percent(way.value, 1) })))
        : h("p", { class: "quiet" }, t("promise.no_way")));
    } catch (error) { if (!isCancelled(error)) failed(error, near); }
  }

  const off = onChange((what) => {
    if ((what === "state" || what === "answer") && store.state.version !== version) {
      version = store.state.version;
      if (!isMoving() && JSON.stringify(demands) !== JSON.stringify(store.state.demands)) { demands = structuredClone(store.state.demands); drawAsked(); }
    }
    drawAnswer();
    if (what === "state") wantAnswer();
  });
  drawAsked();
  drawAnswer();
  wantAnswer();
  return off;
}
let more = false;
