import { h, number, promised, show, table, time } from "/pages/dom.js";
import { drawInto } from "/pages/charts.js";
import { look } from "/pages/session.js";

/** Epsilon reserved over time, and what the policy grants. */
function chartOf(dataset) {
  let sum = 0;
  const counted = dataset.charges.filter((charge) => !charge.filtered);
  const points = counted.map((charge, i) => {
    sum += charge.epsilon;
    return [i + 1, sum];
  });
  return { title: `${dataset.dataset}: epsilon reserved, job by job`, x: "jobs accepted", y: "epsilon", stepped: true, series: [
    { name: "reserved", dashed: false, points: [[0, 0], ...points] },
    { name: "granted by the policy", dashed: true, points: [[0, dataset.total.epsilon], [Math.max(points.length, 1), dataset.total.epsilon]] }] };
}

export async function view(place) {
  const tables = h("section", {});
  const charts = h("div.charts", {});
  show(place, h("h1", {}, "Budget"), charts, tables);
  let forget = () => {};
  let key = "";
  async function refresh() {
    const desk = await look("desk");
    const now = JSON.stringify(desk.datasets);
    if (now === key) return;
    key = now;
    forget();
    forget = drawInto(charts, desk.datasets.filter((dataset) => dataset.charges.length > 0).map(chartOf));
    show(tables, table("What the policy grants each data set, what is reserved, and what is left.",
      ["data set", "protects each", "epsilon granted", "reserved", "left", "delta granted", "reserved", "left"],
      desk.datasets.map((one) => [one.dataset, one.unit.replace("_", " "), number(one.total.epsilon), promised(one.reserved.epsilon),
        number(one.left.epsilon), number(one.total.delta), number(one.reserved.delta), number(one.left.delta)])),
    desk.datasets.filter((one) => one.charges.length > 0).map((one) => table(`Charges of "${one.dataset}", the newest first.`,
      ["job", "run", "when", "epsilon", "delta"], one.charges.slice(-200).reverse().map((charge) => [
        h("a", { href: `#/offers/${charge.run}`, "data-key": `charge-${charge.id}` }, charge.name || "a job that is not kept"), charge.id,
        time(charge.at), promised(charge.epsilon) + (charge.filtered ? ", by the filter" : ""), number(charge.delta)]))),
    desk.datasets.some((one) => one.filter) ? table("Filters: what is left of them, as rho.", ["data set", "epsilon", "delta", "rho left, training", "rho left, holdout"],
      desk.datasets.filter((one) => one.filter).map((one) => [one.dataset, number(one.filter.epsilon), number(one.filter.delta),
        number(one.filter.rho_left_training), number(one.filter.rho_left_holdout)])) : null);
  }
  refresh.leave = () => forget();
  return refresh;
}
