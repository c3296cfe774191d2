// Promise: what is asked in plain words, and the live answer. All panels are drawn from one answer.
import { h, clear, redraw, card, quiet, rowHead } from "../dom.js";
import { ask } from "../net.js";
import { t, count, percent, number } from "../words.js";
import { store, onChange, answerNow, wantAnswer, moveDemands, act, isMoving, lost } from "../store.js";
import { failed, failedUnlessLeft, announce } from "../frame.js";
import { classSizes } from "../charts.js";
import { dataTable } from "../tables.js";
import { demandControls } from "./demands.js";

export function promiseScreen(body) {
  const asked = h("section.card.asked"), answer = h("div.answer");
  clear(body, h("div.promise", asked, answer));
  let demands = structuredClone(store.state.demands), version = store.state.version, drawn = null;

  const moved = (key, next) => { demands = next; moveDemands(demands, key); };
  const show = demandControls(asked, () => demands, moved);
  let asking = 0;
  async function loadForm() {
    const mine = asking += 1;
    try {
      const form = await ask("form", { version: store.state.version });
      if (mine === asking && !isMoving() && form.version === store.state.version) show(form);
    } catch (error) { failedUnlessLeft(error, answer); }
  }
  function takeBack() { store.error = null; demands = structuredClone(store.state.demands); loadForm(); drawAnswer(); wantAnswer(); }

  function figure(label, value, note) { return h("div.figure-card", h("div.value", value), h("div.label", label), note ? h("div.quiet", note) : null); }

  function drawAnswer() {
    const found = answerNow();
    answer.classList.toggle("stale", !found || isMoving());
    answer.setAttribute("aria-busy", found && !isMoving() ? "false" : "true");
    if (store.error) { drawn = null; redraw(answer, card(h("p.wrong", { role: "alert" }, store.error), h("button", { key: "take-back", onclick: takeBack }, t("promise.take_back")))); return; }
    if (!found) { if (!answer.childElementCount) clear(answer, card(quiet(t("promise.searching")))); return; }
    if (found === drawn) return;
    drawn = found;
    if (!found.best) { drawWhyNot(found); return; }
    const look = found.look, node = look ? look.node : found.best, stamp = { version: found.version };
    redraw(answer,
      h("section.card.hero", { ...stamp },
        h("div.verdict", h("span", { class: found.exact && !store.state.taken ? "good" : "note" }, store.state.taken ? t("promise.taken") : found.exact ? `✓ ${t("promise.proved")}` : found.bound === null ? t("promise.unproved") : t("promise.bounded", { bound: lost(found.bound) })),
          store.state.taken ? h("button.small", { key: "best", onclick: () => take({ levels: null }) }, t("promise.best_again")) : null),
        h("div.figures",
          figure(t("promise.loss"), lost(node.loss), found.lost_as || t("promise.loss_said")),
          figure(t("promise.hidden"), count(node.suppressed), t("promise.hidden_said", { share: percent(node.suppressed / found.rows, 2), limit: count(found.limit) })),
          look ? figure(t("promise.classes"), count(look.classes), t("promise.classes_said", { size: number(found.rows / Math.max(1, look.classes), 3) })) : null),
        look ? null : h("p", t("promise.by_group")),
        !found.evaluated ? null : quiet(t("promise.searched", { size: count(found.size), looked: count(found.evaluated), remembered: count(found.remembered) }))),
      look ? h("div.two",
        h("section.card", { ...stamp }, h("h2", t("promise.levels")), h("ul.ladders", found.steps.map((step) => ladder(step, look.column_loss)))),
        h("section.card", { ...stamp }, h("h2", t("promise.sizes")), quiet(t("promise.sizes_said")), classSizes(look.class_sizes, found.least))) : null,
      look ? h("section.card", { ...stamp }, h("h2", t("promise.neighbours")), quiet(t("promise.neighbours_said")), neighbours(look)) : null);
    document.body.dataset.answered = found.version;
  }

  function ladder(step, losses) {
    const rungs = Array.from({ length: step.height + 1 }, (_, level) => h("span", { class: `rung${level === step.level ? " on" : level < step.level ? " below" : ""}` }));
    return h("li", h("span.bar-label", { title: step.column }, step.column), h("span.rungs", { role: "img", "aria-label": t("promise.level_of", { level: step.level, height: step.height }) }, rungs),
      h("span.example", step.level === 0 ? t("promise.as_it_is") : step.labels === 1 ? t("promise.one_label", { label: step.example ?? t("missing") }) : t("promise.example", { label: step.example ?? t("missing"), labels: count(step.labels) })), losses ? h("span.bar-text", percent(losses[step.column], 1)) : null);
  }

  function neighbours(look) {
    const levels = look.node.levels, rows = look.neighbours.map((one) => {
      const finer = one.level < levels[one.column];
      return [rowHead(one.column), t(finer ? "promise.finer" : "promise.coarser", { level: one.level }), one.node.feasible ? lost(one.node.loss) : t("promise.cannot"),
        count(one.node.suppressed), one.node.feasible ? h("button.small", { key: `take-${one.column}-${one.level}`, "aria-label": t("promise.take_label", { column: one.column, level: one.level }), onclick: () => take({ levels: one.node.levels }) }, t("take_it")) : ""];
    });
    return dataTable(t("promise.neighbours"), [t("column"), t("promise.change"), t("promise.loss"), t("promise.hidden"), t("choose")], rows, { numeric: [2, 3], scroll: "neighbours" });
  }

  async function take(given) {
    try { await act("take", given); announce(t("promise.taken")); } catch (error) { failed(error, answer); }
  }

  async function drawWhyNot(found) {
    const near = h("div.row", quiet(t("promise.searching")));
    redraw(answer, h("section.card.refused", { version: found.version }, h("h2", t("promise.impossible")), h("p", found.why), h("h3", t("promise.nearest")), near));
    document.body.dataset.answered = found.version;
    try {
      const ways = (await ask("nearest", { version: found.version })).nearest;
      if (found !== answerNow()) return;
      clear(near, ways.length ? ways.map((way) => h("button", { key: `near-${way.demand}`, onclick: () => moved("nearest", way.demands) },
        way.said))
        : quiet(t("promise.no_way")));
    } catch (error) { failedUnlessLeft(error, near); }
  }

  const off = onChange((what) => {
    if (!isMoving() && store.state.version !== version) { version = store.state.version; demands = structuredClone(store.state.demands); loadForm(); }
    drawAnswer();
    if (what !== "done") wantAnswer();
  });
  loadForm();
  drawAnswer();
  wantAnswer();
  return off;
}
