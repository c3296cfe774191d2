// Pictures drawn by hand as SVG: readable in light and dark, by keyboard, and by a screen reader.
import { h, s, picture } from "./dom.js";
import { t, count, percent } from "./words.js";
import { lost } from "./store.js";

export const DASHES = ["", "7 4", "2 4", "9 4 2 4"];

// On a small screen a picture is narrower, not its letters smaller.
export const fitting = (width) => Math.max(280, Math.min(width, innerWidth - 80));

export function shareBar(share, label) {
  const bar = h("div.share", { role: "img", "aria-label": `${label}: ${percent(share)}` }, h("span"));
  bar.firstChild.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return bar;
}

// Horizontal bars: [{label, value, text, hollow}] against the largest.
export function bars(items, label, most = Math.max(...items.map((one) => one.value), 0) || 1) {
  return h("ul.bars", { "aria-label": label }, items.map((one) => {
    const fill = h("span", { class: `fill ${one.kind || ""}` }), hollow = one.hollow === undefined ? null : h("span.hollow");
    fill.style.width = `${(one.value / most) * 100}%`;
    if (hollow) hollow.style.width = `${(one.hollow / most) * 100}%`;
    return h("li", h("span.bar-label", { title: one.label }, one.label), h("span.track", { "aria-hidden": "true" }, hollow, fill), h("span.bar-text", one.text));
  }));
}

// Class sizes, in doubling steps; those below k are what would be hidden.
export function classSizes(sizes, k) {
  const edges = [1];
  while (edges.at(-1) < Math.max(...sizes.map(([size]) => size), k)) edges.push(edges.at(-1) * 2);
  const bins = edges.map((low, place) => ({ low, high: (edges[place + 1] ?? Infinity) - 1, small: 0, large: 0 }));
  for (const [size, classes] of sizes) {
    const bin = bins.findLast((one) => one.low <= size);
    if (size < k) bin.small += classes; else bin.large += classes;
  }
  while (bins.length > 1 && !bins.at(-1).small && !bins.at(-1).large) bins.pop();
  const most = Math.max(...bins.map((one) => one.small + one.large), 1), width = 46, high = 120;
  const drawing = picture("sizes", bins.length * width + 8, high + 40, t("chart.sizes", { said: bins.filter((one) => one.small + one.large).map((one) => `${range(one)}: ${count(one.small + one.large)}`).join("; ") }));
  bins.forEach((one, place) => {
    const x = place * width + 4, up = (value) => Math.max(value ? 2 : 0, (Math.log1p(value) / Math.log1p(most)) * high);
    const small = up(one.small + one.large) * (one.small / (one.small + one.large || 1)), all = up(one.small + one.large);
    drawing.append(s("rect.mark", { x, y: 16 + high - all, width: width - 8, height: all - small }), s("rect.mark-hidden", { x, y: 16 + high - small, width: width - 8, height: small }),
      s("text", { x: x + (width - 8) / 2, y: 12 + high - all, "text-anchor": "middle" }, one.small + one.large ? count(one.small + one.large) : ""),
      s("text", { x: x + (width - 8) / 2, y: high + 32, "text-anchor": "middle" }, range(one)));
  });
  return drawing;
}
const range = (bin) => (bin.low === bin.high ? `${bin.low}` : bin.low >= 64 || bin.high === Infinity ? `${bin.low} +` : `${bin.low}–${bin.high}`);

// The frontier: loss over k, a line for each limit and method. Points are buttons: arrows walk, Enter takes.
export function frontierChart(lines, cliffs, now, { onTake, onShow }) {
  const points = lines.flatMap((line) => line.points), W = fitting(760), H = 340, L = 56, R = 16, T = 18, B = 44;
  const ks = [...new Set(points.map((one) => one.k))].sort((a, b) => a - b), top = Math.max(...points.map((one) => one.loss), 1e-3);
  const x = (k) => L + (ks.length > 1 ? (Math.log(k / ks[0]) / Math.log(ks.at(-1) / ks[0])) * (W - L - R) : (W - L - R) / 2);
  const y = (loss) => T + (1 - loss / top) * (H - T - B);
  const drawing = picture("frontier", W, H, t("space.frontier"), "group");
  for (const value of ticks(top)) {
    drawing.append(s("path.grid", { d: `M${L},${y(value)}H${W - R}` }), s("text", { x: L - 8, y: y(value) + 4, "text-anchor": "end" }, lost(value, top < 0.04 ? 1 : 0)));
  }
  let last = -Infinity;
  for (const k of ks) if (x(k) - last > 26) { drawing.append(s("text", { x: x(k), y: H - B + 20, "text-anchor": "middle" }, k)); last = x(k); }
  drawing.append(s("text", { x: (L + W - R) / 2, y: H - 4, "text-anchor": "middle" }, t("space.axis_k")));
  for (const cliff of cliffs) drawing.append(s("circle.cliff", { cx: x(cliff.k[1]), cy: y(cliff.loss[1]), r: 13 }));
  lines.forEach((line, place) => {
    drawing.append(s("polyline", { points: line.points.map((one) => `${x(one.k)},${y(one.loss)}`).join(" "), class: `line line-${place % 6}`, "stroke-dasharray": DASHES[line.dash] || null }));
  });
  const marks = [];
  lines.forEach((line, row) => line.points.forEach((one, column) => {
    const here = one.curve === "k_anonymize" && one.k === now.k && Math.abs(one.suppress - now.suppress) < 1e-9;
    const node = s("g", { class: `point line-${row % 6}${here ? " here" : ""}${one.exact ? "" : " bounded"}`, role: "button", tabindex: "-1", "data-k": one.k, "data-suppress": one.suppress, "data-curve": one.curve,
      key: `${line.name}-${one.k}`, "aria-pressed": here ? "true" : "false", "aria-disabled": one.levels ? null : "true",
      "aria-label": t(one.levels ? "space.point" : "space.point_other", { name: line.name, k: one.k, loss: lost(one.loss), hidden: count(one.suppressed) }) },
      s("circle.target", { cx: x(one.k), cy: y(one.loss), r: 11 }), s("circle.dot", { cx: x(one.k), cy: y(one.loss), r: here ? 7 : 4.5 }));
    const take = () => { if (one.levels) onTake(one); };
    node.addEventListener("click", take);
    node.addEventListener("focus", () => onShow?.(one, line));
    node.addEventListener("mouseenter", () => onShow?.(one, line));
    node.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); take(); }
      if (!steps) return;
      event.preventDefault();
      const rows = lines[row + steps[0]] || line, target = rows.points[Math.max(0, Math.min(rows.points.length - 1, column + steps[1]))];
      marks.find((mark) => mark.one === target).node.focus();
    });
    marks.push({ one, node });
  }));
  for (const mark of marks.toReversed()) drawing.append(mark.node); // where points lie on each other, the one that hides less is on top
  (marks.find((mark) => mark.node.classList.contains("here")) || marks[0])?.node.setAttribute("tabindex", "0");
  return drawing;
}

function ticks(top) {
  const ten = 10 ** Math.floor(Math.log10(top / 5)), step = [1, 2, 5, 10].map((one) => one * ten).find((one) => top / one <= 5) || 10 * ten;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, place) => place * step);
}

// The lattice, where it is small: a row for each sum of levels.
export function latticeChart(nodes, heights, chosen, onTake) {
  const names = Object.keys(heights), key = (levels) => names.map((name) => levels[name]).join("-");
  const rows = new Map();
  for (const node of nodes) { const sum = names.reduce((all, name) => all + node.levels[name], 0); rows.set(sum, [...(rows.get(sum) || []), node]); }
  const widest = Math.max(...[...rows.values()].map((row) => row.length)), W = Math.max(widest * 54, 320), H = rows.size * 56 + 20;
  const drawing = picture("lattice", W, H, t("space.lattice"), "group"), places = new Map();
  [...rows.keys()].sort((a, b) => b - a).forEach((sum, row) => rows.get(sum).sort((a, b) => (key(a.levels) < key(b.levels) ? -1 : 1)).forEach((node, column, all) => places.set(key(node.levels), { x: ((column + 1) * W) / (all.length + 1), y: row * 56 + 30, node })));
  for (const { x, y, node } of places.values()) for (const name of names) {
    const above = places.get(key({ ...node.levels, [name]: node.levels[name] + 1 }));
    if (above) drawing.append(s("path.edge", { d: `M${x},${y}L${above.x},${above.y}` }));
  }
  let first = true;
  for (const { x, y, node } of places.values()) {
    const here = key(node.levels) === key(chosen || {}), label = names.map((name) => node.levels[name]).join("");
    const mark = s("g", { class: `node ${node.feasible ? "can" : "cannot"}${here ? " here" : ""}`, role: "button", tabindex: here || first ? "0" : "-1", "aria-disabled": node.feasible ? null : "true", key: `node-${label}`,
      "aria-label": t(node.feasible ? "space.node" : "space.node_cannot", { levels: names.map((name) => `${name} ${node.levels[name]}`).join(", "), loss: lost(node.loss), hidden: count(node.suppressed) }) },
      s("rect", { x: x - 22, y: y - 14, width: 44, height: 28, rx: 8 }), s("text", { x, y: y + 4, "text-anchor": "middle" }, label));
    first = false;
    mark.addEventListener("click", () => node.feasible && onTake(node));
    mark.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); if (node.feasible) onTake(node); }
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...drawing.querySelectorAll(".node")];
      all[(all.indexOf(mark) + step + all.length) % all.length].focus();
    });
    drawing.append(mark);
  }
  return drawing;
}

// Which columns hang together: above the diagonal as they came, below it as they would be released.
export function pairsChart(pairs) {
  const names = [...new Set(pairs.flatMap((one) => one.columns))], side = 30, left = 130, W = left + names.length * side + 10, of = new Map(pairs.map((one) => [one.columns.join("\n"), one]));
  const find = (a, b) => of.get(`${a}\n${b}`) || of.get(`${b}\n${a}`);
  const drawing = picture("pairs", W, names.length * side + 10, t("rows.pairs_picture"));
  names.forEach((a, row) => {
    drawing.append(s("text", { x: left - 8, y: row * side + 20, "text-anchor": "end" }, a.length > 16 ? `${a.slice(0, 15)}…` : a));
    names.forEach((b, column) => {
      const pair = a === b ? null : find(a, b), value = pair ? (column > row ? pair.before : pair.after) : 0, place = { x: left + column * side, y: row * side, width: side - 2, height: side - 2, rx: 4 };
      const cell = s("rect", { ...place, class: pair ? "mark" : "cell" }, pair ? s("title", `${a} × ${b}: ${value.toFixed(2)}`) : null);
      if (pair) { cell.style.fillOpacity = 0.06 + 0.94 * Math.min(1, value); drawing.append(s("rect.cell", { ...place })); }
      drawing.append(cell);
    });
  });
  return drawing;
}
