// Elements without HTML text: whatever is in a table stays text.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name === "value" && "value" in node) node.value = value;
    else if (name === "checked" || name === "disabled" || name === "hidden" || name === "open" || name === "selected") node[name] = Boolean(value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  put(node, children);
  return node;
}

export function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);
export const clear = (node, ...children) => { node.replaceChildren(); return put(node, children); };

let count = 0;
export const id = (name) => `${name}-${++count}`;

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
