// The recipe beside every act: the YAML, the command, the Python for what is on the screen.
import { h, clear, tabs, quiet } from "./dom.js";
import { ask, isCancelled } from "./net.js";
import { t } from "./words.js";
import { onState } from "./store.js";

const KINDS = ["yaml", "command", "python"];
let node = null, screenNow = null, open = localStorage.getItem("oboro-drawer") === "open", kind = "yaml", content = null, newest = 0;
let context = () => ({});

export const drawer = {
  attach(place, screen) { node = place; screenNow = screen; onState(refresh); },
  // Another screen; it says what else its command and its Python depend on.
  show() { context = () => ({}); },
  about(more = context) { context = more; refresh(); },
};

async function refresh() {
  draw();
  if (!open) return;
  const mine = newest += 1;
  try {
    const found = await ask("drawer", { screen: screenNow(), ...context() });
    if (mine === newest) { content = found; draw(); }
  } catch (error) {
    if (mine === newest && !isCancelled(error)) { content = null; draw(); }
  }
}

function toggle() { open = !open; localStorage.setItem("oboro-drawer", open ? "open" : "closed"); refresh(); node.querySelector("button").focus(); }

async function copy(button) {
  await navigator.clipboard.writeText(content[kind]);
  button.textContent = t("drawer.copied");
  setTimeout(() => { button.textContent = t("drawer.copy"); }, 1500);
}

function choose(next) { kind = next; draw(); node.querySelector("[aria-selected=true]").focus(); }

function draw() {
  node.setAttribute("aria-label", t("drawer.title"));
  node.classList.toggle("is-open", open);
  const handle = h("button.handle", { "aria-expanded": open ? "true" : "false", "aria-controls": "drawer-body", onclick: toggle },
    h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), t("drawer.title"));
  if (!open) { clear(node, handle); return; }
  const shown = content && content[kind];
  const list = h("div", { role: "tablist", class: "tabs", "aria-label": t("drawer.title") }, tabs("drawer", KINDS.map((one) => [one, t(`drawer.${one}`)]), kind, choose, "drawer-body"));
  clear(node, handle, list,
    h("div", { id: "drawer-body", role: "tabpanel", "aria-labelledby": `drawer-${kind}`, class: "drawer-body", version: content?.version },
      shown ? [h("button.small.copy", { onclick: (event) => copy(event.target) }, t("drawer.copy")), content.long ? quiet(t("drawer.long")) : null,
        h("pre", { tabindex: "0", "data-scroll": "drawer" }, shown)]
        : quiet(t("drawer.nothing"))));
}
