// The coordinator's API, docs/api.md, as this page uses it.

export class Refusal extends Error {
  constructor(status, error) {
    super(error?.message || `the coordinator answered ${status}`);
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

async function ask(method, path, { body = undefined, headers = {}, signal = undefined } = {}) {
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
    throw new Unreachable("The coordinator does not answer.");
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
export async function endSession() {
  await ask("DELETE", "/api/v1/session");
  session = null;
}

/** Has a job planned, to be run or to be shown, and waits as long as that takes.
 * @param waiting is told how many jobs came before */
export async function planned(path, job, { waiting = () => {}, signal = undefined } = {}) {
  let answer = await ask("POST", `/api/v1/${path}`,
    { body: job, headers: { "Content-Type": "application/json" }, signal });
  while (answer.status === 202) {
    waiting(answer.json.before);
    const id = answer.json.planning;
    if (signal) signal.addEventListener("abort", () => change(`planning/${id}/cancel`).catch(() => {}), { once: true });
    answer = await ask("GET", `/api/v1/planning/${id}`, { signal });
  }
  return answer.json;
}
