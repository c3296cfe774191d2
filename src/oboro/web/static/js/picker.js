// Files on this machine, below the chosen folder, as a list of buttons.
import { h, redraw } from "./dom.js";
import { ask } from "./net.js";
import { t, bytes } from "./words.js";
import { failed } from "./frame.js";

export function filePicker(key, choose, start = "") {
  const box = h("div.files");
  async function list(folder) {
    try {
      const found = await ask("files", { folder }), inside = (name) => [found.folder, name].filter(Boolean).join("/");
      const up = found.folder ? h("li", h("button.entry", { key: "..", onclick: () => list(found.folder.split("/").slice(0, -1).join("/")) }, "↰ ..")) : null;
      redraw(box, h("p.quiet.path", found.root, found.folder ? `/${found.folder}` : ""),
        h("ul.entries", { "data-scroll": key, tabindex: "0", "aria-label": t("open.here") }, up, found.entries.map((one) => h("li", h("button.entry", { key: one.name,
          onclick: () => (one.folder ? list(inside(one.name)) : choose({ path: inside(one.name), name: one.name, bytes: one.bytes })) },
          one.folder ? "▸ " : "", one.name, one.folder ? null : h("span.quiet", bytes(one.bytes))))), found.entries.length ? null : h("li.quiet", t("open.empty"))));
    } catch (error) { failed(error, box); }
  }
  if (sessionStorage.getItem("oboro-token")) list(start);
  return box;
}
