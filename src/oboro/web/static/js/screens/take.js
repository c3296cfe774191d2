// Take away: the release after its verification, and everything that makes it again.
import { h, clear, segments, quiet, check } from "../dom.js";
import { ask, fetchTicket } from "../net.js";
import { t, count, bytes } from "../words.js";
import { store, onState, answerNow, wantAnswer, act } from "../store.js";
import { work, failed, announce } from "../frame.js";
import { drawer } from "../drawer.js";

const FORMATS = [".csv", ".parquet", ".xlsx"];
const FILES = ["recipe", "command", "script", "notebook", "ci"];
let format = ".csv", seed = "";

export function takeScreen(body) {
  const open = h("div"), release = h("section.card"), result = h("div"), files = h("section.card");
  clear(body, open, release, files);
  drawer.about(() => ({ seed }));

  function drawOpen() {
    const guesses = store.state.unconfirmed;
    clear(open, guesses.length ? h("section.card.refused", h("h2", t("take.guesses")), h("p", t("take.guesses_said", { columns: guesses.join(", ") })),
      h("div.row", h("a.button", { href: "#/columns" }, t("take.read_them")), h("button", { key: "confirm", onclick: () => act("confirm", {}).catch((error) => failed(error, open)) }, t("columns.confirm_all")))) : null);
  }

  function drawRelease() {
    const found = answerNow(), can = found?.best && !store.state.unconfirmed.length;
    clear(release, h("h2", t("take.release")), quiet(t("take.release_said")),
      found && !found.best ? h("div", h("p.wrong", t("take.cannot")), h("p", found.why), h("a", { href: "#/promise" }, t("screen.promise"))) : [
        h("div.fields",
          segments("format", t("take.format"), FORMATS.map((one) => [one, t(`take.format_${one.slice(1)}`)]), format, (one) => { format = one; clear(result); }),
          check("seeded", t("take.seeded"), seed !== "", (on) => { seed = on ? drawn() : ""; clear(result); drawer.about(() => ({ seed })); }),
          quiet(t("take.seeded_said"))),
        h("button.main", { key: "release", disabled: !can, onclick: make }, t("take.make")), result]);
  }

  // A seed of 128 bits, which nobody finds by trying.
  const drawn = () => [...crypto.getRandomValues(new Uint32Array(4))].reduce((all, one) => all * 4294967296n + BigInt(one), 0n).toString();

  async function make() {
    clear(result);
    try {
      const found = await work("release", { version: store.state.version, format, seed });
      const fetch = h("button.main", { key: "fetch", onclick: (event) => { fetchTicket(found.ticket); event.target.disabled = true; event.target.textContent = t("take.fetched"); } }, t("take.fetch", { name: found.name, size: bytes(found.bytes) }));
      clear(result, h("div.verified", { version: found.version }, h("p.good.big-said", "✓ ", t("take.holds")), h("ul", found.verified.map((one) => h("li", one))),
        found.notes.length ? h("ul.quiet", found.notes.map((one) => h("li", one))) : null, h("p", t("take.rows", { rows: count(found.rows) })), fetch));
      announce(t("take.holds"));
      fetch.focus();
    } catch (error) { failed(error, result); }
  }

  async function fetchFile(kind) {
    try { fetchTicket((await ask("offer", { version: store.state.version, kind, seed })).ticket); } catch (error) { failed(error, result); }
  }

  function drawFiles() {
    clear(files, h("h2", t("take.again")), quiet(t("take.again_said")),
      h("ul.tiles", FILES.map((one) => h("li", h("button.tile", { key: `file-${one}`, onclick: () => fetchFile(one) }, h("strong", t(`take.file_${one}`)), h("span.quiet", t(`take.file_${one}_said`)))))));
  }

  const draw = () => { drawOpen(); drawRelease(); drawFiles(); };
  draw();
  wantAnswer();
  return onState(() => { if (Number(result.firstChild?.dataset.version) !== store.state.version) clear(result); draw(); wantAnswer(); });
}
