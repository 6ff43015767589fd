import { h, number, show, state, table } from "/pages/dom.js";
import { change, look, save } from "/pages/session.js";
import { action } from "/pages/shell.js";

export async function view(place) {
  const found = h("section", { "aria-live": "polite" });
  show(place, h("h1", {}, "Ledger"),
    h("p", {}, "Every charge and every answer is an entry of a ledger, signed and chained to the one before. The verifier reads a " +
      "ledger by code that shares nothing with the agent, and recounts what it says."),
    h("p.row.actions", {}, action("Verify now", async () => {
      const ledgers = (await change("verify")).ledgers;
      show(found, ledgers.length === 0 ? h("p", {}, "There is no ledger yet.") : ledgers.map((one) => h("article", {},
        h("h2", {}, `Data set "${one.dataset}" `, state(one.sound ? "succeeded" : "failed")),
        h("p", {}, one.sound ? `${one.entries} entries, sound: epsilon ${number(one.epsilon)}, delta ${number(one.delta)} in all.`
          : "The ledger does not keep the rules. Stop the agent and ask whoever knows: nothing must be answered from it."),
        one.problems?.length ? h("ul", {}, one.problems.map((problem) => h("li.void", {}, problem))) : null,
        one.runs?.length ? table("Runs.", ["run", "state", "answers", "epsilon reserved", "epsilon spent"], one.runs.slice(-200).reverse()
          .map((run) => [run.run.slice(64, 76), run.state, String(run.releases), number(run.epsilon), number(run.epsilon_odometer)])) : null)));
    }, ".main"), action("Evidence pack of all runs", () => save("evidence", "evidence.zip"))), found);
  return null;
}

/** The policy as it stands in the agent's file. */
export async function policy(place) {
  const said = await look("policy");
  const rows = [];
  const walk = (value, path) => {
    if (value && typeof value === "object" && !Array.isArray(value))
      for (const [key, inner] of Object.entries(value)) walk(inner, path ? `${path}.${key}` : key);
    else rows.push([path, Array.isArray(value) ? value.join(", ") : String(value)]);
  };
  walk(said.policy, "");
  show(place, h("h1", {}, "Policy"),
    h("p", {}, `What your agent may accept at most, as ${said.file} has it. A change takes an editor and a restart of the agent; ` +
      "undertone-silo check --job says what would be refused then."),
    table("The policy.", ["key", "value"], rows));
  return null;
}
