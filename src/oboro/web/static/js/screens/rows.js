// Before and after: rows (as many as there are), distributions, pairs, what a model still learns.
import { h, clear, choice, tabs, card, quiet, rowHead } from "../dom.js";
import { ask } from "../net.js";
import { t, count, percent, number } from "../words.js";
import { store, onState, wantAnswer } from "../store.js";
import { work, failed, failedUnlessLeft } from "../frame.js";
import { bars, pairsChart } from "../charts.js";
import { dataTable } from "../tables.js";

const HIGH = 34, BLOCK = 100, TALLEST = 8_000_000;
let part = "rows", target = "";

export function rowsScreen(body) {
  const list = h("div.tabs", { role: "tablist", "aria-label": t("screen.rows") }), panel = h("div", { role: "tabpanel", tabindex: "-1" });
  clear(body, list, panel);
  const parts = ["rows", "spread", "pairs", "score"];
  let stop = () => {};

  function drawTabs() {
    clear(list, tabs("tab", parts.map((one) => [one, t(`rows.${one}`)]), part, (one) => { part = one; draw(); list.querySelector("[aria-selected=true]").focus(); }));
    panel.setAttribute("aria-labelledby", `tab-${part}`);
  }
  function draw() {
    stop();
    drawTabs();
    stop = { rows: virtualRows, spread, pairs, score }[part](panel) || (() => {});
  }
  draw();
  wantAnswer();
  const off = onState(() => { wantAnswer(); draw(); });
  return () => { stop(); off(); };
}

// A window onto the rows: only those in sight are there. Beyond the browser's limit a pixel is several rows.
function virtualRows(panel) {
  const version = store.state.version, total = store.state.table.rows, blocks = new Map();
  const view = h("div.rows-view", { tabindex: "0", role: "region", "aria-label": t("rows.rows") }), high = Math.min(total * HIGH, TALLEST);
  const spacer = h("div.rows-spacer"), table = h("table", { "aria-rowcount": total + 1 }), head = h("thead"), rows = h("tbody");
  spacer.style.height = `${high + HIGH}px`;
  table.append(h("caption.unseen", t("rows.rows")), head, rows);
  const jump = h("input", { type: "number", id: "jump", min: 1, max: total, value: 1, onchange: () => to(Number(jump.value) - 1) });
  const wrong = h("div"), shown = h("span.quiet", { role: "status" });
  clear(panel, wrong, h("section.card", { version }, quiet(t("rows.rows_said")),
    h("div.row", h("label", { for: "jump" }, t("rows.jump")), jump, shown), view));
  view.append(spacer, table);
  const fits = () => Math.ceil(view.clientHeight / HIGH) + 2;
  const first = () => (high <= 0 ? 0 : gone?.[0] === view.scrollTop ? gone[1] : Math.max(0, Math.min(total - 1, Math.floor((view.scrollTop / Math.max(1, high - view.clientHeight + HIGH)) * Math.max(0, total - fits() + 2)))));
  // Where a row is asked for, it comes first, also where a pixel stands for several.
  function to(asked) {
    const row = Math.max(0, Math.min(total - fits() + 2, asked));
    view.scrollTop = (row / Math.max(1, total - fits() + 2)) * (high - view.clientHeight + HIGH);
    gone = [view.scrollTop, row];
    drawRows();
  }
  let running = null, gone = null;

  async function load(block) {
    if (blocks.has(block)) return;
    blocks.set(block, null);
    try {
      const found = await ask("rows", { version, start: block * BLOCK, n: BLOCK });
      blocks.set(block, found);
      if (blocks.size > 60) for (const old of [...blocks.keys()].slice(0, 20)) if (Math.abs(old - block) > 3) blocks.delete(old);
      drawRows();
    } catch (error) { blocks.delete(block); failedUnlessLeft(error, wrong); }
  }
  const rowOf = (row) => { const found = blocks.get(Math.floor(row / BLOCK)); return found && { found, place: row - found.start }; };

  function drawRows() {
    const start = first(), end = Math.min(total, start + fits());
    for (let block = Math.floor(start / BLOCK); block <= Math.floor(Math.max(start, end - 1) / BLOCK); block += 1) load(block);
    const any = [...blocks.values()].find(Boolean);
    if (!any) return;
    if (!head.childElementCount) clear(head, h("tr", h("th", { scope: "col", class: "figure" }, t("rows.row")), any.columns.map((name) => h("th", { scope: "col", class: any.released.includes(name) ? null : "dropped" }, name))));
    const made = [];
    for (let row = start; row < end; row += 1) {
      const at = rowOf(row);
      made.push(h("tr", { "aria-rowindex": row + 2, class: at?.found.suppressed[at.place] ? "hidden-row" : null }, h("th", { scope: "row", class: "figure" }, count(row + 1)),
        at ? at.found.columns.map((name, place) => cell(at.found.before[at.place][place], at.found.after[at.place][place], at.found.released.includes(name))) : h("td", { colspan: any.columns.length }, "…")));
    }
    clear(rows, made);
    table.style.transform = `translateY(${Math.min(view.scrollTop, Math.max(0, high - view.clientHeight + HIGH))}px)`;
    shown.textContent = t("rows.shown", { from: count(start + 1), to: count(end), total: count(total) });
    panel.dataset.rows = String(start);
  }
  view.addEventListener("scroll", () => { cancelAnimationFrame(running); running = requestAnimationFrame(() => drawRows()); });
  view.addEventListener("keydown", (event) => { const page = { PageDown: fits() - 3, PageUp: 3 - fits(), ArrowDown: 1, ArrowUp: -1 }[event.key]; if (page && event.target === view) { event.preventDefault(); to(Number(panel.dataset.rows || 0) + page); } if (event.key === "Home" || event.key === "End") { event.preventDefault(); to(event.key === "Home" ? 0 : total); } });
  drawRows();
  return () => cancelAnimationFrame(running);
}

function cell(before, after, released) {
  const text = (value) => (value === null ? h("i.quiet", t("missing")) : value);
  if (!released) return h("td.dropped", h("del", text(before)));
  if (before === after) return h("td", text(after));
  return h("td", h("del", text(before)), " ", h("ins", { class: after === "*" ? "star" : null }, text(after)));
}

function spread(panel) {
  const version = store.state.version, box = h("div.columns");
  clear(panel, quiet(t("rows.spread_said")), box);
  work("distributions", { version }).then((found) => clear(box, found.columns.map((one) => h("section.card", { version }, h("h2", one.column),
    bars([...one.labels, ...(one.others ? [{ ...one.others, label: t("rows.others", { count: one.others.label }) }] : [])].map((label) => ({ label: label.label ?? t("missing"), value: label.after, hollow: label.before, text: label.before === label.after ? count(label.after) : `${count(label.before)} → ${count(label.after)}` })), one.column,
      Math.max(...one.labels.map((label) => label.before), one.others?.before || 0, 1)),
    one.suppressed ? quiet(t("rows.starred", { count: count(one.suppressed) })) : null)))).catch((error) => failed(error, box));
}

function pairs(panel) {
  const version = store.state.version, box = h("div");
  clear(panel, card(quiet(t("rows.pairs_said")), box));
  work("pairs", { version }).then((found) => clear(box, found.pairs.length > 2 ? [pairsChart(found.pairs), quiet(t("rows.pairs_picture"))] : null, found.pairs.length ? dataTable(t("rows.pairs"), [t("rows.pair"), t("rows.before"), t("rows.after"), t("rows.kept")],
    found.pairs.slice(0, 40).map((one) => [rowHead(one.columns.join(" × ")), number(one.before, 2), number(one.after, 2), meter(one.before ? Math.min(1, one.after / one.before) : 1)]), { numeric: [1, 2] }) : h("p", t("rows.no_pairs")))).catch((error) => failed(error, box));
}
function meter(share) { const node = h("span.share.short", { role: "img", "aria-label": percent(share) }, h("span")); node.firstChild.style.width = `${share * 100}%`; return node; }

function score(panel) {
  const version = store.state.version, box = h("div"), columns = store.state.table.columns.filter((name) => store.state.roles[name] !== "identifier");
  const list = choice("target", [["", t("rows.no_target")], ...columns.map((name) => [name, name])], target, (name) => { target = name; load(); });
  clear(panel, h("section.card", { version }, quiet(t("rows.score_said")), h("div.row", h("label", { for: "target" }, t("rows.target")), list), box));
  async function load() {
    clear(box);
    if (!target) return;
    try {
      const found = await work("score", { version, target });
      clear(box, bars(found.scores.map((one) => ({ label: t(`rows.${one.name}`), value: Math.max(0, one.value ?? 0), text: one.value === null ? "–" : `${number(one.value, 3)}${one.error ? ` ± ${number(one.error, 1)}` : ""}` })), t("rows.score"), 1), found.scores.slice(0, 1).map((one) => quiet(one.meaning)));
    } catch (error) { failed(error, box); }
  }
  if (columns.includes(target)) load();
}
