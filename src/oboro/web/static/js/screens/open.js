// Open: drop a file, pick one on this machine, or play with made-up people.
import { h, clear, card, quiet } from "../dom.js";
import { ask } from "../net.js";
import { t, bytes, count } from "../words.js";
import { store, accept } from "../store.js";
import { work, upload, failed, go, announce } from "../frame.js";
import { dataTable } from "../tables.js";
import { filePicker } from "../picker.js";

let chosen = null, draw; // draws on the screen that is shown now

export function openScreen(body) {
  const wrong = h("div"), chosenBox = h("div"), peek = h("div");
  const input = h("input", { type: "file", id: "file", class: "unseen-input", accept: ".csv,.tsv,.txt,.gz,.zst,.parquet,.arrow,.feather,.xlsx,.xlsm,.xls,.ods,.ndjson,.jsonl", onchange: () => drop(input.files[0]) });
  const zone = h("div.zone", h("p.zone-title", t("open.drop")), h("label", { for: "file", class: "button" }, t("open.choose")), input,
    quiet(t("open.kinds")));
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); drop(event.dataTransfer.files[0]); });

  async function drop(file) {
    if (!file) return;
    clear(wrong);
    try {
      await choose(await upload(file));
    } catch (error) { failed(error, wrong); }
  }

  async function choose(file) {
    chosen = { ...file, sheets: (await ask("sheets", file)).sheets };
    draw();
    document.querySelector(".chosen button")?.focus();
  }

  draw = () => {
    if (!chosen) { clear(chosenBox); return; }
    const excel = /\.(xlsx|xlsm|xls|ods)$/i.test(chosen.name), text = /\.(csv|tsv|txt)(\.\w+)?$/i.test(chosen.name);
    const encoding = h("select", { id: "encoding" }, ["", "utf-8", "utf-8-sig", "cp932", "euc_jp", "cp1252", "latin-1", "utf-16"].map((one) => h("option", { value: one }, one || t("open.detected"))));
    const header = h("input", { type: "checkbox", id: "header", checked: true });
    const sheet = h("select", { id: "sheet" }, chosen.sheets.map((one) => h("option", { value: one }, one)));
    const row = h("input", { type: "number", id: "header-row", min: "1", placeholder: t("open.detected") });
    const read = async () => {
      clear(wrong);
      const how = { ...chosen, encoding: text ? encoding.value : "", sheet: excel && chosen.sheets.length > 1 ? sheet.value : "", header_row: excel ? row.value : "" };
      if (text && !header.checked) how.header = false;
      try { await opened(await work("open", how)); } catch (error) { failed(error, wrong); }
    };
    clear(chosenBox, h("section.card.chosen", h("h2", chosen.name, " ", h("span.quiet", bytes(chosen.bytes))),
      h("div.fields",
        text ? h("div", h("label", { for: "encoding" }, t("open.encoding")), encoding) : null,
        text ? h("div.check", header, h("label", { for: "header" }, t("open.header"))) : null,
        excel && chosen.sheets.length > 1 ? h("div", h("label", { for: "sheet" }, t("open.sheet")), sheet) : null,
        excel ? h("div", h("label", { for: "header-row" }, t("open.header_row")), row) : null),
      h("button.main", { onclick: read }, t("open.read"))));
  };

  async function opened(found) {
    chosen = null;
    accept(found);
    announce(t("open.opened", { name: store.state.table.name, rows: count(store.state.table.rows) }));
    go("columns");
  }

  async function sample(kind) {
    clear(wrong);
    try { await opened(await work("sample", { kind, rows: Number(rows.value) })); } catch (error) { failed(error, wrong); }
  }
  const rows = h("select", { id: "sample-rows" }, [1000, 20000, 100000].map((one) => h("option", { value: one, selected: one === 20000 }, count(one))));

  async function drawPeek() {
    if (!store.state.table) return;
    const { table } = store.state;
    const found = await ask("opened", { version: store.state.version });
    clear(peek, card(h("h2", t("open.now", { name: table.name })),
      table.notes.map((note) => h("p.note", note)),
      dataTable(t("open.first_rows"), found.columns, found.rows[found.columns[0]].map((_, row) => found.columns.map((name) => found.rows[name][row]))),
      h("p", h("a.button.main", { href: "#/columns" }, t("open.next")))));
  }

  clear(body, wrong, h("div.two",
    card(h("h2", t("open.from_browser")), zone),
    card(h("h2", t("open.from_machine")), quiet(t("open.large")), filePicker("files", (file) => choose(file).catch((error) => failed(error, wrong))))),
    chosenBox,
    card(h("h2", t("open.made_up")), quiet(t("open.made_up_said")),
      h("div.row", h("label", { for: "sample-rows" }, t("open.how_many")), rows,
        h("button", { onclick: () => sample("people"), key: "people" }, t("open.people")), h("button", { onclick: () => sample("purchases") }, t("open.purchases")))),
    peek);
  draw();
  if (sessionStorage.getItem("oboro-token")) { drawPeek().catch((error) => failed(error, peek)); }
}
