// Columns: what could others know?
import { h, clear, redraw, segments, choice, quiet, facts } from "../dom.js";
import { t, count, percent, listed } from "../words.js";
import { store, onState, act } from "../store.js";
import { work, failed, announce } from "../frame.js";
import { shareBar } from "../charts.js";

const ROLES = ["identifier", "quasi", "sensitive", "other"];

export function columnsScreen(body) {
  const wrong = h("div"), top = h("div"), list = h("div.columns");
  clear(body, wrong, top, list);
  let shown = null, mine = 0;

  async function change(name, given) {
    clear(wrong);
    try { await act(name, given); announce(t("columns.changed")); } catch (error) { failed(error, wrong); load(); }
  }

  async function load() {
    const number = mine += 1;
    try {
      const found = await work("columns", { version: store.state.version });
      if (number === mine) { shown = found; draw(); }
    } catch (error) { if (number === mine) failed(error, wrong); }
  }

  function drawTop() {
    const open = store.state.unconfirmed.length;
    const person = choice("person", [["", t("columns.row_each")], ...shown.columns.map((one) => [one.name, one.name])], shown.person || "", (column) => change("person", { column }));
    redraw(top, h("section.card", { version: shown.version },
      h("p.big-said", t("columns.unique", { people: count(shown.unique), of: count(shown.people), share: percent(shown.people ? shown.unique / shown.people : 0) })),
      shareBar(shown.people ? shown.unique / shown.people : 0, t("columns.unique_bar")),
      h("div.row.spread",
        h("div.field", h("label", { for: "person" }, t("columns.person")), person),
        open ? h("div.row", h("p.note", t("columns.unconfirmed", { count: count(open) })),
          h("button.main", { key: "confirm-all", onclick: () => change("confirm", {}) }, t("columns.confirm_all")))
          : h("p.good", "✓ ", t("columns.all_confirmed")))));
  }

  function columnCard(one) {
    const name = `role-${one.name}`;
    const confirmed = !store.state.unconfirmed.includes(one.name);
    const alone = shown.people ? one.unique_alone / shown.people : 0;
    return h("section", { class: `card column role-${one.role}`, "aria-label": one.name },
      h("div.column-head", h("h2", one.name), confirmed ? h("span.good", "✓ ", t("columns.confirmed"))
        : h("button.small", { key: `confirm-${one.name}`, onclick: () => change("confirm", { columns: [one.name] }) }, t("columns.confirm"))),
      segments(name, t("columns.role_of", { column: one.name }), ROLES.map((role) => [role, t(`role.${role}`)]), one.role, (role) => change("role", { column: one.name, role }), { unseen: true, barred: (role) => one.name === shown.person && role !== "identifier" }),
      h("p.quiet.why", one.role === one.proposed ? listed(one.why) : t("columns.proposed", { role: t(`role.${one.proposed}`), why: listed(one.why) })),
      facts([[t("columns.distinct"), count(one.distinct)], [t("columns.missing"), count(one.missing)], [t("columns.alone"), count(one.unique_alone)],
        one.unique_with !== null && [t("columns.with"), count(one.unique_with)], one.unique_without !== null && [t("columns.without"), count(one.unique_without)]]),
      shareBar(alone, t("columns.alone_bar", { column: one.name })),
      one.worst_pairs.length ? quiet(t("columns.pairs"), " ", one.worst_pairs.slice(0, 3).map((pair) => h("span.pair", `${pair.columns.join(" + ")}: ${count(pair.people)}`))) : null);
  }

  function draw() {
    drawTop();
    redraw(list, shown.columns.map(columnCard));
  }

  load();
  return onState(load);
}
