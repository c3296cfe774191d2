// Hierarchy: how a value becomes coarser. What is changed here is solved for at once.
import { h, s, picture, clear, redraw, segments, choice, quiet, rowHead } from "../dom.js";
import { ask, fetchTicket, isCancelled } from "../net.js";
import { t, count, number } from "../words.js";
import { store, onChange, act, answerNow, wantAnswer, lost } from "../store.js";
import { failed, failedUnlessLeft, announce } from "../frame.js";
import { drawer } from "../drawer.js";
import { fitting } from "../charts.js";
import { dataTable } from "../tables.js";

let column = null;

export function hierarchyScreen(body) {
  const list = h("nav.tabs.wrap"), answer = h("div"), wrong = h("div"), maker = h("div"), levels = h("div");
  clear(body, list, answer, wrong, maker, levels);
  const quasi = () => store.state.quasi;
  let found = null, kind = null, newest = 0;

  function drawList() {
    list.setAttribute("aria-label", t("screen.hierarchy"));
    redraw(list, quasi().map((name) => h("button", { key: `col-${name}`, "aria-pressed": name === column ? "true" : "false", onclick: () => { column = name; kind = null; load(); } }, name)));
  }
  function drawAnswer() {
    const now = answerNow();
    clear(answer, h("section.card.slim", { version: now?.version, role: "status" }, !now ? h("span.quiet", t("promise.searching")) : now.best ? h("div.row", h("strong", `${t("promise.loss")}: ${lost((now.look?.node || now.best).loss)}`), h("span", `${t("promise.hidden")}: ${count((now.look?.node || now.best).suppressed)}`),
      now.levels?.[column] !== undefined ? h("span.quiet", t("hierarchy.chosen", { column, level: now.levels[column] })) : null) : h("span.note", t("promise.impossible"))));
  }
  async function load() {
    drawList();
    drawer.about(() => ({ column }));
    if (!quasi().length) { clear(maker, h("p.card", t("hierarchy.none"))); clear(levels); return; }
    if (!quasi().includes(column)) column = quasi()[0];
    drawList();
    const mine = newest += 1;
    try {
      const got = await ask("hierarchy", { version: store.state.version, column });
      if (mine !== newest) return;
      found = got;
      kind = kind && found.kinds.some(([one]) => one === kind) ? kind : found.kind;
      draw();
    } catch (error) { failedUnlessLeft(error, wrong); }
  }
  async function set(given, said = t("hierarchy.changed")) {
    clear(wrong);
    try { await act("hierarchy_set", { column, ...given }); } catch (error) { if (!isCancelled(error)) { failed(error, wrong); return; } }
    announce(said);
  }

  function draw() {
    drawAnswer();
    const kinds = choice("kind", found.kinds, kind, (one) => { kind = one; draw(); const spec = found.simple[kind]; if (spec) set({ spec }); });
    const file = h("input", { type: "file", id: "arx", class: "unseen-input", accept: ".csv,.txt", onchange: async () => set({ arx: await file.files[0].text() }, t("hierarchy.imported")) });
    redraw(maker, h("section.card", { version: found.version }, h("div.row.spread", h("h2", found.column), h("span.quiet", found.plan)),
      h("div.fields", h("div", h("label", { for: "kind" }, t("hierarchy.how")), kinds), h("button", { key: "proposed", onclick: () => { kind = null; set({ spec: found.proposed }); } }, t("hierarchy.propose")),
        h("div", h("label", { for: "arx", class: "button" }, t("hierarchy.import")), file), h("button", { key: "export", onclick: async () => fetchTicket((await ask("hierarchy_file", { version: found.version, column })).ticket) }, t("hierarchy.export"))),
      (EDITORS[kind] || (() => null))(found, set)));
    redraw(levels, h("section.card", { version: found.version }, h("h2", t("hierarchy.levels")), quiet(t("hierarchy.levels_said")),
      dataTable(t("hierarchy.levels"), [t("hierarchy.level"), t("hierarchy.labels"), t("hierarchy.least"), t("hierarchy.most"), t("hierarchy.examples")], found.levels.map((one) => [rowHead(one.level), count(one.labels), count(one.smallest), count(one.largest), one.examples.map(([label, rows]) => h("span.pair", `${label ?? t("missing")}: ${count(rows)}`))]), { numeric: [1, 2, 3], scroll: "levels" })));
  }
  load();
  wantAnswer();
  return onChange((what) => { const other = what === "state" || what === "answer"; if (other) wantAnswer(); if (other && found?.version !== store.state.version) load(); else drawAnswer(); });
}

const EDITORS = {
  intervals(found, set) {
    const held = Array.isArray(found.spec.intervals) ? found.spec.intervals : Array.isArray(found.proposed.intervals) ? found.proposed.intervals : [5, 10, 20];
    const input = h("input", { type: "text", id: "widths", key: "widths", value: held.join(", "), onchange: () => set({ spec: { intervals: input.value.split(/[,、\s]+/).filter(Boolean).map(Number) } }) });
    return [h("div.fields", h("div", h("label", { for: "widths" }, t("hierarchy.widths")), input), quiet(t("hierarchy.widths_said"))), found.histogram ? edgesChart(found, edgesOf(held[0], found.histogram), null) : null];
  },
  dates(found, set) {
    const held = found.spec.dates || found.proposed.dates || ["month", "year"], units = found.units, save = (dates, date_order) => set({ spec: { dates, ...(date_order && { date_order }) } });
    return [found.order === null ? null : segments("order", t("hierarchy.order"), ["month_first", "day_first"].map((one) => [one, t(`hierarchy.${one}`)]), found.order, (order) => save(held, order)), quiet(t("hierarchy.ladder_said")),
      ladder(units.map(([, said]) => said), units.flatMap(([unit], place) => (held.includes(unit) ? place : [])), (next) => save(next.map((place) => units[place][0]), found.spec.date_order), t("hierarchy.units"))];
  },
  mask(found, set) {
    const spec = found.spec.mask, side = typeof spec === "string" ? spec : spec?.side || "right", longest = Math.max(1, found.longest), all = Array.from({ length: longest }, (_, place) => place);
    const held = spec?.steps ? spec.steps.map((one) => Math.min(one, longest) - 1) : all, such = found.levels[0].examples.map(([label]) => label || "").reduce((a, b) => (b.length > a.length ? b : a), "");
    const save = (where, places) => set({ spec: { mask: places.length === longest ? where : { side: where, steps: places.map((place) => place + 1) } } });
    const masked = (n) => (side === "right" ? such.slice(0, Math.max(0, such.length - n)) + "*".repeat(Math.min(n, such.length)) : "*".repeat(Math.min(n, such.length)) + such.slice(n));
    return [segments("side", t("hierarchy.side"), ["right", "left"].map((one) => [one, t(`hierarchy.side_${one}`)]), side, (one) => save(one, held)), quiet(t("hierarchy.ladder_said")),
      ladder(all.map((place) => count(place + 1)), [...new Set(held)], (next) => save(side, next), t("hierarchy.steps")), quiet([such, ...[...new Set(held)].slice(0, 12).map((place) => masked(place + 1))].join(" → "))];
  },
  edges(found, set) {
    const chart = found.histogram;
    if (!chart) return quiet(t("hierarchy.no_numbers"));
    const given = found.spec.intervals?.edges || found.edges, edges = given[0].map((at) => ({ at, top: given.findLastIndex((level) => level.includes(at)) + 1 }));
    const save = () => {
      edges.sort((a, b) => a.at - b.at);
      const unique = edges.filter((one, place) => place === 0 || one.at !== edges[place - 1].at), highest = Math.max(...unique.map((one) => one.top));
      const all = Array.from({ length: highest }, (_, level) => unique.filter((one) => one.top > level).map((one) => one.at)).filter((level) => level.length);
      set({ spec: { intervals: { edges: all } } });
    };
    return [quiet(t("hierarchy.edges_said")), edgesChart(found, edges, save),
      h("ol.edge-list", edges.map((edge, place) => h("li", h("input", { type: "number", "aria-label": t("hierarchy.edge", { n: place + 1 }), key: `edge-${place}`, value: edge.at, step: "any", onchange: (event) => { edge.at = Number(event.target.value); save(); } }),
        h("label", { for: `edge-top-${place}`, class: "quiet" }, t("hierarchy.stays")), h("input", { type: "number", id: `edge-top-${place}`, key: `edge-top-${place}`, class: "exact", min: "1", max: "9", value: edge.top, onchange: (event) => { edge.top = Math.max(1, Number(event.target.value)); save(); } }),
        h("button.small", { key: `edge-gone-${place}`, disabled: edges.length < 2, "aria-label": t("hierarchy.remove_edge", { at: edge.at }), onclick: () => { edges.splice(place, 1); save(); } }, "×")))),
      h("button.small", { key: "edge-add", onclick: () => { const last = edges.at(-1).at, before = edges.at(-2)?.at ?? chart.low; edges.push({ at: tidy((last + chart.high) / 2 > last ? (last + chart.high) / 2 : (last + before) / 2, chart), top: 1 }); save(); } }, t("hierarchy.add_edge"))];
  },
  tree(found, set) { return found.rows ? treeEditor(found, set) : quiet(t("hierarchy.too_many", { count: count(found.distinct) })); },
};

const tidy = (value, chart) => { const step = Math.max(chart.whole, 10 ** Math.floor(Math.log10((chart.high - chart.low || 1) / 100))); return Number((Math.round(value / step) * step).toPrecision(12)); };
function edgesOf(width, chart) { const out = []; for (let at = Math.ceil(chart.low / width) * width; at < chart.high && out.length < 60; at += width) out.push({ at, top: 1 }); return out; }

// A mark that is dragged `to` a place, or moved `by` some steps with keys; then it is saved.
function movable(mark, drawing, wide, { to, by, save }) {
  mark.addEventListener("pointerdown", (event) => { mark.setPointerCapture(event.pointerId); mark.dragging = true; });
  mark.addEventListener("pointermove", (event) => { if (!mark.dragging) return; const box = drawing.getBoundingClientRect(); to((event.clientX - box.left) * (wide / box.width)); });
  mark.addEventListener("pointerup", () => { if (mark.dragging) { mark.dragging = false; save(); } });
  mark.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (steps) { event.preventDefault(); by(steps); clearTimeout(mark.wait); mark.wait = setTimeout(save, 350); }
  });
}

// A ladder: places in a row, levels on some of them; both are moved, made and taken away.
function ladder(stops, chosen, save, label) {
  const W = fitting(720), last = Math.max(1, stops.length - 1), x = (place) => 30 + (place * (W - 60)) / last, held = [...chosen];
  const drawing = picture("ladder", W, 64, label, "group"), done = () => save([...held].sort((a, b) => a - b));
  drawing.append(s("path.grid", { d: `M${x(0)},20H${x(last)}` }));
  stops.forEach((name, place) => {
    if (stops.length < 20 || place % 5 === 4) drawing.append(s("text", { x: x(place), y: 50, "text-anchor": "middle" }, name));
    if (held.includes(place)) return;
    const add = () => { held.push(place); done(); };
    drawing.append(s("circle.stop", { cx: x(place), cy: 20, r: 9, role: "button", tabindex: "0", key: `stop-${place}`, "aria-label": t("hierarchy.add_level", { at: name }), onclick: add, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); add(); } } }));
  });
  chosen.forEach((_, n) => {
    const mark = s("g.edge-mark", { role: "slider", tabindex: "0", key: `rung-${n}`, "aria-label": t("hierarchy.level_n", { n: n + 1 }), "aria-valuemin": 0, "aria-valuemax": stops.length - 1 }, s("circle.target", { cx: 0, cy: 20, r: 14 }), s("circle.grip", { cx: 0, cy: 20, r: 9 }));
    const put = (place) => { if (place >= 0 && place < stops.length && (place === held[n] || !held.includes(place))) held[n] = place; mark.setAttribute("transform", `translate(${x(held[n])},0)`); mark.setAttribute("aria-valuenow", held[n]); mark.setAttribute("aria-valuetext", stops[held[n]]); };
    put(held[n]);
    const by = (steps) => { let next = held[n] + Math.sign(steps); while (held.includes(next)) next += Math.sign(steps); put(next); };
    movable(mark, drawing, W, { to: (at) => put(Math.round(((at - 30) / (W - 60)) * last)), by, save: () => { if (held[n] !== chosen[n]) done(); } });
    mark.addEventListener("keydown", (event) => {
      if ((event.key === "Delete" || event.key === "Backspace") && held.length > 1) { event.preventDefault(); held.splice(n, 1); done(); }
    });
    drawing.append(mark);
  });
  return h("div.figure", drawing);
}

// The histogram; with `save`, its edges are sliders: drag them, or use the arrow keys.
function edgesChart(found, edges, save) {
  const { low, high, counts } = found.histogram, W = fitting(720), H = 180, x = (value) => 12 + ((value - low) / (high - low || 1)) * (W - 24), most = Math.max(...counts, 1);
  const drawing = picture("histogram", W, H + 30, t("hierarchy.histogram", { column: found.column, low: number(low), high: number(high) }), save ? "group" : "img");
  counts.forEach((value, place) => drawing.append(s("rect.mark-soft", { x: 12 + (place * (W - 24)) / counts.length + 1, width: (W - 24) / counts.length - 2, y: H - (value / most) * (H - 20), height: (value / most) * (H - 20) })));
  let last = -99;
  for (const [place, edge] of edges.entries()) {
    const mark = s("g", { class: `edge-mark top-${Math.min(3, edge.top)}`, ...(save ? { role: "slider", tabindex: "0", "aria-label": t("hierarchy.edge", { n: place + 1 }), "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": edge.at, key: `mark-${place}` } : {}) },
      s("rect.target", { x: -9, y: 0, width: 18, height: H }), s("path.edge-line", { d: `M0,${10}V${H}` }), save ? s("circle.grip", { cx: 0, cy: 10, r: 6.5 }) : null);
    const text = s("text", { x: 0, y: H + 18, "text-anchor": "middle" }, number(edge.at));
    if (x(edge.at) - last > 34) { mark.append(text); last = x(edge.at); }
    const show = () => { mark.setAttribute("transform", `translate(${x(edge.at)},0)`); mark.setAttribute("aria-valuenow", edge.at); text.textContent = number(edge.at); };
    show();
    if (save) {
      const step = Math.max(found.histogram.whole, tidy((high - low) / 100, found.histogram)) || (high - low) / 100, put = (value) => { edge.at = tidy(Math.max(low, Math.min(high, value)), found.histogram); show(); };
      movable(mark, drawing, W, { to: (at) => put(low + ((at - 12) / (W - 24)) * (high - low)), by: (steps) => put(edge.at + steps * step), save });
    }
    drawing.append(mark);
  }
  return h("div.figure", drawing);
}

// Labels over values: drag one into another group, or choose the group from its list.
function treeEditor(found, set) {
  const rows = found.rows.map((row) => [...row]), depth = rows[0]?.length || 1;
  if (depth < 3) for (const row of rows) row.splice(1, 0, row[0]);
  const parents = [...new Set(rows.map((row) => row[1]))], save = () => set({ spec: { rows } });
  const move = (value, parent) => { const model = rows.find((row) => row[1] === parent), row = rows.find((one) => one[0] === value); row.splice(1, row.length, ...(model && model !== row ? model.slice(1) : [parent, ...row.slice(2)])); save(); };
  const name = h("input", { type: "text", id: "group-name", key: "group-name" });
  const picked = new Set(), chosen = h("span.quiet", { role: "status" });
  const together = () => { if (!name.value || !picked.size) return; for (const row of rows) if (picked.has(row[0])) { row[1] = name.value; for (let level = 2; level < row.length; level += 1) row[level] = rows[0].at(-1) === "*" && level === row.length - 1 ? "*" : name.value; } save(); };
  return [quiet(t("hierarchy.tree_said")),
    h("div.fields", h("div", h("label", { for: "group-name" }, t("hierarchy.group_name")), name), h("button", { key: "group", onclick: together }, t("hierarchy.group")), chosen),
    h("div.groups", { "data-scroll": "groups", tabindex: "0", role: "region", "aria-label": t("hierarchy.kind_tree") }, parents.map((parent) => {
      const members = rows.filter((row) => row[1] === parent), total = members.reduce((all, row) => all + (found.counts[row[0]] || 0), 0);
      const box = h("section.group", { "aria-label": parent }, h("h3", parent === "" ? t("missing") : parent, " ", h("span.quiet", t("hierarchy.rows", { rows: count(total) }))), h("ul", members.map((row) => {
        const key = `value-${row[0]}`;
        return h("li", { draggable: "true", ondragstart: (event) => event.dataTransfer.setData("text/plain", row[0]) }, h("input", { type: "checkbox", id: key, key: key, onchange: (event) => { if (event.target.checked) picked.add(row[0]); else picked.delete(row[0]); chosen.textContent = t("hierarchy.picked", { count: count(picked.size) }); } }), h("label", { for: key }, row[0] === "" ? t("missing") : row[0], " ", h("span.quiet", count(found.counts[row[0]] || 0))),
          h("select", { "aria-label": t("hierarchy.move", { value: row[0] }), key: `${key}-to`, class: "small", onchange: (event) => move(row[0], event.target.value) }, parents.map((one) => h("option", { value: one, selected: one === parent }, one === parent ? t("hierarchy.move_to") : `→ ${one}`))));
      })));
      box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
      box.addEventListener("dragleave", () => box.classList.remove("over"));
      box.addEventListener("drop", (event) => { event.preventDefault(); move(event.dataTransfer.getData("text/plain"), parent); });
      return box;
    }))];
}
