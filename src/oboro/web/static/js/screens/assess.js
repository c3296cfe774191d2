// Assess: a released file alone, or beside its original.
import { h, clear, segments, choice, card, quiet } from "../dom.js";
import { fetchTicket } from "../net.js";
import { t, count } from "../words.js";
import { work, upload, failed, announce } from "../frame.js";
import { drawer } from "../drawer.js";
import { filePicker } from "../picker.js";

const ROLES = ["quasi", "sensitive", "other"];
let released = null, original = null, columns = {}, person = "", shown = null;

export function assessScreen(body) {
  const wrong = h("div"), files = h("div.two"), roles = h("div"), result = h("div");
  clear(body, wrong, files, roles, result);
  const tellDrawer = () => drawer.about(() => ({ yaml: shown?.yaml, command: shown?.command || "oboro assess released.csv", python: shown?.python || "import oboro\n\nprint(oboro.assess('released.csv').summary())\n" }));
  tellDrawer();

  function slot(key, label, said, held, set) {
    const input = h("input", { type: "file", id: `assess-${key}`, class: "unseen-input", onchange: async () => { try { await set(await upload(input.files[0])); } catch (error) { failed(error, wrong); } } });
    return card(h("h2", label), quiet(said), held ? h("p.good", "✓ ", held.name) : null,
      h("div.row", h("label", { for: `assess-${key}`, class: "button" }, t("open.choose")), input), filePicker(`assess-${key}-list`, (file) => set(file).catch((error) => failed(error, wrong))));
  }
  async function setReleased(file) {
    clear(wrong);
    released = file; shown = null;
    const found = await work("assessed", file);
    columns = found.columns;
    for (const [name, role] of Object.entries(columns)) if (role === "identifier") columns[name] = "other";
    draw();
    roles.querySelector("button")?.focus();
  }

  function drawRoles() {
    clear(roles, released ? card(h("h2", t("assess.roles")), quiet(t("assess.roles_said")),
      h("div.role-list", Object.entries(columns).map(([name, role]) => segments(`assess-${name}`, name, ROLES.map((one) => [one, t(`role.${one}`)]), role, (one) => { columns[name] = one; }))),
      h("div.fields", h("div", h("label", { for: "assess-person" }, t("columns.person")), choice("assess-person", [["", t("columns.row_each")], ...Object.keys(columns).map((name) => [name, name])], person, (name) => { person = name; }))),
      h("button.main", { onclick: measure }, t(original ? "assess.compare" : "assess.measure"))) : null);
  }

  async function measure() {
    clear(wrong);
    const named = (role) => Object.keys(columns).filter((name) => columns[name] === role && name !== person);
    try {
      shown = await work("assess", { released, original, quasi: named("quasi"), sensitive: named("sensitive"), person });
      drawResult();
      tellDrawer();
      announce(t("report.ready"));
    } catch (error) { failed(error, wrong); }
  }
  function drawResult() {
    clear(result, shown ? h("section.card.report-card", h("div.row.spread", h("h2", shown.k === null ? t("assess.compared", { name: shown.name }) : t("assess.found", { name: shown.name, k: count(shown.k) })), h("button", { onclick: (event) => { fetchTicket(shown.download); event.target.disabled = true; } }, t("report.fetch"))),
      shown.refused === true ? h("p.note", t("report.refused")) : null,
      h("dl.lines", shown.lines.filter(([, said]) => said).map(([label, said]) => h("div", label ? h("dt", label) : null, h("dd", said)))),
      shown.ticket ? h("iframe", { src: `/taken/${shown.ticket}`, title: t("report.title"), class: "report", sandbox: "" }) : null) : null);
    if (shown) shown = { ...shown, ticket: null };
  }

  function draw() {
    clear(files, slot("released", t("assess.released"), t("assess.released_said"), released, setReleased), slot("original", t("assess.original"), t("assess.original_said"), original, async (file) => { original = file; draw(); }));
    drawRoles();
    drawResult();
  }
  draw();
}
