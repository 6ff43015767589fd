import { bytesOf, mayChange, Refusal } from "/pages/session.js";
import { bytes, h, number, promised, show, table } from "/pages/dom.js";
import { editor, withNumbers } from "./editor.js";
import { tell } from "/pages/shell.js";
import { planned } from "./planned.js";

export const title = "Submit a job";
const kSettled = 600;  // ms without a key before a job is planned

let schema = null;
async function loadSchema() {
  if (!schema) schema = await (await fetch("/console/job-schema.json")).json();
}

/** The noise of what a silo releases most often, in words. */
function noiseOf(silo) {
  const release = silo.releases?.find((one) => !one.public_records) || silo.releases?.[0];
  if (!release) return "-";
  const width = release.laplace?.half_width_95;
  return `${release.what} x ${release.times}: ` + (width !== undefined ? `± ${number(width)} records (95 %)`
    : `${number(release.noise_stddev_of_mean)} of a mean`);
}

/** Plans side by side: of the job as it stands, and as the sliders would have it. */
function planTables(now, moved) {
  const rows = now.silos.map((silo, i) => {
    const other = moved?.silos[i];
    return [silo.silo, String(silo.records), promised(silo.epsilon), number(silo.delta), noiseOf(silo),
      bytes(silo.bytes_sent), ...(moved ? [other ? promised(other.epsilon) : "-", other ? noiseOf(other) : "-"] : [])];
  });
  const words = [...(now.warnings || []), ...now.silos.flatMap((silo) => silo.warnings.map((one) => `${silo.silo}: ${one}`))];
  const risk = (plan) => plan?.prediction ? `${plan.prediction.measure} at most ${number(plan.prediction.bound)}` : null;
  const width = (plan, i) => plan?.statistics?.[i] ? `± ${number(plan.statistics[i].half_width)}` : "-";
  return [h("p", {}, `Accountant: ${now.accountant}.`),
    now.mean_noise_stddev ? h("p", {}, `Noise of the mean gradient: ${number(now.mean_noise_stddev)} a coordinate`,
      moved?.mean_noise_stddev ? `; moved: ${number(moved.mean_noise_stddev)}.` : ".") : null,
    risk(now) ? h("p", {}, `Predicted: ${risk(now)}`, risk(moved) ? `; moved: ${risk(moved)}.` : ".") : null,
    words.slice(0, 10).map((one) => h("p.alarm", {}, one)),
    now.statistics ? table("Predicted half-widths.", ["statistic", "noise", "now", ...(moved ? ["moved"] : []), "of"],
      now.statistics.map((one, i) => [one.statistic, one.noise, width(now, i), ...(moved ? [width(moved, i)] : []),
        one.of])) : null,
    table("What each silo would promise and send.", ["silo", "records", "epsilon", "delta", "noise", "sent",
      ...(moved ? ["epsilon, moved", "noise, moved"] : [])], rows)];
}

/** The numbers of a job that a slider moves, by JSON pointer. */
function handles(job) {
  const out = [];
  const add = (name, whole, all) => {
    const numbers = all.filter(([, value]) => typeof value === "number");
    if (numbers.length > 0) out.push({ name, whole, numbers });
  };
  const cohort = Array.isArray(job.cohort) ? job.cohort : [];
  add("epsilon", false, [["/privacy/epsilon", job.privacy?.epsilon],
    ...cohort.flatMap((member, i) => [[`/cohort/${i}/epsilon`, member?.epsilon],
      [`/cohort/${i}/privacy/epsilon`, member?.privacy?.epsilon]])]);
  add("rounds", true, [["/algorithm/rounds", job.algorithm?.rounds]]);
  add("records of every silo", true, cohort.map((member, i) => [`/cohort/${i}/records`, member?.records]));
  return out;
}

export async function view(place, _words, query) {
  await loadSchema();
  const plan = h("section", { "aria-live": "polite" });
  const moves = h("section.moves", {});
  const factors = {};
  let timer = 0;
  let running = null;  // the planning that is under way
  let now = null;

  let dirty = true;  // the text is not the one that `now` is the plan of
  let gone = false;  // another view stands
  const edit = editor(() => schema, () => {
    dirty = true;
    settle();
  });
  const open = h("input", { type: "file", id: "job-file", accept: ".json,application/json",
    onchange: async () => { if (open.files[0]) take(await open.files[0].arrayBuffer()); } });
  const again = h("input", { type: "checkbox", id: "again" });
  const send = h("button.main", { type: "button", disabled: true, onclick: submit }, "Submit");
  const work = h("div.work", {
    ondragover: (event) => { event.preventDefault(); work.classList.add("dropped"); },
    ondragleave: () => work.classList.remove("dropped"),
    ondrop: async (event) => {
      event.preventDefault();
      work.classList.remove("dropped");
      const file = event.dataTransfer.files[0];
      if (file) take(await file.arrayBuffer());
    },
  }, h("div", {}, edit.element, edit.problems), h("div", {}, edit.hints, moves));
  show(place, h("h1", {}, title),
    mayChange() ? h("p", {}, "Drop a job's file on the page, open one, or write. It is checked and planned as you write; " +
      "nothing is sent to a silo before you submit.")
      : h("p.alarm", {}, "You look as a viewer: an operator plans and submits jobs."),
    h("div.row", {}, h("label", {}, "Open a file", open)), work,
    h("div.row.actions", {}, send, h("label", {}, again, " a new run, even if this job has one")),
    h("h2", {}, "Plan"), plan);
  send.disabled = true;
  show(plan, h("p.quiet", {}, "There is no job yet."));
  if (query.get("of")) {
    again.checked = true;
    take(await bytesOf(`runs/${query.get("of")}/job`));
  }

  function take(job) {
    edit.load(job);
    dirty = true;
    settle();
  }
  /** The text as the sliders would have it; null where they change nothing. */
  function movedJob() {
    const numbers = new Map();
    for (const handle of handles(JSON.parse(edit.text))) {
      const factor = factors[handle.name] ?? 1;
      if (factor === 1) continue;
      for (const [pointer, value] of handle.numbers)
        numbers.set(pointer, handle.whole ? Math.max(1, Math.round(value * factor)) : value * factor);
    }
    return numbers.size > 0 ? withNumbers(edit.text, numbers) : null;
  }
  function showMoves() {
    let job = null;
    try {
      job = JSON.parse(edit.text);
    } catch {
      return;
    }
    const found = handles(job);
    show(moves, found.length === 0 ? null : [h("h3", {}, "What if"), found.map((handle) => {
      const said = h("output", {}, `x ${number(factors[handle.name] ?? 1)}`);
      return h("label", {}, `${handle.name}: `, said, h("input", { type: "range", min: -3, max: 3, step: 0.25,
        "data-key": `move-${handle.name}`, value: String(Math.log2(factors[handle.name] ?? 1)),
        "aria-label": `${handle.name}, times`, oninput: (event) => {
          factors[handle.name] = 2 ** Number(event.target.value);
          said.textContent = `x ${number(factors[handle.name])}`;
          settle();
        } }));
    }), h("button", { type: "button", "data-key": "take-moved", onclick: () => {
      const moved = movedJob();
      if (!moved) return;
      for (const name of Object.keys(factors)) delete factors[name];
      take(moved);
    } }, "Take it into the job")]);
  }
  function settle() {
    if (!mayChange()) return;
    clearTimeout(timer);
    if (running) running.abort();
    if (dirty) {
      send.disabled = true;
      show(plan, h("p.quiet", {}, "The job changes."));
    }
    timer = setTimeout(look, kSettled);
  }
  async function look() {
    if (!edit.text.trim() || gone) return;
    const own = new AbortController();
    running = own;
    const options = { signal: own.signal, waiting: (before) => show(plan, h("p", {}, before > 0
      ? `The job waits to be planned; ${before} came before it.` : "The job is being planned.")) };
    try {
      if (dirty) {
        now = await planned("plans", edit.payload, options);
        if (own.signal.aborted) return;
        dirty = false;
        edit.refuse("");
        send.disabled = false;
        showMoves();
      }
      const moved = movedJob();
      let other = null;
      let refused = null;
      if (moved) {
        show(plan, planTables(now, null), h("p.quiet", {}, "What the sliders would change is being planned."));
        other = await planned("plans", moved, options).catch((problem) => { refused = problem; });
      }
      if (own.signal.aborted) return;
      show(plan, planTables(now, other), refused ? h("p.alarm", {}, `Moved: ${refused.message}`) : null);
    } catch (problem) {
      if (own.signal.aborted) return;
      show(plan, h("p.quiet", {}, "The job is not good yet: no plan."));
      if (problem instanceof Refusal && problem.status === 400) edit.refuse(problem.message);
      else tell(problem);
    }
  }
  async function submit() {
    send.disabled = true;
    try {
      const run = await planned(`jobs${again.checked ? "?again=1" : ""}`, edit.payload);
      if (!gone) location.hash = `#/runs/${run.id}`;
    } catch (problem) {
      if (problem instanceof Refusal && problem.status === 400) edit.refuse(problem.message);
      else tell(problem);
      send.disabled = false;
    }
  }
  const refresh = async () => {};
  refresh.leave = () => {
    gone = true;
    clearTimeout(timer);
    if (running) running.abort();
  };
  return refresh;
}
