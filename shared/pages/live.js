// Tells the view that stands when something changed: by the service's stream of events, and while that does not come by
// asking every few seconds. A page that nobody sees does neither.

import { eventStream, Refusal } from "./session.js";

const kPoll = 5000;
const kBetween = 1000;  // what a view is asked for at most once in
const kWaitMost = 30_000;
let view = null;
let running = null;  // ends the listening
let polling = null;
const sign = () => document.getElementById("live");
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** Has the view that stands refresh itself, now or as soon as it may again. @return a promise of its end */
export function refreshNow() {
  return view ? view() : Promise.resolve();
}

function poll(on) {
  if (on && !polling) polling = setInterval(() => { if (!document.hidden) refreshNow(); }, kPoll);
  if (!on && polling) {
    clearInterval(polling);
    polling = null;
  }
}

async function seen() {
  while (document.hidden) {
    await new Promise((done) => { document.addEventListener("visibilitychange", done, { once: true }); });
  }
}

/** Reads one stream to its end, or until nobody sees the page. */
async function listen(signal) {
  const own = new AbortController();
  const stop = () => own.abort();
  const hidden = () => { if (document.hidden) own.abort(); };
  signal.addEventListener("abort", stop, { once: true });
  document.addEventListener("visibilitychange", hidden);
  try {
    const reader = await eventStream("events", own.signal);
    poll(false);
    sign().textContent = "live";
    refreshNow();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return true;
      if (value.includes("data:")) refreshNow();
    }
  } catch (problem) {
    if (own.signal.aborted) return true;
    throw problem;
  } finally {
    signal.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", hidden);
    own.abort();
  }
}

/** @param lost is called when nobody is logged in any more */
export async function connect(lost) {
  disconnect();
  const own = new AbortController();
  running = own;
  let wait = kBetween;
  while (!own.signal.aborted) {
    await seen();
    if (own.signal.aborted) return;
    try {
      if (await listen(own.signal)) wait = kBetween;
    } catch (problem) {
      if (problem instanceof Refusal && problem.status === 401) {
        lost();
        return;
      }
      sign().textContent = problem instanceof Refusal ? "asks every few seconds" : "not connected, asks again";
      wait = Math.min(2 * wait, kWaitMost);
    }
    if (own.signal.aborted) return;
    if (!document.hidden && sign().textContent === "live") sign().textContent = "not connected, asks again";
    poll(true);
    await pause(wait);
  }
}

export function disconnect() {
  if (running) running.abort();
  running = null;
  poll(false);
  sign().textContent = "";
}

/** The view that stands from now on. Its calls never overlap, changes that come meanwhile make one more, and between two
 * there is a second. @param refresh null: none @return asks it, as `refreshNow` does */
export function follow(refresh) {
  if (!refresh) {
    view = null;
    return () => Promise.resolve();
  }
  let under = null;
  let again = false;
  let last = -kBetween;
  const guarded = () => {
    if (under) {
      again = true;
      return under;
    }
    under = (async () => {
      do {
        again = false;
        const early = last + kBetween - performance.now();
        if (early > 0) await pause(early);
        if (view !== guarded) break;
        last = performance.now();
        await refresh();
      } while (again && view === guarded);
      under = null;
    })();
    return under;
  };
  view = guarded;
  return guarded;
}
