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

let session = null;  // {who, role, csrf}
export const whoAmI = () => session;
export const mayChange = () => session?.role === "operator";

// A page that asks by itself, with nobody before it, does not keep a session alive.
let touched = Date.now();
for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => { touched = Date.now(); }, true);
const kAttended = 60_000;

/** One request. @return {status, text, json} @throws Refusal, Unreachable */
export async function ask(method, path, { body = undefined, headers = {}, signal = undefined } = {}) {
  const all = { ...headers };
  if (Date.now() - touched > kAttended) all["X-Undertone-Unattended"] = "1";
  if (method !== "GET" && session) all["X-Undertone-Csrf"] = session.csrf;
  let answer;
  let text;
  try {
    answer = await fetch(path, { method, headers: all, body, signal, credentials: "same-origin", cache: "no-store" });
    text = await answer.text();
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Unreachable("The service does not answer.");
  }
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {
    read = null;
  }
  if (!answer.ok) throw new Refusal(answer.status, read?.error);
  return { status: answer.status, text, json: read };
}

export async function look(path, options = {}) {
  return (await ask("GET", `/api/v1/${path}`, options)).json;
}
export async function change(path, body = "", options = {}) {
  return (await ask("POST", `/api/v1/${path}`, { body, ...options })).json;
}
export const text = async (path) => (await ask("GET", `/api/v1/${path}`)).text;

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
  await ask("POST", "/api/v1/session", { headers: { Authorization: `Bearer ${token}` } });
  return findSession();
}
/** Ends the session, whoever it is of. */
export async function endSession() {
  await ask("DELETE", "/api/v1/session");
  session = null;
}
