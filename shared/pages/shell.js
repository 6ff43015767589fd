// The frame of a page: tabs, views by address, who is logged in, and what went wrong.

import { h, show } from "./dom.js";
import { connect, disconnect, follow } from "./live.js";
import { endSession, findSession, Refusal, Unreachable, whoAmI } from "./session.js";

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const said = document.getElementById("said");
let shown = 0;  // views, so that a slow one does not come over a newer
let leave = null;

/** @param of "refresh": it goes by itself when a refresh succeeds */
export function tell(problem, of = "") {
  said.textContent = problem ? problem.message || String(problem) : "";
  said.dataset.of = of;
}

/** A button that is out of use while what it does is under way, and that tells what goes wrong.
 * @param what may be asynchronous */
export function action(label, what, kind = "") {
  return h(`button${kind}`, { type: "button", "data-key": label, onclick: async (event) => {
    event.target.disabled = true;
    try {
      await what();
    } catch (problem) {
      tell(problem);
    }
    event.target.disabled = false;
  } }, label);
}

/** @param routes [{path: RegExp, view: async (place, words, query) => refresh or null, tab}], the first that fits counts;
 * `refresh.leave`, where it is, is called when the view goes
 * @param logIn (place, done) shows in `place` how to log in, and calls `done` once somebody is */
export function shell(routes, logIn) {
  const nobody = () => {
    ++shown;
    disconnect();
    follow(null);
    if (leave) leave();
    leave = null;
    nav.hidden = true;
    document.getElementById("leave").hidden = true;
    document.getElementById("who").textContent = "";
    logIn(main, async () => {
      tell(null);
      await start();
    });
  };
  const gone = (problem) => problem instanceof Refusal && problem.status === 401;

  async function route() {
    const number = ++shown;
    if (!whoAmI()) return;
    const [path, words = ""] = location.hash.slice(1).split("?");
    const found = routes.find((one) => one.path.test(path || "/"));
    tell(null);
    follow(null);
    if (leave) leave();
    leave = null;
    for (const link of nav.children) {
      if (found && link.getAttribute("href") === `#/${found.tab}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (!found) {
      show(main, h("h1", {}, "There is no such page"));
      return;
    }
    try {
      const place = h("div", {});
      const refresh = await found.view(place, found.path.exec(path || "/").slice(1), new URLSearchParams(words));
      if (number !== shown) {
        refresh?.leave?.();
        return;
      }
      show(main, place);
      document.title = `${place.querySelector("h1")?.textContent || "Undertone"} - Undertone`;
      if (!refresh) return;
      leave = refresh.leave || null;
      const first = { problem: null, over: false };
      await follow(async () => {
        try {
          await refresh();
          if (said.dataset.of === "refresh") tell(null);
        } catch (problem) {
          if (number !== shown) return;
          if (gone(problem)) nobody();
          else if (!first.over) first.problem = problem;
          else if (!(problem instanceof Unreachable)) tell(problem, "refresh");  // the sign says that there is no answer
        }
        first.over = true;
      })();
      if (first.problem && number === shown) throw first.problem;
    } catch (problem) {
      if (number !== shown) return;
      if (gone(problem)) nobody();
      else show(main, h("h1", {}, "This cannot be shown"), h("p.alarm", {}, problem.message));
    }
  }

  async function start() {
    const session = await findSession();
    if (!session) {
      nobody();
      return;
    }
    nav.hidden = false;
    document.getElementById("who").textContent = session.role === "viewer" ? `${session.who}, who looks` : session.who;
    document.getElementById("leave").hidden = !session.ends;  // a certificate is the browser's
    await route();
    connect(nobody);
  }

  document.getElementById("leave").addEventListener("click", async () => {
    await endSession().catch(tell);
    nobody();
  });
  addEventListener("hashchange", async () => {
    await route();
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  start().catch((problem) => show(main, h("h1", {}, "The service does not answer"), h("p.alarm", {}, problem.message)));
}
