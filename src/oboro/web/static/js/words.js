// The words of the page, in the reader's language; figures as that language writes them.
const KEY = "oboro-lang";
let words = {}, lang = "en";

export const language = () => lang;

export function preferred() {
  const held = localStorage.getItem(KEY);
  if (held === "en" || held === "ja") return held;
  return (navigator.languages || [navigator.language]).some((one) => one.startsWith("ja")) ? "ja" : "en";
}

export async function speak(wanted) {
  const response = await fetch(`/words/${wanted}.json`, { cache: "no-store", credentials: "omit" });
  words = await response.json();
  lang = wanted;
  localStorage.setItem(KEY, wanted);
  document.documentElement.lang = wanted;
}

export function t(id, values = {}) {
  const text = words[id];
  if (text === undefined) return id;
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

export const count = (value) => new Intl.NumberFormat(lang).format(value);
export function percent(share, digits) {
  if (share === null || share === undefined) return "–";
  const places = digits ?? (share !== 0 && Math.abs(share) < 0.1 ? 1 : 0);
  return `${new Intl.NumberFormat(lang, { maximumFractionDigits: places }).format(100 * share)} %`;
}
export const number = (value, digits = 4) => new Intl.NumberFormat(lang, { maximumSignificantDigits: digits }).format(value);
export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) { value /= 1000; place += 1; }
  return `${new Intl.NumberFormat(lang, { maximumFractionDigits: place ? 1 : 0 }).format(value)} ${units[place]}`;
}
export const listed = (items) => items.join(lang === "ja" ? "、" : ", ");
