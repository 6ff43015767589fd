import { h, show } from "/pages/dom.js";
import { beginSession } from "/pages/session.js";
import { shell, tell } from "/pages/shell.js";
import * as consortium from "./consortium.js";
import * as run from "./run.js";
import * as runs from "./runs.js";
import * as submit from "./submit.js";

function logIn(place, done) {
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, size: 40 });
  show(place, h("h1", {}, "Log in"),
    h("p", {}, "This is the console of a consortium's coordinator. Whoever has an operator's or a viewer's certificate in " +
      "the browser is let in by it. Others type a token, once; the session ends after an hour without use."),
    h("form", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        await beginSession(token.value);
        await done();
      } catch (refusal) {
        tell(refusal.status === 401 ? "This is not a token of this coordinator." : refusal);
      }
      token.value = "";
    } }, h("div.row", {}, h("label", {}, "Token", token), h("button.main", { type: "submit" }, "Log in"))));
  token.focus();
}

shell([
  { path: /^\/runs\/([\w.~-]+)$/, view: run.view, tab: "runs" },
  { path: /^\/compare\/([\w.~/-]+)$/, view: (place, [ids]) => run.compare(place, ids.split("/")), tab: "runs" },
  { path: /^\/consortium$/, view: consortium.view, tab: "consortium" },
  { path: /^\/submit$/, view: submit.view, tab: "submit" },
  { path: /^\/(?:runs)?$/, view: runs.view, tab: "runs" },
], logIn);
