// Attack and report: the report inside the page, in both languages, for the owner and for the public.
import { h, clear, segments } from "../dom.js";
import { fetchTicket } from "../net.js";
import { t, language } from "../words.js";
import { store, onState, answerNow, wantAnswer } from "../store.js";
import { work, failed, announce } from "../frame.js";

let lang = null, version = "owner";

export function reportScreen(body) {
  const controls = h("section.card"), wrong = h("div"), shown = h("div");
  clear(body, controls, wrong, shown);
  let made = 0;

  function draw() {
    const found = answerNow(), can = found?.best && !store.state.unconfirmed.length;
    clear(controls, h("p", t("report.said")),
      store.state.unconfirmed.length ? h("p.note", t("columns.unconfirmed", { count: store.state.unconfirmed.length }), " ", h("a", { href: "#/columns" }, t("screen.columns"))) : null,
      found && !found.best ? h("p.wrong", t("take.cannot")) : null,
      h("div.fields", segments("report-lang", t("language"), [["en", "English"], ["ja", "日本語"]], lang || language(), (value) => { lang = value; if (made) make(); }),
        segments("report-version", t("report.version"), [["owner", t("report.owner")], ["public", t("report.public")]], version, (value) => { version = value; if (made) make(); })),
      h("button.main", { key: "attack", disabled: !can, onclick: make }, t("report.make")));
  }

  async function make() {
    clear(wrong);
    try {
      const found = await work("report", { version: store.state.version, lang: lang || language(), public: version === "public" });
      made = found.version;
      clear(shown, h("section.card.report-card", { version: found.version }, h("div.row.spread", h("p", { class: found.good ? "good" : "note" }, found.said),
        h("button", { onclick: (event) => { fetchTicket(found.download); event.target.disabled = true; } }, t("report.fetch"))),
        h("details", h("summary", t("report.summary")), h("pre", { tabindex: "0" }, found.summary)),
        h("iframe", { src: `/taken/${found.ticket}`, title: t("report.title"), class: "report", sandbox: "" })));
      announce(t("report.ready"));
    } catch (error) { failed(error, wrong); }
  }

  draw();
  wantAnswer();
  return onState(() => { if (store.state.version !== made) { clear(shown); made = 0; } draw(); wantAnswer(); });
}
