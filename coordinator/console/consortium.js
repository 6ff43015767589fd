import { look } from "/pages/session.js";
import { h, promised, show, state, table, time } from "/pages/dom.js";

export const title = "Consortium";

export async function view(place) {
  const silos = h("section", {});
  show(place, h("h1", {}, title), silos);
  return async () => {
    const found = (await look("silos")).silos;
    const here = found.filter((silo) => silo.connected).length;
    show(silos, found.length === 0
      ? h("p", {}, "No silo has ever connected. A silo connects when its agent runs: undertone-silo run.")
      : [h("p", {}, `${here} of ${found.length} silos are connected.`),
        table("Silos. What was accepted is summed over the runs that a silo accepted: its own ledger is what counts.",
          ["silo", "connection", "since", "build", "epsilon accepted", "delta accepted"],
          found.map((silo) => [silo.silo,
            silo.connected ? state("on") : h("span", {}, state("off"), silo.why_away ? ` ${silo.why_away}` : ""),
            time(silo.connected_since), silo.build || "-", promised(silo.epsilon_accepted),
            promised(silo.delta_accepted)]))]);
  };
}
