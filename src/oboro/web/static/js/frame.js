// What every screen shares: announcements, long work with progress and a way to stop, failures, going elsewhere.
import { h, clear } from "./dom.js";
import { ask, send, isCancelled } from "./net.js";
import { t, percent } from "./words.js";

export const said = h("div.unseen", { role: "status", "aria-live": "polite" });
export const working = h("div.working", { hidden: true });

export function announce(text) { said.textContent = ""; setTimeout(() => { said.textContent = text; }, 30); }

// What a screen began need not be finished once it is left.
let scope = new AbortController();
export function leave() { scope.abort(); scope = new AbortController(); }

// Long work: what is being done, how far it is, and a way to stop it.
export async function work(name, body, { hear, stay = false } = {}) {
  const controller = new AbortController();
  if (!stay) scope.signal.addEventListener("abort", () => controller.abort());
  return during((tell) => ask(name, body, { signal: controller.signal, hear: (line) => { tell(line); hear?.(line); } }), controller);
}

let jobs = 0;
export async function during(job, controller = new AbortController()) {
  const label = h("span", t("working")), bar = h("progress", { "aria-label": t("working") });
  const stop = h("button.small", { onclick: () => controller.abort() }, t("cancel"));
  clear(working, label, bar, stop);
  working.hidden = false;
  const mine = working.dataset.busy = String(jobs += 1);
  try {
    return await job((line) => {
      if (line.stage) label.textContent = line.total ? `${line.stage} ${percent(line.done / line.total)}` : line.stage;
      if (line.total) { bar.max = line.total; bar.value = line.done; } else bar.removeAttribute("value");
    }, controller.signal);
  } finally {
    if (working.dataset.busy === mine) { working.hidden = true; delete working.dataset.busy; }
  }
}

// A file from the browser, with how much of it is sent.
export async function upload(file) {
  const controller = new AbortController();
  return during((tell) => send(file, { signal: controller.signal, hear: (line) => tell({ stage: t("open.sending"), ...line }) }), controller);
}

export function failed(error, where) {
  if (isCancelled(error)) { announce(t("cancelled")); return; }
  const text = error.kind === "token" ? t("no_token") : error.message || t("server_gone");
  if (where) clear(where, h("p.wrong", { role: "alert" }, text));
  announce(text);
}

// The same, but nothing is said of a question that was given up.
export const failedUnlessLeft = (error, where) => { if (!isCancelled(error)) failed(error, where); };

export const go = (screen) => { location.hash = `#/${screen}`; };
