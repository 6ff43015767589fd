import { h, promised, show, state, table, time } from "/pages/dom.js";
import { look } from "/pages/session.js";

export const title = "Consortium";
const kSoon = 30 * 24 * 3600 * 1000;  // ms before a certificate's end that it is pointed out

function certificateEnd(text) {
  if (!text) return "-";
  return Date.parse(text) - Date.now() < kSoon ? h("strong", {}, time(text), ": renew it") : time(text);
}

export async function view(place) {
  const silos = h("section", {});
  const others = h("section", {});
  show(place, h("h1", {}, title), silos, others);
  return async () => {
    const found = await look("silos");
    const here = found.silos.filter((silo) => silo.connected).length;
    show(silos, found.silos.length === 0
      ? h("p", {}, "No silo has ever connected. A silo connects when its agent runs: undertone-silo run.")
      : [h("p", {}, `${here} of ${found.silos.length} silos are connected.`),
        table("Silos. What was accepted is summed over the runs that a silo accepted: its own ledger is what counts.",
          ["silo", "connection", "since", "last answer", "certificate ends", "build", "epsilon accepted", "delta accepted"],
          found.silos.map((silo) => [silo.silo,
            silo.connected ? state("on") : h("span", {}, state("off"), silo.why_away ? ` ${silo.why_away}` : ""),
            time(silo.connected_since), time(silo.last_answer), certificateEnd(silo.certificate_ends), silo.build || "-",
            promised(silo.epsilon_accepted), promised(silo.delta_accepted)]))]);
    const runs = Object.entries(found.runs).filter(([, count]) => count > 0);
    show(others, found.shufflers.length === 0 ? null : table("Shufflers.", ["shuffler", "connection"],
      found.shufflers.map((one) => [one.shuffler, state(one.connected ? "on" : "off")])),
    runs.length === 0 ? null : h("p", {}, "Runs: ", runs.map(([name, count], i) => [i > 0 ? ", " : "",
      h("a", { href: `#/runs?state=${name}`, "data-key": `count-${name}` }, `${count} ${name}`)]), "."));
  };
}
