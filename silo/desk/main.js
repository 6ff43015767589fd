import { h, show } from "/pages/dom.js";
import { beginSession } from "/pages/session.js";
import { shell, tell } from "/pages/shell.js";
import * as budget from "./budget.js";
import * as data from "./data.js";
import * as ledger from "./ledger.js";
import * as offers from "./offers.js";

/** The address that the command printed holds a token, good for one browser. It leaves the address at once. */
async function logIn(place, done) {
  const token = /^#token=([0-9a-f]+)$/.exec(location.hash)?.[1];
  show(place, h("h1", {}, "The desk is closed"),
    h("p", {}, "Run ", h("code", {}, "undertone-silo desk"), " on this machine, and open the address that it prints. It is " +
      "good for one browser; the desk closes after an hour without use."));
  if (!token) return;
  history.replaceState(null, "", "#/offers");
  try {
    await beginSession(token);
    await done();
  } catch (refusal) {
    tell(refusal.status === 401 ? "This address was used before, or is of an older desk: run the command again." : refusal);
  }
}

shell([
  { path: /^\/offers\/([0-9a-f]{96})$/, view: offers.one, tab: "offers" },
  { path: /^\/budget$/, view: budget.view, tab: "budget" },
  { path: /^\/data$/, view: data.view, tab: "data" },
  { path: /^\/ledger$/, view: ledger.view, tab: "ledger" },
  { path: /^\/policy$/, view: ledger.policy, tab: "policy" },
  { path: /^\/(?:offers)?$/, view: offers.view, tab: "offers" },
], logIn);
