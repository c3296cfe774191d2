// Space: what each promise costs, where it gets steep, and what else was possible.
import { h, clear, redraw, quiet, rowHead, facts, check } from "../dom.js";
import { ask, isCancelled } from "../net.js";
import { t, count, percent } from "../words.js";
import { store, onChange, answerNow, wantAnswer, act, lost } from "../store.js";
import { failed, failedUnlessLeft, announce } from "../frame.js";
import { frontierChart, latticeChart, DASHES } from "../charts.js";
import { dataTable } from "../tables.js";

const CURVES = ["k_anonymize", "k_anonymize_local", "local_recode", "k_conceal"];
let curves = ["k_anonymize"], beside = null;

export function spaceScreen(body) {
  const frontier = h("section.card"), solutions = h("section.card"), sides = h("div"), picture = h("div");
  clear(body, frontier, sides, solutions, picture);
  let running = null, points = [], cliffs = [], done = false, stamp = 0, nodes = null;

  async function loadFrontier() {
    running?.abort();
    const mine = running = new AbortController();
    points = []; cliffs = []; done = false; stamp = store.state.version;
    drawFrontier();
    let last = 0;
    try {
      const found = await ask("frontier", { version: stamp, curves }, { signal: mine.signal, hear: (line) => {
        if (!line.point || mine !== running) return;
        points.push(line.point);
        if (performance.now() - last > 120) { last = performance.now(); drawFrontier(); }
      } });
      if (mine === running) { points = found.points; cliffs = found.cliffs; done = true; drawFrontier(); loadNodes(); }
    } catch (error) { if (mine === running && !isCancelled(error)) failed(error, frontier); else if (mine === running) { done = true; drawFrontier(); loadNodes(); } }
  }

  function lines() {
    const found = new Map();
    for (const point of points.filter((one) => one.loss !== null)) {
      const key = `${point.curve}|${point.suppress}`;
      const name = point.curve.startsWith("k_anonymize") ? t("space.line", { curve: t(`curve.${point.curve}`), share: percent(point.suppress, 1) }) : t(`curve.${point.curve}`);
      if (!found.has(key)) found.set(key, { name, dash: CURVES.indexOf(point.curve), points: [] });
      found.get(key).points.push(point);
    }
    for (const line of found.values()) line.points.sort((a, b) => a.k - b.k);
    return [...found.values()];
  }

  const detail = h("p.quiet.detail", { "aria-hidden": "true" });
  function drawFrontier() {
    const shown = lines(), whys = [...new Set(points.filter((one) => one.why && one.curve !== "k_anonymize").map((one) => `${t(`curve.${one.curve}`)}: ${one.why}`))];
    redraw(frontier, h("div.row.spread", h("h2", t("space.frontier")),
      done ? null : h("div.row", h("span.quiet", { role: "status" }, t("space.so_far", { points: count(points.length) })), h("button.small", { key: "stop", onclick: () => running?.abort() }, t("cancel")))),
      quiet(t("space.frontier_said")),
      h("fieldset.checks", h("legend", t("space.methods")), CURVES.map((one) => check(`curve-${one}`, t(`curve.${one}`), curves.includes(one), (on) => { curves = CURVES.filter((other) => (other === one ? on : curves.includes(other))); loadFrontier(); }, one === "k_anonymize"))),
      shown.length ? h("div.figure", { version: stamp }, frontierChart(shown, cliffs, { k: store.state.demands.k, suppress: store.state.demands.suppress || 0 }, {
        onTake: (point) => take({ demands: { ...without(store.state.demands), k: point.k, suppress: point.suppress } }),
        onShow: (point, line) => { detail.textContent = t("space.point", { name: line.name, k: point.k, loss: lost(point.loss), hidden: count(point.suppressed) }); } }), legend(shown), detail) : quiet(t("promise.searching")),
      cliffs.length ? h("ul.cliffs", cliffs.map((one) => h("li", t("space.cliff", { curve: one.curve.startsWith("k_anonymize") ? t("space.line", { curve: t(`curve.${one.curve}`), share: percent(one.suppress, 1) }) : t(`curve.${one.curve}`), from: one.k[0], to: one.k[1], low: lost(one.loss[0]), high: lost(one.loss[1]) })))) : null,
      whys.map((one) => quiet(one)),
      shown.length ? h("details", h("summary", { key: "as-table" }, t("space.as_table")), dataTable(t("space.frontier"), [t("space.method"), "k", t("promise.loss"), t("promise.hidden")], shown.flatMap((line) => line.points.map((one) => [line.name, one.k, lost(one.loss), count(one.suppressed)])), { numeric: [1, 2, 3], scroll: "points" })) : null);
  }
  const without = ({ levels, ...rest }) => rest;
  function legend(shown) {
    return h("ul.legend", shown.map((line, place) => h("li", h("span", { class: `swatch line-${place % 6}${DASHES[line.dash] ? " dashed" : ""}`, "aria-hidden": "true" }), line.name)));
  }

  async function take(given) {
    try { await act("take", given); announce(t("promise.taken")); } catch (error) { failed(error, sides); }
  }

  async function loadNodes() {
    const version = store.state.version;
    try {
      const found = await ask("nodes", { version });
      if (version === store.state.version) { nodes = found; drawNodes(); }
    } catch (error) { failedUnlessLeft(error, solutions); }
  }

  function differs(levels, chosen) {
    const other = Object.keys(levels).filter((name) => levels[name] !== chosen?.[name]);
    return other.length ? other.map((name) => `${name} ${chosen?.[name] ?? "?"} → ${levels[name]}`).join(", ") : t("space.this_one");
  }

  function drawNodes() {
    const found = answerNow(), chosen = found?.levels;
    if (!nodes) { clear(solutions, h("h2", t("space.solutions")), quiet(t("promise.searching"))); return; }
    const rows = nodes.nodes.filter((one) => one.feasible).slice(0, 40).map((one, place) => {
      const here = chosen && Object.keys(chosen).every((name) => chosen[name] === one.levels[name]);
      return [rowHead(differs(one.levels, chosen)), `${one.exact ? "" : "≥ "}${lost(one.loss)}`, count(one.suppressed),
        here ? h("span.good", "✓ ", t("space.chosen")) : h("span.row",
          h("button.small", { key: `node-take-${place}`, "aria-label": `${t("take_it")}: ${differs(one.levels, chosen)}`, onclick: () => take({ levels: one.levels }) }, t("take_it")),
          h("button.small", { key: `node-beside-${place}`, "aria-label": `${t("space.beside")}: ${differs(one.levels, chosen)}`, onclick: () => { beside = one.levels; drawBeside(true); } }, t("space.beside")))];
    });
    redraw(solutions, h("h2", t("space.solutions")), h("p.quiet", { version: nodes.version }, t("space.solutions_said", { known: count(nodes.known), size: count(nodes.size) })),
      dataTable(t("space.solutions"), [t("space.differs"), t("promise.loss"), t("promise.hidden"), t("choose")], rows, { numeric: [1, 2], scroll: "nodes" }));
    clear(picture, nodes.small && nodes.nodes.length ? h("section.card", { version: nodes.version }, h("h2", t("space.lattice")), quiet(t("space.lattice_said", { names: Object.keys(nodes.heights).join(", ") })),
      h("div.scroller.plain", latticeChart(nodes.nodes, nodes.heights, chosen, (node) => take({ levels: node.levels })))) : null);
  }

  async function drawBeside(focus) {
    const chosen = answerNow()?.levels;
    if (!beside || !chosen) { clear(sides); return; }
    try {
      const found = await ask("compare", { version: store.state.version, a: chosen, b: beside });
      const side = (label, look) => h("div.side", h("h3", label), facts([[t("promise.loss"), lost(look.node.loss)], [t("promise.hidden"), count(look.node.suppressed)], [t("promise.classes"), count(look.classes)]]));
      clear(sides, h("section.card", { version: found.version }, h("div.row.spread", h("h2", { tabindex: "-1" }, t("space.side_by_side")), h("button.small", { onclick: () => { beside = null; clear(sides); } }, t("close"))),
        h("div.two", side(t("space.chosen"), found.a), side(t("space.other"), found.b)),
        dataTable(t("space.side_by_side"), [t("column"), t("space.level_a"), t("space.level_b"), t("space.labels_a"), t("space.labels_b"), t("space.loss_a"), t("space.loss_b")],
          found.changed.map((one) => [rowHead(one.column), one.levels[0], one.levels[1], count(one.labels[0]), count(one.labels[1]), one.loss ? percent(one.loss[0], 1) : "–", one.loss ? percent(one.loss[1], 1) : "–"]), { numeric: [1, 2, 3, 4, 5, 6], scroll: "sides" }),
        h("button.main", { onclick: () => { const levels = beside; beside = null; take({ levels }); } }, t("space.take_other"))));
      if (focus) sides.querySelector("h2").focus();
    } catch (error) { failedUnlessLeft(error, sides); }
  }

  // A point that is taken changes only which promise is the current one; the frontier stays.
  const rest = () => JSON.stringify([store.state.roles, store.state.person, { ...store.state.demands, k: 0, suppress: 0 }]);
  let seen = rest();
  const off = onChange((what) => {
    if (what !== "state" && what !== "answer") return;
    wantAnswer();
    if (rest() !== seen || !done) { seen = rest(); loadFrontier(); } else { drawFrontier(); loadNodes(); }
    if (beside) drawBeside(false);
  });
  drawNodes();
  wantAnswer();
  loadFrontier();
  return () => { off(); running?.abort(); running = null; };
}
