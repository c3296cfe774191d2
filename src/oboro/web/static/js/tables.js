// Plain tables that scroll inside their card.
import { h } from "./dom.js";

export function dataTable(caption, heads, rows, { numeric = [], scroll = "table" } = {}) {
  return h("div.scroller", { tabindex: "0", role: "region", "aria-label": caption, "data-scroll": scroll },
    h("table", h("caption.unseen", caption),
      h("thead", h("tr", heads.map((one, place) => h("th", { scope: "col", class: numeric.includes(place) ? "figure" : null }, one)))),
      h("tbody", rows.map((row) => h("tr", row.map((cell, place) => (place === 0 && cell instanceof Node && cell.tagName === "TH" ? cell : h("td", { class: numeric.includes(place) ? "figure" : null }, cell))))))));
}
