// The admin API. Its address is relative, so that a proxy may serve it below any path.

import { t } from "./i18n.js";
import { kept } from "./storage.js";

const base = new URL("../admin/v1/", document.baseURI);

// How long to wait, in milliseconds: a change may wait for a model.
const readTimeout = 60_000;
const changeTimeout = 600_000;

// ApiError is the API's error document; status 0 means that there was no answer.
export class ApiError extends Error {
  constructor(status, { code, message, requestId = "" }) {
    super(message);
    Object.assign(this, { status, code, requestId });
  }
}

// The token lives as long as the browser's tab.
export const token = kept("sessionStorage", "chatkeep.token");

let refused = () => {};

// onRefused says what happens when the API does not let us in (any more).
export function onRefused(act) {
  refused = act;
}

export const get = (path, options) => json("GET", path, options);
export const post = (path, options) => json("POST", path, options);
export const put = (path, options) => json("PUT", path, options);
export const patch = (path, options) => json("PATCH", path, options);
export const remove = (path, options) => json("DELETE", path, options);

// ofSession is the API below one session. Its key goes into the query, where no proxy
// decodes it.
export function ofSession(key) {
  const below = (call) => (path, options = {}) =>
    call(path ? `sessions/-/${path}` : "sessions/-", { ...options, query: { ...options.query, key } });
  return { get: below(get), post: below(post), put: below(put), patch: below(patch), remove: below(remove), fetch: below((path, options) => call("GET", path, options)) };
}

// json asks, and reads the answer; parse reads JSON otherwise than the browser does.
async function json(method, path, options) {
  const response = await call(method, path, options);
  if (response.status === 204) return null;
  const type = response.headers.get("Content-Type") ?? "";
  const text = await whole(() => response.text());
  if (!type.startsWith("application/json")) return text;
  return whole(() => (options?.parse ?? JSON.parse)(text));
}

// call returns the response; every other than success is thrown as an [ApiError]. With
// endless it may take for ever.
export async function call(method, path, { query = {}, body, text, headers: more = {}, signal, endless = false } = {}) {
  if (path.split("/").some((step) => step === "." || step === "..")) { // which a browser takes for another address
    throw new ApiError(0, { code: "invalid_request", message: t("A browser cannot ask for what is called . or .. alone; use another client of the admin API.") });
  }
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== "" && value !== null && value !== undefined) url.searchParams.set(name, value);
  }
  const headers = { ...more };
  const sent = token.get();
  if (sent) headers.Authorization = `Bearer ${sent}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (text !== undefined) headers["Content-Type"] = "text/plain; charset=utf-8";
  const ends = [signal, !endless && AbortSignal.timeout(method === "GET" ? readTimeout : changeTimeout)].filter(Boolean);
  const response = await whole(() =>
    fetch(url, { method, headers, body: body === undefined ? text : JSON.stringify(body), signal: AbortSignal.any(ends), cache: "no-store", credentials: "omit" }),
  );
  if (response.ok) return response;
  const error = await problem(response);
  if (response.status === 401 && sent === token.get()) refused(error); // not of somebody who has logged in again since
  throw error;
}

async function problem(response) {
  const requestId = response.headers.get("X-Request-Id") ?? "";
  try {
    return new ApiError(response.status, (await response.json()).error);
  } catch {
    return new ApiError(response.status, { code: `HTTP ${response.status}`, message: response.statusText || t("The answer cannot be read."), requestId });
  }
}

// whole turns what goes wrong on the way into an [ApiError]; being told to stop stays what it is.
async function whole(read) {
  try {
    return await read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const message = error.name === "TimeoutError" ? t("The gateway took too long to answer.") : t("The gateway cannot be reached.");
    throw new ApiError(0, { code: "unreachable", message });
  }
}

// operations reads what anybody may: health and readiness.
export async function operations(name, signal) {
  const response = await whole(() => fetch(new URL(`../../${name}`, base), { signal, cache: "no-store" }));
  return whole(() => response.json());
}
