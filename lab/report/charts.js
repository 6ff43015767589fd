"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  // Okabe and Ito 2008: told apart by people who see colours in any of the common ways.
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const marks = ["circle", "rect", "triangle", "rectRot", "crossRot", "star"];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let drawn = [];

  const dataset = (series, number, chart) => ({
    label: series.name.length > 48 ? series.name.slice(0, 45) + "..." : series.name,
    data: series.points.map(([x, y]) => ({ x, y })),
    borderColor: colours[number % colours.length],
    backgroundColor: colours[number % colours.length],
    borderDash: series.dashed ? [6, 5] : number >= colours.length ? [2, 2] : [],
    borderWidth: 2,
    pointStyle: marks[number % marks.length],
    pointRadius: series.dashed || series.points.length > 60 ? 0 : 3,
    stepped: chart.stepped,
  });

  const axis = (title, ink, line, whole) => ({
    type: "linear",
    title: { display: true, text: title, color: ink },
    ticks: { color: ink, precision: whole ? 0 : undefined },
    grid: { color: line },
    beginAtZero: whole && title !== "round",
    grace: whole && title !== "round" ? "10%" : 0,
  });

  const draw = (onDark) => {
    drawn.forEach((chart) => chart.destroy());
    const ink = onDark ? "#e6edf3" : "#1b1f24";
    const line = onDark ? "#30363d" : "#d0d7de";
    drawn = charts.map((chart, i) => new Chart(document.getElementById("chart-" + i), {
      type: "line",
      data: { datasets: chart.series.map((series, number) => dataset(series, number, chart)) },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: "nearest", intersect: false },
        scales: { x: axis(chart.x, ink, line, chart.stepped), y: axis(chart.y, ink, line, chart.stepped) },
        plugins: { legend: { position: "bottom", labels: { color: ink, usePointStyle: true } } },
      },
    }));
  };

  document.getElementById("charts").hidden = false;
  draw(dark.matches);
  dark.addEventListener("change", () => draw(dark.matches));
  addEventListener("beforeprint", () => draw(false));
  addEventListener("afterprint", () => draw(dark.matches));
})();
