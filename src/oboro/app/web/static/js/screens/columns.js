// Columns: what could others know?
import { h, clear, redraw, segments, choice, quiet } from "../dom.js";
import { t, count, percent, listed } from "../words.js";
import { store, onChange, act } from "../store.js";
import { work, failed, announce } from "../frame.js";
import { shareBar } from "../charts.js";

const ROLES = ["identifier", "quasi", "sensitive", "other"];

export function columnsScreen(body) {
  const wrong = h("div", {}), top = h("div", {}), list = h("div", { class: "columns" });
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
    redraw(top, h("section", { class: "card", "data-version": shown.version },
      h("p", { class: "big-said" }, t("columns.unique", { people: count(shown.unique), of: count(shown.people), share: percent(shown.people ? shown.unique / shown.people : 0) })),
      shareBar(shown.people ? shown.unique / shown.people : 0, t("columns.unique_bar")),
      h("div", { class: "row spread" },
        h("div", { class: "field" }, h("label", { for: "person" }, t("columns.person")), person),
        open ? h("div", { class: "row" }, h("p", { class: "note" }, t("columns.unconfirmed", { count: count(open) })),
          h("button", { class: "main", "data-key": "confirm-all", onclick: () => change("confirm", {}) }, t("columns.confirm_all")))
          : h("p", { class: "good" }, "✓ ", t("columns.all_confirmed")))));
  }

  function columnCard(one) {
    const name = `role-${one.name}`;
    const confirmed = !store.state.unconfirmed.includes(one.name);
    const alone = shown.people ? one.unique_alone / shown.people : 0;
    return h("section", { class: `card column role-${one.role}`, "aria-label": one.name },
      h("div", { class: "column-head" }, h("h2", {}, one.name), confirmed ? h("span", { class: "good" }, "✓ ", t("columns.confirmed"))
        : h("button", { class: "small", "data-key": `confirm-${one.name}`, onclick: () => change("confirm", { columns: [one.name] }) }, t("columns.confirm"))),
      segments(name, t("columns.role_of", { column: one.name }), ROLES.map((role) => [role, t(`role.${role}`)]), one.role, (role) => change("role", { column: one.name, role }), { unseen: true, barred: (role) => one.name === shown.person && role !== "identifier" }),
      h("p", { class: "quiet why" }, one.role === one.proposed ? listed(one.why) : t("columns.proposed", { role: t(`role.${one.proposed}`), why: listed(one.why) })),
      h("dl", { class: "facts" },
        h("div", {}, h("dt", {}, t("columns.distinct")), h("dd", {}, count(one.distinct))),
        h("div", {}, h("dt", {}, t("columns.missing")), h("dd", {}, count(one.missing))),
        h("div", {}, h("dt", {}, t("columns.alone")), h("dd", {}, count(one.unique_alone))),
        one.unique_with === null ? null : h("div", {}, h("dt", {}, t("columns.with")), h("dd", {}, count(one.unique_with))),
        one.unique_without === null ? null : h("div", {}, h("dt", {}, t("columns.without")), h("dd", {}, count(one.unique_without)))),
      shareBar(alone, t("columns.alone_bar", { column: one.name })),
      one.worst_pairs.length ? quiet(t("columns.pairs"), " ", one.worst_pairs.slice(0, 3).map((pair) => h("span", { class: "pair" }, `${pair.columns.join(" + ")}: ${count(pair.people)}`))) : null);
  }

  function draw() {
    drawTop();
    redraw(list, shown.columns.map(columnCard));
  }

  load();
  return onChange((what) => { if (what === "state" || what === "answer") load(); });
}
