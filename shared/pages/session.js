// What a page asks its service, and who the page is for.

export class Refusal extends Error {
  constructor(status, error) {
    super(error?.message || `the service answered ${status}`);
    this.status = status;
    this.code = error?.code || "";
    this.candidates = error?.candidates || [];
  }
}
/** No answer came. */
export class Unreachable extends Error {}

const kSecret = "undertone.csrf";  // kept for this origin: a cookie goes to every service of the host
const kPatience = 120_000;
let session = null;  // {who, role, csrf, ends}
export const whoAmI = () => session;
export const mayChange = () => session?.role === "operator";

// A page that asks by itself, with nobody before it, does not keep a session alive.
let touched = Date.now();
for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => { touched = Date.now(); }, true);
const kAttended = 60_000;

function headersWith(more) {
  const all = { ...more };
  const secret = session?.csrf || localStorage.getItem(kSecret);
  if (secret && !all.Authorization) all["X-Undertone-Csrf"] = secret;
  if (Date.now() - touched > kAttended) all["X-Undertone-Unattended"] = "1";
  return all;
}

async function answerOf(method, path, { body = undefined, headers = {}, signal = undefined } = {}) {
  try {
    return await fetch(path, { method, headers: headersWith(headers), body, signal, credentials: "same-origin",
      cache: "no-store" });
  } catch (problem) {
    if (signal?.aborted && signal.reason?.name !== "TimeoutError") throw problem;
    throw new Unreachable("The service does not answer.");
  }
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** One request. @return {status, text, json} @throws Refusal, Unreachable */
export async function ask(method, path, options = {}) {
  const patience = AbortSignal.timeout(kPatience);
  const signal = options.signal ? AbortSignal.any([options.signal, patience]) : patience;
  const answer = await answerOf(method, path, { ...options, signal });
  let text;
  try {
    text = await answer.text();
  } catch (problem) {
    if (options.signal?.aborted) throw problem;
    throw new Unreachable("The service does not answer.");
  }
  const json = readJson(text);
  if (!answer.ok) throw new Refusal(answer.status, json?.error);
  return { status: answer.status, text, json };
}

export async function look(path, options = {}) {
  return (await ask("GET", `/api/v1/${path}`, options)).json;
}
export async function change(path, body = "", options = {}) {
  return (await ask("POST", `/api/v1/${path}`, { body, ...options })).json;
}
export const text = async (path) => (await ask("GET", `/api/v1/${path}`)).text;

/** The bytes of an answer, as they are. */
export async function bytesOf(path) {
  const answer = await answerOf("GET", `/api/v1/${path}`);
  if (!answer.ok) throw new Refusal(answer.status, readJson(await answer.text())?.error);
  return answer.arrayBuffer();
}

/** A stream of server-sent events. @return what reads its text, piece by piece */
export async function eventStream(path, signal) {
  const answer = await answerOf("GET", `/api/v1/${path}`, { signal });
  if (!answer.ok) throw new Refusal(answer.status, readJson(await answer.text())?.error);
  return answer.body.pipeThrough(new TextDecoderStream()).getReader();
}

/** Saves an answer as a file. */
export async function save(path, name) {
  const answer = await answerOf("GET", `/api/v1/${path}`);
  if (!answer.ok) throw new Refusal(answer.status, readJson(await answer.text())?.error);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Who this page is for, by certificate or by a session that began before. @return null for nobody */
export async function findSession() {
  try {
    session = await look("session");
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status !== 401) throw refusal;
    session = null;
  }
  return session;
}
export async function beginSession(token) {
  const begun = (await ask("POST", "/api/v1/session", { headers: { Authorization: `Bearer ${token}` } })).json;
  localStorage.setItem(kSecret, begun.csrf);
  return findSession();
}
/** Ends the session, whoever it is of. */
export async function endSession() {
  try {
    await ask("DELETE", "/api/v1/session");
  } finally {
    localStorage.removeItem(kSecret);
    session = null;
  }
}
