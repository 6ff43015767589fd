import { ask, change } from "/pages/session.js";

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
