import { h, number, show, table } from "/pages/dom.js";
import { look } from "/pages/session.js";
import { action } from "/pages/shell.js";

const shown = (value) => typeof value === "number" ? number(value) : value ?? "-";

/** Bars of a column's counts, drawn without styles of their own. The table beside them has the numbers. */
function bars(column) {
  const width = 240, height = 48;
  const most = Math.max(...column.bins, 1);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const set = (element, values) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, String(value)));
  set(svg, { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "bars", "aria-label":
    `How many records of ${column.column} stand in each of ${column.bins.length} parts from ${shown(column.min)} to ${shown(column.max)}: ` +
    column.bins.join(", ") });
  column.bins.forEach((count, i) => {
    const tall = count === 0 ? 0 : Math.max(1, Math.round(height * count / most));
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    set(bar, { x: i * width / column.bins.length, y: height - tall, width: width / column.bins.length - 1, height: tall });
    svg.append(bar);
  });
  return svg;
}

const numbersOf = (columns) => table("Numbers and dates. A value outside the bounds counts as the bound.",
  ["column", "from bound to bound", "bounds", "found", "outside", "missing"], columns.map((column) => [
    `${column.column}${column.role === "feature" ? "" : ` (${column.role})`}`, bars(column),
    `${shown(column.min)} to ${shown(column.max)}`, `${shown(column.least)} to ${shown(column.most)}`, String(column.outside),
    String(column.missing)]));

const listsOf = (columns) => table("Lists. A value that is not listed sets no category.", ["column", "records by value", "others", "missing"],
  columns.map((column) => [`${column.column}${column.role === "feature" ? "" : ` (${column.role})`}`,
    column.values.slice(0, 40).map((one) => `${one.value}: ${one.records}`).join(", ") + (column.values.length > 40 ? ", ..." : ""),
    String(column.others), String(column.missing)]));

/** What a data set's columns hold. It is read when somebody asks for it. */
function records(dataset) {
  const place = h("section", { "aria-live": "polite" });
  const look_at = action("Look at the records", async () => {
    const said = await look(`datasets/${dataset.name}`);
    const numbers = said.columns.filter((column) => column.bins);
    const lists = said.columns.filter((column) => column.values);
    show(place, h("p", {}, `${said.training} are for training and ${said.holdout} are held out` +
      (said.public_records ? `, and ${said.public_records} are public` : "") + `: ${said.rows} rows.`),
    numbers.length ? numbersOf(numbers) : null, lists.length ? listsOf(lists) : null,
    said.columns_not_shown ? h("p", {}, `${said.columns_not_shown} columns are not shown.`) : null);
  });
  look_at.dataset.key = `look-${dataset.name}`;
  return [h("p.row.actions", {}, look_at), place];
}

export async function view(place) {
  const said = await look("datasets");
  show(place, h("h1", {}, "Data"),
    h("p", {}, "This page shows what your records hold, on this machine alone: nothing of it is sent, and nothing is charged. " +
      "The bounds and lists are the schema's. They are public, and must not be read off the records."),
    said.datasets.map((one) => h("article", {},
      h("h2", {}, `Data set "${one.name}"`),
      h("dl.facts", {}, [["protects each", one.unit.replace("_", " ")], ["source", one.source],
        ["what is served", one.served], ["permit", one.permit || "none is needed"],
        ["holdout", one.holdout_public ? "declared public" : "protected like the rest"]]
        .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      records(one))));
  return null;
}
