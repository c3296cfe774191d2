// Questions to the server: JSON in, JSON lines out. The token stands behind # in the address; it is sent as a header.
import { language } from "./words.js";

const KEY = "oboro-token";

export function takeToken() {
  const found = /^#token=([\w-]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname + "#/open");
  }
  return sessionStorage.getItem(KEY);
}

export class Failed extends Error {
  constructor(kind, text) { super(text); this.kind = kind; }
}
export const isCancelled = (error) => error.name === "AbortError" || error.kind === "cancelled";

const headers = () => ({ "x-oboro-token": sessionStorage.getItem(KEY) || "", "x-oboro-lang": language() });

export async function ask(name, body = {}, { signal, hear } = {}) {
  const response = await fetch(`/api/ask/${name}`, {
    method: "POST", signal, cache: "no-store", credentials: "omit",
    headers: { ...headers(), "content-type": "application/json" }, body: JSON.stringify(body),
  });
  if (response.status === 401) throw new Failed("token", "");
  if (!response.ok && response.status !== 413) throw new Failed("server", `${response.status}`);
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += decoder.decode(value || new Uint8Array(), { stream: !done });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean).map((one) => JSON.parse(one))) {
      if ("result" in line) return line.result;
      if ("error" in line) throw new Failed(line.error.kind, line.error.text);
      hear?.(line);
    }
    if (done) throw new Failed("server", "");
  }
}

// A file as it is; `XMLHttpRequest`, since fetch does not tell how much was sent.
export function send(file, { signal, hear } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", "/api/upload");
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.setRequestHeader("x-oboro-name", encodeURIComponent(file.name));
    request.upload.onprogress = (event) => hear?.({ done: event.loaded, total: event.total });
    request.onload = () => {
      let found = {};
      try { found = JSON.parse(request.responseText); } catch { /* refused */ }
      if (found.result) resolve(found.result);
      else reject(new Failed(found.error?.kind || "server", found.error?.text || String(request.status)));
    };
    request.onerror = () => reject(new Failed("server", ""));
    request.onabort = () => reject(new Failed("cancelled", ""));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

export function fetchTicket(ticket) {
  const link = document.createElement("a");
  link.href = `/taken/${ticket}`;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}
