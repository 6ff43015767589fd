import { ask, change } from "/pages/session.js";

/** This page's own name, by which its newer plan takes the place of an older one that is not made yet. */
const kPage = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Has a job planned, and waits as long as that takes.
 * @param path "jobs", to be run, or "plans", to be shown @param job bytes or a text
 * @param waiting is told how many jobs came before @param signal gives it up */
export async function planned(path, job, { waiting = () => {}, signal = undefined } = {}) {
  const target = path === "plans" ? `/api/v1/plans?page=${kPage}` : `/api/v1/${path}`;
  let answer = await ask("POST", target, { body: job, headers: { "Content-Type": "application/json" }, signal });
  let id = null;
  while (answer.status === 202) {
    waiting(answer.json.before);
    if (!id && signal) signal.addEventListener("abort", () => change(`planning/${id}/cancel`).catch(() => {}), { once: true });
    id = answer.json.planning;
    answer = await ask("GET", `/api/v1/planning/${id}`, { signal });
  }
  return answer.json;
}
