// Hierarchy: how a value becomes coarser. What is changed here is solved for at once.
import { h, s, clear, redraw, segments, choice, quiet, rowHead } from "../dom.js";
import { ask, fetchTicket, isCancelled } from "../net.js";
import { t, count, number } from "../words.js";
import { store, onChange, act, answerNow, wantAnswer, lost } from "../store.js";
import { failed, announce } from "../frame.js";
import { drawer } from "../drawer.js";
import { dataTable } from "../tables.js";

const UNITS = ["day", "month", "quarter", "year", "decade"];
let column = null;

export function hierarchyScreen(body) {
  const list = h("nav", { class: "tabs wrap" }), answer = h("div", {}), wrong = h("div", {}), maker = h("div", {}), levels = h("div", {});
  clear(body, list, answer, wrong, maker, levels);
  const quasi = () => store.state.quasi;
  let found = null, kind = null, newest = 0;

  function drawList() {
    list.setAttribute("aria-label", t("screen.hierarchy"));
    redraw(list, quasi().map((name) => h("button", { "data-key": `col-${name}`, "aria-pressed": name === column ? "true" : "false", onclick: () => { column = name; kind = null; load(); } }, name)));
  }
  function drawAnswer() {
    const now = answerNow();
    clear(answer, h("section", { class: "card slim", "data-version": now?.version, role: "status" }, !now ? h("span", { class: "quiet" }, t("promise.searching")) : now.best ? h("div", { class: "row" }, h("strong", {}, `${t("promise.loss")}: ${lost((now.look?.node || now.best).loss)}`), h("span", {}, `${t("promise.hidden")}: ${count((now.look?.node || now.best).suppressed)}`),
      now.levels?.[column] !== undefined ? h("span", { class: "quiet" }, t("hierarchy.chosen", { column, level: now.levels[column] })) : null) : h("span", { class: "note" }, t("promise.impossible"))));
  }
  async function load() {
    drawList();
    drawer.about(() => ({ column }));
    if (!quasi().length) { clear(maker, h("p", { class: "card" }, t("hierarchy.none"))); clear(levels); return; }
    if (!quasi().includes(column)) column = quasi()[0];
    drawList();
    const mine = newest += 1;
    try {
      const got = await ask("hierarchy", { version: store.state.version, column });
      if (mine !== newest) return;
      found = got;
      kind = kind && found.kinds.some(([one]) => one === kind) ? kind : kindOf(found.spec);
      draw();
    } catch (error) { if (!isCancelled(error)) failed(error, wrong); }
  }
  async function set(given, said = t("hierarchy.changed")) {
    clear(wrong);
    try { await act("hierarchy_set", { column, ...given }); } catch (error) { if (!isCancelled(error)) { failed(error, wrong); return; } }
    announce(said);
  }
  const kindOf = (spec) => (spec.intervals ? (Array.isArray(spec.intervals) ? "intervals" : "edges") : spec.dates ? "dates" : spec.mask ? "mask" : spec.japan ? `japan_${spec.japan}` : spec.icd10 ? "icd10" : spec.rows || spec.tree || spec.csv ? "tree" : spec.neighbours || spec.priority ? "tree" : "plain");

  function draw() {
    drawAnswer();
    const kinds = choice("kind", found.kinds, kind, (one) => { kind = one; draw(); if (SIMPLE[kind]) set({ spec: SIMPLE[kind] }); });
    const file = h("input", { type: "file", id: "arx", class: "unseen-input", accept: ".csv,.txt", onchange: async () => set({ arx: await file.files[0].text() }, t("hierarchy.imported")) });
    redraw(maker, h("section", { class: "card", "data-version": found.version }, h("div", { class: "row spread" }, h("h2", {}, found.column), h("span", { class: "quiet" }, found.plan)),
      h("div", { class: "fields" }, h("div", {}, h("label", { for: "kind" }, t("hierarchy.how")), kinds), h("button", { "data-key": "proposed", onclick: () => { kind = null; set({ spec: found.proposed }); } }, t("hierarchy.propose")),
        h("div", {}, h("label", { for: "arx", class: "button" }, t("hierarchy.import")), file), h("button", { "data-key": "export", onclick: async () => fetchTicket((await ask("hierarchy_file", { version: found.version, column })).ticket) }, t("hierarchy.export"))),
      (EDITORS[kind] || (() => null))(found, set)));
    redraw(levels, h("section", { class: "card", "data-version": found.version }, h("h2", {}, t("hierarchy.levels")), quiet(t("hierarchy.levels_said")),
      dataTable(t("hierarchy.levels"), [t("hierarchy.level"), t("hierarchy.labels"), t("hierarchy.least"), t("hierarchy.most"), t("hierarchy.examples")], found.levels.map((one) => [rowHead(one.level), count(one.labels), count(one.smallest), count(one.largest), one.examples.map(([label, rows]) => h("span", { class: "pair" }, `${label ?? t("missing")}: ${count(rows)}`))]), { numeric: [1, 2, 3], scroll: "levels" })));
  }
  load();
  wantAnswer();
  return onChange((what) => { if (what === "state" || what === "answer") { wantAnswer(); load(); } else drawAnswer(); });
}

const SIMPLE = { plain: {}, japan_address: { japan: "address" }, japan_postcode: { japan: "postcode" }, japan_age: { japan: "age" }, japan_era: { japan: "era" }, icd10: { icd10: "chapters" } };

const EDITORS = {
  intervals(found, set) {
    const held = Array.isArray(found.spec.intervals) ? found.spec.intervals : Array.isArray(found.proposed.intervals) ? found.proposed.intervals : [5, 10, 20];
    const input = h("input", { type: "text", id: "widths", "data-key": "widths", value: held.join(", "), onchange: () => set({ spec: { intervals: input.value.split(/[,、\s]+/).filter(Boolean).map(Number) } }) });
    return [h("div", { class: "fields" }, h("div", {}, h("label", { for: "widths" }, t("hierarchy.widths")), input), quiet(t("hierarchy.widths_said"))), found.histogram ? edgesChart(found, edgesOf(held[0], found.histogram), null) : null];
  },
  dates(found, set) {
    const held = found.spec.dates || found.proposed.dates || ["month", "year"];
    return [quiet(t("hierarchy.ladder_said")), ladder(UNITS.map((unit) => t(`hierarchy.unit_${unit}`)), UNITS.map((_, place) => place).filter((place) => held.includes(UNITS[place])), (next) => set({ spec: { dates: next.map((place) => UNITS[place]) } }), t("hierarchy.units"))];
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
    const given = found.spec.intervals?.edges || nice(chart), edges = given[0].map((at) => ({ at, top: given.findLastIndex((level) => level.includes(at)) + 1 }));
    const save = () => {
      edges.sort((a, b) => a.at - b.at);
      const unique = edges.filter((one, place) => place === 0 || one.at !== edges[place - 1].at), highest = Math.max(...unique.map((one) => one.top));
      const all = Array.from({ length: highest }, (_, level) => unique.filter((one) => one.top > level).map((one) => one.at)).filter((level) => level.length);
      set({ spec: { intervals: { edges: all } } });
    };
    return [quiet(t("hierarchy.edges_said")), edgesChart(found, edges, save),
      h("ol", { class: "edge-list" }, edges.map((edge, place) => h("li", {}, h("label", { for: `edge-${place}`, class: "unseen" }, t("hierarchy.edge", { n: place + 1 })), h("input", { type: "number", id: `edge-${place}`, "data-key": `edge-${place}`, value: edge.at, step: "any", onchange: (event) => { edge.at = Number(event.target.value); save(); } }),
        h("label", { for: `edge-top-${place}`, class: "quiet" }, t("hierarchy.stays")), h("input", { type: "number", id: `edge-top-${place}`, "data-key": `edge-top-${place}`, class: "exact", min: "1", max: "9", value: edge.top, onchange: (event) => { edge.top = Math.max(1, Number(event.target.value)); save(); } }),
        h("button", { class: "small", "data-key": `edge-gone-${place}`, disabled: edges.length < 2, "aria-label": t("hierarchy.remove_edge", { at: edge.at }), onclick: () => { edges.splice(place, 1); save(); } }, "×")))),
      h("button", { class: "small", "data-key": "edge-add", onclick: () => { const last = edges.at(-1).at, before = edges.at(-2)?.at ?? chart.low; edges.push({ at: tidy((last + chart.high) / 2 > last ? (last + chart.high) / 2 : (last + before) / 2, chart), top: 1 }); save(); } }, t("hierarchy.add_edge"))];
  },
  tree(found, set) { return found.rows ? treeEditor(found, set) : quiet(t("hierarchy.too_many", { count: count(found.distinct) })); },
};

const tidy = (value, chart) => { const step = 10 ** Math.floor(Math.log10((chart.high - chart.low || 1) / 100)); return Number((Math.round(value / step) * step).toPrecision(12)); };
function nice(chart) { const wide = tidy((chart.high - chart.low) / 8 || 1, chart) || 1, first = []; for (let at = Math.ceil(chart.low / wide) * wide; at < chart.high && first.length < 12; at += wide) first.push(tidy(at, chart)); if (!first.length) first.push(tidy(chart.low, chart)); const second = first.filter((_, place) => place % 2 === 0); return second.length < first.length ? [first, second] : [first]; }
function edgesOf(width, chart) { const out = []; for (let at = Math.ceil(chart.low / width) * width; at < chart.high && out.length < 60; at += width) out.push({ at, top: 1 }); return out; }

function draggable(mark, drawing, wide, put, save) {
  mark.addEventListener("pointerdown", (event) => { mark.setPointerCapture(event.pointerId); mark.dragging = true; });
  mark.addEventListener("pointermove", (event) => { if (!mark.dragging) return; const box = drawing.getBoundingClientRect(); put((event.clientX - box.left) * (wide / box.width)); });
  mark.addEventListener("pointerup", () => { if (mark.dragging) { mark.dragging = false; save(); } });
}

// A ladder: places in a row, levels on some of them. Drag a level to a free place or move it with the arrow keys; Delete takes it away, a free place makes a new one.
function ladder(stops, chosen, save, label) {
  const W = 720, last = Math.max(1, stops.length - 1), x = (place) => 30 + (place * (W - 60)) / last, held = [...chosen];
  const drawing = s("svg", { viewBox: `0 0 ${W} 64`, class: "chart histogram ladder", role: "group", "aria-label": label }, s("path", { d: `M${x(0)},20H${x(last)}`, class: "grid" })), done = () => save([...held].sort((a, b) => a - b));
  stops.forEach((name, place) => {
    if (stops.length < 20 || place % 5 === 4) drawing.append(s("text", { x: x(place), y: 50, class: "tick", "text-anchor": "middle" }, name));
    if (held.includes(place)) return;
    const add = () => { held.push(place); done(); };
    drawing.append(s("circle", { cx: x(place), cy: 20, r: 9, class: "stop", role: "button", tabindex: "0", "data-key": `stop-${place}`, "aria-label": t("hierarchy.add_level", { at: name }), onclick: add, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); add(); } } }));
  });
  chosen.forEach((_, n) => {
    const mark = s("g", { class: "edge-mark", role: "slider", tabindex: "0", "data-key": `rung-${n}`, "aria-label": t("hierarchy.level_n", { n: n + 1 }), "aria-valuemin": 0, "aria-valuemax": stops.length - 1 }, s("circle", { cx: 0, cy: 20, r: 14, class: "target" }), s("circle", { cx: 0, cy: 20, r: 9, class: "grip" }));
    const put = (place) => { if (place >= 0 && place < stops.length && (place === held[n] || !held.includes(place))) held[n] = place; mark.setAttribute("transform", `translate(${x(held[n])},0)`); mark.setAttribute("aria-valuenow", held[n]); mark.setAttribute("aria-valuetext", stops[held[n]]); };
    put(held[n]);
    draggable(mark, drawing, W, (at) => put(Math.round(((at - 30) / (W - 60)) * last)), () => { if (held[n] !== chosen[n]) done(); });
    mark.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (by) { event.preventDefault(); let next = held[n] + by; while (held.includes(next)) next += by; put(next); clearTimeout(mark.wait); mark.wait = setTimeout(done, 350); }
      if ((event.key === "Delete" || event.key === "Backspace") && held.length > 1) { event.preventDefault(); held.splice(n, 1); done(); }
    });
    drawing.append(mark);
  });
  return h("div", { class: "figure" }, drawing);
}

// The histogram; with `save`, its edges are sliders: drag them, or use the arrow keys.
function edgesChart(found, edges, save) {
  const { low, high, counts } = found.histogram, W = 720, H = 180, x = (value) => 12 + ((value - low) / (high - low || 1)) * (W - 24), most = Math.max(...counts, 1);
  const drawing = s("svg", { viewBox: `0 0 ${W} ${H + 30}`, class: "chart histogram", role: save ? "group" : "img", "aria-label": t("hierarchy.histogram", { column: found.column, low: number(low), high: number(high) }) });
  counts.forEach((value, place) => drawing.append(s("rect", { x: 12 + (place * (W - 24)) / counts.length + 1, width: (W - 24) / counts.length - 2, y: H - (value / most) * (H - 20), height: (value / most) * (H - 20), class: "mark-soft" })));
  let last = -99;
  for (const [place, edge] of edges.entries()) {
    const mark = s("g", { class: `edge-mark top-${Math.min(3, edge.top)}`, ...(save ? { role: "slider", tabindex: "0", "aria-label": t("hierarchy.edge", { n: place + 1 }), "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": edge.at, "data-key": `mark-${place}` } : {}) },
      s("rect", { x: -9, y: 0, width: 18, height: H, class: "target" }), s("path", { d: `M0,${10}V${H}`, class: "edge-line" }), save ? s("circle", { cx: 0, cy: 10, r: 6.5, class: "grip" }) : null);
    const text = s("text", { x: 0, y: H + 18, class: "tick", "text-anchor": "middle" }, number(edge.at));
    if (x(edge.at) - last > 34) { mark.append(text); last = x(edge.at); }
    const show = () => { mark.setAttribute("transform", `translate(${x(edge.at)},0)`); mark.setAttribute("aria-valuenow", edge.at); text.textContent = number(edge.at); };
    show();
    if (save) {
      const step = tidy((high - low) / 100, found.histogram) || (high - low) / 100, put = (value) => { edge.at = tidy(Math.max(low, Math.min(high, value)), found.histogram); show(); };
      mark.addEventListener("keydown", (event) => { const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key]; if (by) { event.preventDefault(); put(edge.at + by * step); clearTimeout(mark.wait); mark.wait = setTimeout(save, 350); } });
      draggable(mark, drawing, W, (at) => put(low + ((at - 12) / (W - 24)) * (high - low)), save);
    }
    drawing.append(mark);
  }
  return h("div", { class: "figure" }, drawing);
}

// Labels over values: drag one into another group, or choose the group from its list.
function treeEditor(found, set) {
  const rows = found.rows.map((row) => [...row]), depth = rows[0]?.length || 1;
  if (depth < 3) for (const row of rows) row.splice(1, 0, row[0]);
  const parents = [...new Set(rows.map((row) => row[1]))], save = () => set({ spec: { rows } });
  const move = (value, parent) => { const model = rows.find((row) => row[1] === parent), row = rows.find((one) => one[0] === value); row.splice(1, row.length, ...(model && model !== row ? model.slice(1) : [parent, ...row.slice(2)])); save(); };
  const name = h("input", { type: "text", id: "group-name", "data-key": "group-name" });
  const picked = new Set(), chosen = h("span", { class: "quiet", role: "status" });
  const together = () => { if (!name.value || !picked.size) return; for (const row of rows) if (picked.has(row[0])) { row[1] = name.value; for (let level = 2; level < row.length; level += 1) row[level] = rows[0].at(-1) === "*" && level === row.length - 1 ? "*" : name.value; } save(); };
  return [quiet(t("hierarchy.tree_said")),
    h("div", { class: "fields" }, h("div", {}, h("label", { for: "group-name" }, t("hierarchy.group_name")), name), h("button", { "data-key": "group", onclick: together }, t("hierarchy.group")), chosen),
    h("div", { class: "groups", "data-scroll": "groups", tabindex: "0", role: "region", "aria-label": t("hierarchy.kind_tree") }, parents.map((parent) => {
      const members = rows.filter((row) => row[1] === parent), total = members.reduce((all, row) => all + (found.counts[row[0]] || 0), 0);
      const box = h("section", { class: "group", "aria-label": parent }, h("h3", {}, parent === "" ? t("missing") : parent, " ", h("span", { class: "quiet" }, t("hierarchy.rows", { rows: count(total) }))), h("ul", {}, members.map((row) => {
        const key = `value-${row[0]}`;
        return h("li", { draggable: "true", ondragstart: (event) => event.dataTransfer.setData("text/plain", row[0]) }, h("input", { type: "checkbox", id: key, "data-key": key, onchange: (event) => { if (event.target.checked) picked.add(row[0]); else picked.delete(row[0]); chosen.textContent = t("hierarchy.picked", { count: count(picked.size) }); } }), h("label", { for: key }, row[0] === "" ? t("missing") : row[0], " ", h("span", { class: "quiet" }, count(found.counts[row[0]] || 0))),
          h("label", { for: `${key}-to`, class: "unseen" }, t("hierarchy.move", { value: row[0] })), h("select", { id: `${key}-to`, "data-key": `${key}-to`, class: "small", onchange: (event) => move(row[0], event.target.value) }, parents.map((one) => h("option", { value: one, selected: one === parent }, one === parent ? t("hierarchy.move_to") : `→ ${one}`))));
      })));
      box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
      box.addEventListener("dragleave", () => box.classList.remove("over"));
      box.addEventListener("drop", (event) => { event.preventDefault(); move(event.dataTransfer.getData("text/plain"), parent); });
      return box;
    }))];
}
