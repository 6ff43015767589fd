import { refreshNow } from "/pages/live.js";
import { look } from "/pages/session.js";
import { h, show, state, table, time } from "/pages/dom.js";

export const title = "Runs";
const kPage = 50;
const states = ["queued", "joining", "running", "succeeded", "failed", "cancelled"];

export async function view(place, _words, query) {
  const sought = { name: query.get("name") || "", state: query.get("state") || "" };
  let before = Number(query.get("before")) || 0;
  const list = h("section", {});
  const chosen = new Set();
  const go = () => {
    const words = new URLSearchParams();
    if (sought.name) words.set("name", sought.name);
    if (sought.state) words.set("state", sought.state);
    before = 0;
    history.replaceState(null, "", `#/runs?${words}`);
    refreshNow();
  };
  const compare = h("button", { type: "button", disabled: true,
    onclick: () => { location.hash = `#/compare/${[...chosen].join("/")}`; } }, "Compare");
  const choose = (run) => h("input", { type: "checkbox", checked: chosen.has(run.id), "data-key": `choose-${run.id}`,
    "aria-label": `Compare ${run.name} ${run.id}`,
    onchange: (event) => {
      if (event.target.checked) chosen.add(run.id);
      else chosen.delete(run.id);
      compare.disabled = chosen.size < 2 || chosen.size > 6;
    } });
  let typed = 0;
  show(place, h("h1", {}, title),
    h("form.row", { role: "search", onsubmit: (event) => { event.preventDefault(); go(); } },
      h("label", {}, "Name has", h("input", { type: "search", value: sought.name, id: "sought-name",
        oninput: (event) => {
          sought.name = event.target.value;
          clearTimeout(typed);
          typed = setTimeout(go, 200);
        } })),
      h("label", {}, "State", h("select", { id: "sought-state", onchange: (event) => {
        sought.state = event.target.value;
        go();
      } }, h("option", { value: "" }, "any"),
      states.map((one) => h("option", { value: one, selected: one === sought.state }, one)))), compare), list);

  async function refresh() {
    const words = new URLSearchParams({ limit: kPage });
    if (sought.name) words.set("name", sought.name);
    if (sought.state) words.set("state", sought.state);
    if (before) words.set("before", before);
    const found = await look(`runs?${words}`);
    const rows = found.runs.map((run) => [h("a", { href: `#/runs/${run.id}`, "data-key": `run-${run.id}` }, run.name),
      run.id, state(run.state),
      run.rounds_total ? `${run.rounds_closed} of ${run.rounds_total}` : "-", time(run.submitted_at),
      time(run.ended_at), choose(run)]);
    const turn = (text, number) => h("button", { type: "button", "data-key": text, onclick: () => {
      before = number;
      refreshNow();
    } }, text);
    show(list, rows.length === 0
      ? h("p", {}, sought.name || sought.state ? "No run is like that." : ["Nothing has been submitted yet. ",
        h("a", { href: "#/submit" }, "Submit a job"), "."])
      : table("Runs, the newest first.", ["job", "id", "state", "rounds closed", "submitted", "ended", "compare"], rows),
    h("p.row.actions", {}, before ? turn("Newest", 0) : null, found.next_before ? turn("Older", found.next_before) : null));
  }
  refresh.leave = () => clearTimeout(typed);
  return refresh;
}
