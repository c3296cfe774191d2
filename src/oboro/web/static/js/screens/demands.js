// What is promised, as controls: the server says which there are, and a move changes one place of the demands.
import { h, choice, check } from "../dom.js";
import { t, count, percent, number } from "../words.js";
import { filePicker } from "../picker.js";

const opened = new Set(), SHOW = { count, number, percent: (share) => percent(share, 1) };
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// The demands with another value at a path; what is left empty goes too.
export function changed(demands, path, value) {
  const [name, ...rest] = path, { [name]: held, ...others } = demands;
  const next = rest.length ? changed(typeof held === "object" && held ? held : {}, rest, value) : value;
  return next === undefined || (rest.length && !Object.keys(next).length) ? others : { ...demands, [name]: next };
}
const at = (demands, path) => path.reduce((held, name) => held?.[name], demands);

export function demandControls(box, held, moved) {
  const groups = new Map(), fields = new Map();

  function put(field, value) {
    field.touched = field.kind !== "slider" || undefined; // drawn anew when the server has said what became of it
    const off = value === null || same(value, field.off), fresh = at(held(), field.path) === undefined;
    let next = changed(held(), off ? field.drop || field.path : field.path, off ? undefined : value);
    if (!off && fresh) for (const [name, one] of Object.entries(field.also || {})) next = changed(next, [...field.path.slice(0, -1), name], one);
    moved(field.path.at(-1), next);
  }

  const KINDS = {
    // A slider over chosen steps; the number beside it takes any value.
    slider(field, id) {
      const show = (one) => (field.off !== null && one === field.off && field.path[0] !== "suppress" ? "–" : SHOW[field.show](one)), spoken = (one) => (show(one) === "–" ? t("promise.off") : show(one));
      const near = field.steps.reduce((best, one, place) => (Math.abs(one - field.value) < Math.abs(field.steps[best] - field.value) ? place : best), 0), hundred = field.show === "percent" ? 100 : 1;
      const words = (one) => (show(one) === "–" ? "" : field.said.replace("{value}", show(one)));
      const output = h("output", { for: id }, show(field.value)), note = h("span", { id: `${id}-note`, class: "quiet" }, words(field.value)), written = (one) => Number((one * hundred).toFixed(3));
      const range = h("input", { type: "range", id, min: "0", max: field.steps.length - 1, step: "1", value: near, key: id, "aria-valuetext": spoken(field.value), "aria-describedby": `${id}-note` });
      const exact = field.exact ? h("input", { type: "number", class: "exact", "aria-label": t("promise.exact", { what: field.label }), value: written(field.value), min: hundred === 1 ? 1 : 0, max: hundred === 1 ? null : 100, step: hundred === 1 ? 1 : 0.1, key: `${id}-exact`,
        onchange: () => { const next = Number(exact.value); if (exact.value === "" || !(next >= 0)) { exact.value = written(field.value); return; } move(hundred === 1 ? Math.max(1, Math.round(next)) : Math.min(100, next) / 100); } }) : null;
      const move = (next) => { field.value = next; output.textContent = show(next); if (exact) exact.value = written(next); note.textContent = words(next); range.setAttribute("aria-valuetext", spoken(next)); put(field, next); };
      range.addEventListener("input", () => move(field.steps[Number(range.value)]));
      return [h("div.slider-head", h("label", { for: id }, field.label), exact || output), range, note];
    },
    select: (field, id) => [h("label", { for: id }, field.label), choice(id, field.options, field.value, (one) => put(field, field.options.find(([value]) => String(value) === one)[0])), said(field)],
    check: (field, id) => [check(id, field.label, field.value, (on) => put(field, on ? field.options[0][0] : null)), said(field)],
    amount(field, id) {
      const hundred = field.show === "percent" ? 100 : 1, input = h("input", { type: "number", id, key: id, min: 0, step: "any", value: field.value === null ? "" : Number((field.value * hundred).toFixed(6)), onchange: () => put(field, input.value === "" ? null : Number(input.value) / hundred) });
      return [h("label", { for: id }, field.label), input, said(field)];
    },
    columns: (field, id) => h("fieldset.checks", h("legend", field.label), field.options.map(([name]) => check(`${id}-${name}`, name, field.value.includes(name),
      (on) => { field.value = field.options.map(([one]) => one).filter((one) => (one === name ? on : field.value.includes(one))); put(field, field.value.length ? field.value : null); }))),
    file: (field, id) => [h("h3", field.label), field.value ? h("p.row", field.value.split("/").at(-1), h("button.small", { key: `${id}-gone`, onclick: () => put(field, null) }, t("promise.remove"))) : [said(field), filePicker(id, (file) => put(field, file.path))]],
  };
  const said = (field) => (field.said ? h("span.quiet", field.said) : null);

  function group(one) {
    if (!one.name) { const plain = { body: h("div"), badge: h("span") }; box.append(h("h2", t("promise.asked")), plain.body, h("h3", t("promise.more"))); return plain; }
    const badge = h("span.badge"), body = h("div.fields-of");
    box.append(h("details.more", { open: opened.has(one.name), ontoggle: (event) => { if (event.target.open) opened.add(one.name); else opened.delete(one.name); } }, h("summary", { key: `more-${one.name}` }, one.title, " ", badge), body));
    return { body, badge };
  }

  // Fields that are there stay as they are, in mid-drag too; those that are new come in between.
  return function show(form) {
    const names = form.groups.map((one) => one.name);
    if (!same([...groups.keys()], names)) { box.replaceChildren(); groups.clear(); fields.clear(); for (const one of form.groups) groups.set(one.name, group(one)); }
    for (const one of form.groups) {
      const { body, badge } = groups.get(one.name);
      badge.textContent = one.asked ? t("promise.asked_for", { count: count(one.asked) }) : "";
      const kept = new Set(one.fields.map((field) => field.key));
      for (const node of [...body.children]) if (!kept.has(node.dataset.field)) { fields.delete(node.dataset.field); node.remove(); }
      one.fields.forEach((field, place) => {
        const before = fields.get(field.key);
        if (before && same(before.field, field)) return;
        const node = h("div", { class: `field-${field.kind}`, "data-field": field.key }, KINDS[field.kind](field, `slide-${field.key.replace(/[\s.]+/g, "-")}`)), key = before?.node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
        if (before) before.node.replaceWith(node); else body.insertBefore(node, body.children[place] || null);
        if (key) [...node.querySelectorAll("[data-key]")].find((found) => found.dataset.key === key)?.focus({ preventScroll: true });
        fields.set(field.key, { field, node });
      });
    }
  };
}
