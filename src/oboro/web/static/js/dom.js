// Elements without HTML text: whatever is in a table stays text.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, classes, [props, ...children]) {
  const plain = props?.constructor === Object;
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(plain ? props : {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "key" || name === "version") node.dataset[name] = value;
    else if (name === "value" && "value" in node) node.value = value;
    else if (["checked", "disabled", "hidden", "open", "selected"].includes(name)) node[name] = Boolean(value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return put(node, plain ? children : [props, ...children]);
}

export function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

// h("div.card.slim", { id: "x" }, children…): an element with classes, attributes (or none) and children.
export const h = (tag, ...given) => { const [name, ...classes] = tag.split("."); return fill(document.createElement(name), classes, given); };
export const s = (tag, ...given) => { const [name, ...classes] = tag.split("."); return fill(document.createElementNS(SVG, name), classes, given); };
// A picture of our own: with parts to act on it is a group, else an image.
export const picture = (kind, width, height, label, role = "img") => s(`svg.chart.${kind}`, { viewBox: `0 0 ${width} ${height}`, role, "aria-label": label });
export const clear = (node, ...children) => { node.replaceChildren(); return put(node, children); };

let count = 0;
export const id = (name) => `${name}-${++count}`;

export const card = (...children) => h("section.card", ...children);
export const quiet = (...children) => h("p.quiet", ...children);
export const facts = (items) => h("dl.facts", items.filter(Boolean).map(([name, value]) => h("div", h("dt", name), h("dd", value))));
export const rowHead = (...children) => h("th", { scope: "row" }, ...children);

// One of a few values, side by side: [value, text].
export const segments = (name, legend, options, held, change, { unseen = false, barred = () => false } = {}) => h("fieldset.segments", h("legend", { class: unseen ? "unseen" : null }, legend), options.map(([value, text]) => [
  h("input", { type: "radio", name, id: `${name}-${value}`, key: `${name}-${value}`, value, checked: value === held, disabled: barred(value), onchange: () => change(value) }), h("label", { for: `${name}-${value}` }, text)]));
// Yes or no.
export const check = (id, text, checked, change, disabled = false) => h("div.check", h("input", { type: "checkbox", id, key: id, checked, disabled, onchange: (event) => change(event.target.checked) }), h("label", { for: id }, text));
// One of several values in a list: [value, text].
export const choice = (id, options, held, change) => h("select", { id, key: id, onchange: (event) => change(event.target.value) }, options.map(([value, text]) => h("option", { value, selected: value === held }, text)));

// Tabs: [name, text]; arrows go from one to the next.
export const tabs = (prefix, options, held, change, panel = null) => options.map(([name, text], place) => h("button", { role: "tab", id: `${prefix}-${name}`, "aria-selected": name === held ? "true" : "false", "aria-controls": panel, tabindex: name === held ? "0" : "-1", onclick: () => change(name),
  onkeydown: (event) => { const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]; if (step) { event.preventDefault(); change(options.at((place + step) % options.length)[0]); } } }, text));

// Draws anew and keeps the keyboard's place: the element with the same key gets the focus back.
export function redraw(node, ...children) {
  const held = node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const scrolls = [...node.querySelectorAll("[data-scroll]")].map((one) => [one.dataset.scroll, one.scrollTop, one.scrollLeft]);
  clear(node, ...children);
  for (const [key, top, left] of scrolls) {
    const one = node.querySelector(`[data-scroll="${key}"]`);
    if (one) { one.scrollTop = top; one.scrollLeft = left; }
  }
  if (held) [...node.querySelectorAll("[data-key]")].find((one) => one.dataset.key === held)?.focus({ preventScroll: true });
}
