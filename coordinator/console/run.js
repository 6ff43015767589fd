import { drawInto } from "/pages/charts.js";
import { duration, h, number, promised, show, state, table, time } from "/pages/dom.js";
import { refreshNow } from "/pages/live.js";
import { change, look, mayChange, Refusal, save, text } from "/pages/session.js";
import { action } from "/pages/shell.js";

const kResultAgain = 2000;  // ms
const kRoundsKept = 2000;  // of a run, for its charts
/** What closed last of a run's rounds, and where the next one is found. @param rounds are added to */
async function addRounds(path, run, rounds, next) {
  let from = Math.max(next, (run.rounds_kept || 0) - kRoundsKept);
  for (;;) {
    const found = await look(`${path}/rounds?from=${from}`);
    rounds.push(...found.rounds);
    if (rounds.length > kRoundsKept) rounds.splice(0, rounds.length - kRoundsKept);
    if (found.rounds.length === 0 || found.next === from) return from;
    from = found.next;
    if (from >= (run.rounds_kept || 0)) return from;
  }
}
const evaluationsOf = (rounds) => rounds.filter((round) => round.metrics).map((round) => round.metrics);
const ended = (run) => ["succeeded", "failed", "cancelled"].includes(run.state);
const kTwoSided = 1.959964;  // 95 % of a normal law

/** A metric over the steps, each with half of its 95 % interval for the silos' noise. */
function chartsOf(evaluations) {
  const names = new Set();
  for (const row of evaluations)
    for (const [name, value] of Object.entries(row))
      if (typeof value === "number" && !["after_steps", "silos"].includes(name)) names.add(name);
  return [...names].map((name) => {
    const rows = evaluations.filter((row) => typeof row[name] === "number");
    const reach = rows.map((row) => kTwoSided * (row.noise_stddev?.[name] || 0));
    return { title: name, x: "steps", y: name, stepped: false, series: [{ name, dashed: false,
      points: rows.map((row) => [row.after_steps, row[name]]), reach: reach.some((half) => half > 0) ? reach : undefined }] };
  }).filter((chart) => new Set(chart.series[0].points.map(([, value]) => value)).size > 1);  // one value is in the table
}

function progress(run, rounds) {
  if (!run.rounds_total) return null;
  const recent = rounds.slice(-20);
  const each = recent.reduce((sum, round) => sum + round.elapsed_ms, 0) / Math.max(recent.length, 1);
  const left = run.rounds_total - run.rounds_closed;
  return h("div.meter", {}, h("progress", { max: run.rounds_total, value: run.rounds_closed, "aria-label": "Rounds closed" }),
    h("span", {}, `${run.rounds_closed} of ${run.rounds_total} rounds`),
    recent.length > 0 && left > 0 ? h("span.quiet", {}, `about ${duration(each * left)} left`) : null,
    run.join_left_ms ? h("span.quiet", {}, `owners are awaited for ${duration(run.join_left_ms)} more`) : null);
}

function silosOf(run, rounds) {
  const answered = new Map();
  for (const round of rounds) for (const silo of round.answered) answered.set(silo, (answered.get(silo) || 0) + 1);
  return table("Silos, and what the job promises each one's records.",
    ["silo", "connected", "its owner's answer", rounds.length < (run.rounds_kept || 0) ? `rounds answered, of the last ${rounds.length}` : "rounds answered", "epsilon", "delta", "what is missing"],
    run.silos.map((silo) => [silo.silo, state(silo.connected ? "on" : "off"),
      silo.explanation ? `${silo.answer}: ${silo.explanation}` : silo.answer,
      String(answered.get(silo.silo) || 0), promised(silo.epsilon), promised(silo.delta), silo.why_missing || "-"]));
}

function estimates(statistic) {
  const interval = (ends) => ends ? `${ends[0] === null ? "-∞" : number(ends[0])} to ${ends[1] === null ? "∞"
    : number(ends[1])}` : "-";
  return table(`${statistic.statistic}: ${statistic.confidence * 100} % intervals`,
    ["estimate", "value", "interval for the noise", "interval for the population", "note"],
    (statistic.estimates || []).slice(0, 200).map((one) => [one.name, one.value === null ? "refused" : number(one.value),
      interval(one.noise_interval), interval(one.population_interval), one.note || ""]));
}

export async function view(place, [id]) {
  let run = await look(`runs/${id}`);
  const path = `runs/${run.run}`;
  const heading = h("h1", {}, run.name, " ", state(run.state));
  const head = h("section", {});
  const charts = h("div.charts", {});
  const verdicts = h("section", {});
  const silos = h("section", {});
  const results = h("section", {});
  const history = h("details", {}, h("summary", {}, "Rounds"), h("div", {}));
  const job = h("details", { ontoggle: async () => {
    if (!job.open || job.children.length > 1) return;
    job.append(h("pre", { tabindex: 0, "aria-label": "The job's text" }, await text(`${path}/job`)));
  } }, h("summary", {}, "The job's text"));
  show(place, heading, head, h("section", { "aria-label": "Charts" }, charts), verdicts, silos, results, history, job);

  const rounds = [];
  let next = 0;
  let drawn = "";
  let shownHead = "";
  let forget = () => {};
  let shownResult = false;

  async function showResult() {
    if (shownResult || run.state !== "succeeded") return;
    const result = await look(`${path}/result`);  // 409 while it is being written: asked again with the next change
    const file = (part, label, name) => action(label, () => save(`${path}/${part}`, name));
    show(results, h("h2", {}, "Results"),
      h("p.row.actions", {}, file("report", "Report (HTML)", `report-${run.id}.html`),
        file("result", "result.json", `result-${run.id}.json`),
        result.statistics ? result.statistics.map((one, i) => file(`table?statistic=${i}`, `CSV of ${one.statistic}`,
          `statistic-${i}-${run.id}.csv`))
          : [file("model", "model.json", `model-${run.id}.json`),
            file("table", "CSV of the evaluations", `evaluations-${run.id}.csv`)]),
      (result.statistics || []).filter((one) => one.estimates).map(estimates));
    shownResult = true;
  }

  // Buttons stay the same elements while the state does, so that no click falls between two of them.
  const facts = h("div", {});
  const buttons = h("p.row.actions", {});
  show(head, facts, buttons);
  function showHead() {
    show(facts, h("p.quiet", {}, `${run.id}, submitted `, time(run.submitted_at),
      run.ended_at ? [", ended ", time(run.ended_at)] : null),
      run.failure ? h("p.alarm", {}, run.failure) : null, progress(run, rounds));
    if (shownHead === run.state) return;
    shownHead = run.state;
    show(heading, run.name, " ", state(run.state));
    show(buttons, !mayChange() ? null : ended(run) ? action("Run again", () => {
      location.hash = `#/submit?of=${run.run}`;
    }) : action("Cancel this run", async () => {
      if (!confirm(`Cancel ${run.name}? What silos have sent stays charged.`)) return;
      await change(`${path}/cancel`);
      await refreshNow();
    }, ".danger"));
  }

  async function refresh() {
    run = await look(path);
    next = await addRounds(path, run, rounds, next);
    showHead();
    const evaluations = evaluationsOf(rounds);
    const newest = `${evaluations.length} ${evaluations.at(-1)?.after_steps}`;
    if (newest !== drawn) {
      forget();
      forget = drawInto(charts, chartsOf(evaluations));
      drawn = newest;
    }
    const said = run.last_metrics?.verdicts || [];
    show(verdicts, said.map((verdict) => h("p", {}, `${verdict}.`)));
    show(silos, silosOf(run, rounds));
    show(history.lastElementChild, table(`The last ${Math.min(rounds.length, 200)} rounds that closed.`,
      ["round", "answered", "missing", "took", "metrics"], rounds.slice(-200).reverse().map((round) => [
        String(round.round), String(round.answered.length), round.missing.join(", ") || "-", duration(round.elapsed_ms),
        round.metrics ? Object.entries(round.metrics).filter(([, value]) => typeof value === "number")
          .map(([name, value]) => `${name} ${number(value)}`).join(", ") : "-"])));
    await showResult().catch((refusal) => {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (![409, 429].includes(refusal.status)) throw refusal;
      setTimeout(refreshNow, kResultAgain);  // it is being written, or others are being read
    });
  }
  refresh.leave = () => forget();
  return refresh;
}

/** Runs beside each other. */
export async function compare(place, ids) {
  const runs = [];
  for (const id of ids.slice(0, 6)) {
    const run = await look(`runs/${id}`);
    const rounds = [];
    await addRounds(`runs/${run.run}`, run, rounds, 0);
    runs.push({ run, evaluations: evaluationsOf(rounds) });
  }
  const charts = h("div.charts", {});
  const names = [...new Set(runs.flatMap(({ evaluations }) => chartsOf(evaluations).map((chart) => chart.title)))];
  const metric = (one, name) => one.run.last_metrics?.[name];
  const metrics = [...new Set(runs.flatMap(({ run }) => Object.entries(run.last_metrics || {})
    .filter(([name, value]) => typeof value === "number" && !["round", "silos"].includes(name)).map(([name]) => name)))];
  show(place, h("h1", {}, "Comparison"),
    table("The last evaluation of each run.", ["run", "state", "largest epsilon", ...metrics],
      runs.map((one) => [h("a", { href: `#/runs/${one.run.id}` }, `${one.run.name} ${one.run.id}`), state(one.run.state),
        promised(Math.max(...one.run.silos.map((silo) => silo.epsilon))),
        ...metrics.map((name) => number(metric(one, name)))])), charts);
  const forget = drawInto(charts, names.map((name) => ({ title: name, x: "steps", y: name, stepped: false,
    series: runs.flatMap(({ run, evaluations }) => chartsOf(evaluations).filter((chart) => chart.title === name)
      .map((chart) => ({ ...chart.series[0], name: `${run.name} ${run.id}` }))) })));
  const refresh = async () => {};
  refresh.leave = forget;
  return refresh;
}
