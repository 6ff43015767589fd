import { bytes, h, number, promised, show, state, table, time } from "/pages/dom.js";
import { refreshNow } from "/pages/live.js";
import { change, look, save } from "/pages/session.js";
import { action } from "/pages/shell.js";

/** Rounded up: it is said to be the most. */
const percent = (share) => `${Math.min(100, Math.ceil(1e4 * share) / 100)} %`;
const kReasonBytes = 512;
const units = { record: "record", person: "person", sensitive_attribute: "record's group" };

/** How the agent is, in a sentence. */
export function standing(desk) {
  const agent = desk.agent;
  if (!agent.runs) return h("p.alarm", {}, `Nothing is answered: ${agent.why_not}. Start it with undertone-silo run.`);
  if (desk.paused) return h("p.alarm", {}, "The silo is paused: it answers nothing until you resume it.");
  if (!agent.connected) return h("p.alarm", {}, `The agent runs and is not connected: ${agent.why_not}.`);
  if (agent.why_not) return h("p.alarm", {}, `The agent answers nothing: ${agent.why_not}.`);
  return h("p", {}, state("on"), ` The agent is connected to the coordinator of ${desk.consortium} at ${desk.coordinator}` +
    `${agent.busy ? ", and is computing an answer" : ""}.`);
}

export async function view(place) {
  const top = h("section", {});
  const waiting = h("section", {});
  const others = h("section", {});
  show(place, h("h1", {}, "Jobs"), top, waiting, others);
  const switched = (to) => async () => {
    await change(to);
    await refreshNow();
  };
  let key = "";
  async function refresh() {
    const desk = await look("desk");
    const now = JSON.stringify([desk.paused, desk.agent, desk.jobs]);
    if (now === key) return;
    key = now;
    show(top, standing(desk), h("p.row.actions", {}, desk.paused
      ? action("Resume", switched("resume")) : action("Pause: answer nothing", switched("pause"))));
    const asks = desk.jobs.filter((job) => job.state === "waiting");
    show(waiting, h("h2", {}, asks.length === 0 ? "No job waits for you" : `${asks.length} wait${asks.length === 1 ? "s" : ""} for you`),
      asks.map((job) => h("article.offer", {}, h("h3", {}, h("a", { href: `#/offers/${job.run}`, "data-key": `offer-${job.id}` }, job.name)),
        h("p", {}, `On the data set "${job.dataset}", epsilon ${promised(job.epsilon)} and delta ${number(job.delta)}; offered `,
          time(job.at), "."))));
    const rest = desk.jobs.filter((job) => job.state !== "waiting");
    show(others, h("h2", {}, "What came of others"), rest.length === 0 ? h("p.quiet", {}, "Nothing yet.")
      : table("Newest first.", ["job", "state", "data set", "epsilon", "answers sent", "when", "reason"],
        rest.map((job) => [h("a", { href: `#/offers/${job.run}`, "data-key": `job-${job.id}` }, job.name || job.id),
          state(job.state), job.dataset, promised(job.epsilon), String(job.releases), time(job.at), job.reason || "-"])));
  }
  return refresh;
}

/** What epsilon and delta mean, in words. */
function meaning(job) {
  const unit = units[job.unit] || "record";
  return [h("h2", {}, "What somebody could learn at most"),
    h("p", {}, `Suppose that somebody knows every ${unit} of yours but one, listens to all that leaves for this job, and holds two ` +
      `values for the last one for equally likely. Without the answers they guess right in 50 % of cases; with them in ` +
      `${percent(job.right_guess)} at most.`),
    job.right_guess_of_all ? h("p", {}, `Whoever listens to everything that was ever accepted of this data set, this job among it, ` +
      `guesses right in ${percent(job.right_guess_of_all)} at most.`) : null,
    job.rests_on_others ? h("p.alarm", {}, "That holds as long as those do their part whom this job rests on: the text above says who, " +
      "and what is left without them.") : null,
    job.delta > 0 ? h("p", {}, `Delta, ${promised(job.delta)}, is counted in that: it stands for outcomes, as rare as it says, from ` +
      "which more may be learned.") : null];
}

function example(job) {
  if (!job.example) return null;
  return [h("h3", {}, "What such an answer looks like"),
    h("p", {}, `Of invented values, since none of yours is shown: ${job.example.of}.`),
    table("The noise is new each time.", ["", ...job.example.sent.map((_, i) => `number ${i + 1}`)],
      [["invented value", ...job.example.invented.map(number)], ["what would leave", ...job.example.sent.map(number)]])];
}

/** A question in the page, in place of the one that the command asks. */
function ask(question, label, kind, what, reason = false) {
  const why = reason ? h("textarea", { rows: 3, id: "reason" }) : null;
  const dialog = h("dialog", { "aria-label": question }, h("p", {}, question),
    reason ? h("label", {}, "Why? You read it later; the coordinator is told it where your policy explains refusals in full.", why) : null,
    h("p.row.actions", {}, action(label, async () => {
      if (new TextEncoder().encode(why?.value || "").length > kReasonBytes) throw new Error("The reason is too long.");
      await what(why?.value || "");
      dialog.close();
    }, kind), h("button", { type: "button", onclick: () => dialog.close() }, "Not now")));
  dialog.addEventListener("close", () => dialog.remove());
  document.getElementById("main").append(dialog);
  dialog.showModal();
}

export async function one(place, [id]) {
  const main = h("section", {});
  const buttons = h("section", {});
  const left = h("section", {});
  show(place, main, buttons, left);
  let shownValues = false;
  let shownState = "";
  let key = "";

  async function showLeft() {
    const found = (await look(`jobs/${id}/releases${shownValues ? "?values=1" : ""}`)).releases;
    show(left, h("h2", {}, "What has left"), ["open", "ended", "withdrawn"].includes(shownState) ? h("p.row.actions", {},
      action("Evidence pack of this run", () => save(`jobs/${id}/evidence`, `evidence-${id.slice(64, 76)}.zip`)),
      h("span.quiet", {}, "It holds the whole ledger of the data set, with all answers that have left.")) : null, found.length === 0 ? h("p.quiet", {}, "Nothing has left for this run.")
      : [h("p.row.actions", {}, action(shownValues ? "Hide the numbers" : "Show the numbers", async () => {
        shownValues = !shownValues;
        await showLeft();
      })), table("Exactly what left, and when.", ["entry", "when", "round", "of", "numbers", "size", "SHA-256",
        ...(shownValues ? ["values"] : [])], found.slice(-200).reverse().map((one) => [String(one.entry), time(one.at),
        String(one.round), one.block, `${one.numbers ?? "sealed"}${one.noised ? ", with noise" : ", exactly"}`, bytes(one.bytes),
        one.sha256.slice(0, 16), ...(shownValues ? [(one.values || []).slice(0, 40).map(number).join(" ")] : [])]))]);
  }

  async function refresh() {
    const job = await look(`jobs/${id}`);
    const now = JSON.stringify([job.run, job.dataset, job.state, job.releases, job.reason, job.budget, job.refused_now]);
    if (now === key) return;
    key = now;
    shownState = job.state;
    const budget = job.budget;
    show(main, h("h1", {}, job.name || job.id, " ", state(job.state)),
      h("p.quiet", {}, `${job.asked_by} asks, run ${job.id}, `, time(job.at), `, of the data set "${job.dataset}".`),
      job.reason ? h("p.alarm", {}, job.reason) : null,
      job.refused_now ? h("p.alarm", {}, `If you approved it now, it would be refused: ${job.refused_now}`) : null,
      h("h2", {}, "What it asks and what would leave"), h("pre.summary", { tabindex: 0, "aria-label": "What taking part would release and cost" }, job.summary),
      example(job),
      h("h2", {}, "What it costs"),
      table("Epsilon and delta of this data set.", ["", "epsilon", "delta"], [
        ["this job", promised(job.epsilon), promised(job.delta)],
        ...(budget ? [["reserved so far", promised(budget.reserved.epsilon), promised(budget.reserved.delta)],
          ["left", number(budget.left.epsilon), number(budget.left.delta)],
          ["of", number(budget.total.epsilon), number(budget.total.delta)]] : [])]),
      meaning(job),
      h("h2", {}, "What is not covered"), h("ul", {},
        job.unit === "sensitive_attribute" ? h("li", {}, "All but the group that a record is in: its features and its label are not protected.") : null,
        h("li", {}, "Records that you declared public: what is asked of them leaves exactly."),
        h("li", {}, "How many records you have, which the job names."),
        h("li", {}, "When your silo answers and whether it is connected, unless your policy has a release interval."),
        h("li", {}, "What many of your records say together: that is what a study learns, and it may be about people who are not in it."),
        h("li", {}, "What other data about the same people give away elsewhere.")),
      h("details", {}, h("summary", {}, "The job's text"), h("pre", { tabindex: 0, "aria-label": "The job's text" }, job.job)));
    const may = { waiting: ["approve", "refuse", "withdraw"], approved: ["withdraw"], open: ["withdraw"] }[job.state] || [];
    const decide = (what) => async (reason) => {
      await change(`jobs/${id}/${what}?dataset=${job.dataset}`, reason);
      await refreshNow();
    };
    show(buttons, may.length === 0 ? null : [h("h2", {}, "Your decision"), h("p.row.actions", {},
      may.includes("approve") ? h("button.main", { type: "button", "data-key": "approve", disabled: Boolean(job.refused_now), onclick: () =>
        ask("Take part, and charge this?", "Take part", ".main", decide("approve")) }, "Approve") : null,
      may.includes("refuse") ? h("button", { type: "button", "data-key": "refuse", onclick: () =>
        ask("Refuse this job?", "Refuse", ".danger", decide("refuse"), true) }, "Refuse") : null,
      may.includes("withdraw") ? h("button.danger", { type: "button", "data-key": "withdraw", onclick: () =>
        ask("Withdraw for good? What was sent stays sent and charged.", "Withdraw", ".danger", decide("withdraw")) }, "Withdraw") : null)]);
    await showLeft();
  }
  refresh.leave = () => document.querySelectorAll("dialog").forEach((dialog) => dialog.remove());
  return refresh;
}
