(() => {
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let drawn = [];
  const draw = (onDark) => {
    drawn.forEach((chart) => chart.destroy());
    drawn = charts.map((chart, i) => drawChart(document.getElementById("chart-" + i), chart, onDark));
  };

  document.getElementById("charts").hidden = false;
  draw(dark.matches);
  dark.addEventListener("change", () => draw(dark.matches));
  addEventListener("beforeprint", () => draw(false));
  addEventListener("afterprint", () => draw(dark.matches));
})();
