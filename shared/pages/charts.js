import { h, show } from "./dom.js";

/* global drawChart */
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Draws charts (shared/report/draw_chart.js), again where the colours change. @return takes them away */
export function drawInto(place, charts) {
  let drawn = [];
  show(place, charts.map((chart) => h("figure", {}, h("figcaption", {}, chart.title),
    h("div.canvas", {}, h("canvas", { role: "img",
      "aria-label": `Line chart of ${chart.title}. The table below has the numbers.` })))));
  const draw = () => {
    drawn.forEach((one) => one.destroy());
    drawn = [...place.querySelectorAll("canvas")].map((canvas, i) => drawChart(canvas, charts[i], dark.matches));
  };
  draw();
  dark.addEventListener("change", draw);
  return () => {
    dark.removeEventListener("change", draw);
    drawn.forEach((one) => one.destroy());
  };
}
