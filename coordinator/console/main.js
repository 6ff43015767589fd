import { beginSession, endSession, findSession, Refusal, Unreachable, whoAmI } from "./api.js";
import * as consortium from "./consortium.js";
import { h, show } from "./dom.js";
import { connect, disconnect, follow } from "./live.js";
import * as run from "./run.js";
import * as runs from "./runs.js";
import * as submit from "./submit.js";

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const said = document.getElementById("said");
let shown = 0;  // views, so that a slow one does not come over a newer
let leave = null;

const routes = [
  { path: /^\/runs\/([\w.~-]+)$/, view: run.view, tab: "runs" },
  { path: /^\/compare\/([\w.~/-]+)$/, view: (place, [ids]) => run.compare(place, ids.split("/")), tab: "runs" },
  { path: /^\/consortium$/, view: consortium.view, tab: "consortium" },
  { path: /^\/submit$/, view: submit.view, tab: "submit" },
  { path: /^\/(?:runs)?$/, view: runs.view, tab: "runs" },
];

function tell(problem) {
  said.textContent = problem ? problem.message || String(problem) : "";
}

function askForToken() {
  disconnect();
  follow(null);
  nav.hidden = true;
  document.getElementById("leave").hidden = true;
  document.getElementById("who").textContent = "";
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, size: 40 });
  show(main, h("h1", {}, "Log in"),
    h("p", {}, "This is the console of a consortium's coordinator. Whoever has an operator's or a viewer's certificate in " +
      "the browser is let in by it. Others type a token, once; the session ends after an hour without use."),
    h("form", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        await beginSession(token.value);
        tell(null);
        await start();
      } catch (refusal) {
        tell(refusal.status === 401 ? "This is not a token of this coordinator." : refusal);
      }
      token.value = "";
    } }, h("div.row", {}, h("label", {}, "Token", token), h("button.main", { type: "submit" }, "Log in"))));
  token.focus();
}

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
    const current = found && link.getAttribute("href") === `#/${found.tab}`;
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!found) {
    show(main, h("h1", {}, "There is no such page"));
    return;
  }
  try {
    const place = h("div", {});
    const refresh = await found.view(place, found.path.exec(path || "/").slice(1), new URLSearchParams(words));
    if (number !== shown) return;
    show(main, place);
    document.title = `${place.querySelector("h1")?.textContent || "Undertone"} - Undertone`;
    if (refresh) {
      leave = refresh.leave || null;
      follow(async () => {
        try {
          await refresh();
          tell(null);
        } catch (problem) {
          if (problem instanceof Refusal && problem.status === 401) askForToken();
          else if (!(problem instanceof Unreachable)) tell(problem);  // the sign says that there is no answer
        }
      });
      await refresh();
    }
  } catch (problem) {
    if (number !== shown) return;
    if (problem instanceof Refusal && problem.status === 401) askForToken();
    else show(main, h("h1", {}, "This cannot be shown"), h("p.alarm", {}, problem.message));
  }
}

async function start() {
  const session = await findSession();
  if (!session) {
    askForToken();
    return;
  }
  nav.hidden = false;
  document.getElementById("who").textContent = `${session.who} (${session.role})`;
  document.getElementById("leave").hidden = session.who.startsWith("the ");  // a certificate is the browser's
  await route();
  connect(async () => {
    // The coordinator may be away, or the session may have ended: only the second is a reason to ask for a token.
    if (await findSession().catch(() => whoAmI()) === null) askForToken();
  });
}

document.getElementById("leave").addEventListener("click", async () => {
  await endSession().catch(tell);
  askForToken();
});
addEventListener("hashchange", async () => {
  await route();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
start().catch((problem) => show(main, h("h1", {}, "The coordinator does not answer"), h("p.alarm", {}, problem.message)));
