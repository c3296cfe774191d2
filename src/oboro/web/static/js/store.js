// What the page knows: the state, and the one answer that all panels are drawn from; both with the state's version.
import { ask, isCancelled } from "./net.js";
import { percent, number } from "./words.js";

export const store = { state: { version: 0, table: null, can: {} }, answer: null, error: null };
const listeners = new Set();
export const onChange = (listener) => { listeners.add(listener); return () => listeners.delete(listener); };
// Another state or answer.
export const onState = (listener) => onChange((what) => { if (what === "state" || what === "answer") listener(); });
const told = (what) => listeners.forEach((listener) => listener(what));

export function accept(found) {
  if (found.state) {
    if (found.state.version < store.state.version) return told("state");
    store.state = found.state;
  }
  if (found.answer && found.answer.version === store.state.version) { store.answer = found.answer; store.error = null; }
  told(found.answer ? "answer" : "state");
}

// What is lost: most losses are shares, others are sums, bits or money.
const SHARES = ["loss", "precision", "entropy", "arx", "classification"];
export const lost = (value, digits = 1) => (value === null || value === undefined ? "–" : SHARES.includes(store.state.demands?.loss || "loss") ? percent(value, digits) : number(value, 4));

export const answerNow = () => (store.answer && store.answer.version === store.state.version ? store.answer : null);

// Acts that change the state.
export async function act(name, body) {
  const found = await ask(name, body, { hear: (line) => line.state && accept(line) });
  accept(found);
  return found;
}

// Moves of sliders: the newest wins, on both sides.
let moving = null, move = 0;
export async function moveDemands(demands, control) {
  moving?.abort();
  const mine = moving = new AbortController();
  const number = move = Math.max(move + 1, Date.now());
  told("waiting");
  try {
    const found = await ask("demands", { demands, control, move: number }, { signal: mine.signal });
    if (mine === moving) { moving = store.error = null; accept(found); }
  } catch (error) {
    if (mine !== moving) return;
    moving = null;
    if (isCancelled(error)) { accept({ state: await ask("state") }); return; }
    store.error = error.message;
    told("answer");
  }
}
export const isMoving = () => moving !== null;

// The answer to the current state, asked for once.
let asked = 0;
export async function wantAnswer() {
  if (!store.state.table || moving || store.error || answerNow() || asked === store.state.version) return;
  asked = store.state.version;
  told("waiting");
  try {
    accept(await ask("answer", { version: asked }));
  } catch (error) {
    if (!isCancelled(error) && !moving && !answerNow()) { store.error = error.message; told("answer"); }
  } finally {
    asked = 0;
    told("done");
  }
}
