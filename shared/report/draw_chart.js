"use strict";
// Draws one chart of the report and of the pages. A chart is {x, y, stepped, series: [{name, dashed, points: [[x, y],
// ...], reach: [how far a bar goes up and down, ...]}]}. Needs Chart.js.
const drawChart = (() => {
  // Twelve, so that no two lines of a chart share one. Okabe and Ito 2008, told apart by people who see colours in any
  // of the common ways, and six more, each the farthest from those before it (in Oklab, as seen with three, without the
  // red or without the green cones) of what stands out from white and from dark paper.
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8e0b74", "#675232", "#7626ed",
    "#d912c5", "#b30f0f", "#2f3dbc"];
  const marks = ["circle", "rect", "triangle", "rectRot", "crossRot", "star"];
  const dataset = (series, number, chart) => ({
    label: series.name.length > 48 ? series.name.slice(0, 45) + "..." : series.name,
    data: series.points.map(([x, y]) => ({ x, y })),
    borderColor: colours[number % colours.length],
    backgroundColor: colours[number % colours.length],
    borderDash: series.dashed ? [6, 5] : [],
    borderWidth: 2,
    pointStyle: marks[number % marks.length],
    pointRadius: series.dashed || series.points.length > 60 ? 0 : 3,
    stepped: chart.stepped,
    reach: series.reach,
  });

  // A bar through each point that has a reach.
  const bars = {
    id: "bars",
    beforeDatasetsDraw: (chart) => chart.data.datasets.forEach((set, i) => {
      if (!set.reach || !chart.isDatasetVisible(i)) return;
      const { ctx, scales } = chart;
      ctx.save();
      ctx.strokeStyle = set.borderColor;
      ctx.globalAlpha = 0.75;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      chart.getDatasetMeta(i).data.forEach((point, k) => {
        ctx.moveTo(point.x, scales.y.getPixelForValue(set.data[k].y - set.reach[k]));
        ctx.lineTo(point.x, scales.y.getPixelForValue(set.data[k].y + set.reach[k]));
      });
      ctx.stroke();
      ctx.restore();
    }),
  };

  // What the y axis has to hold besides the points.
  const ends = (chart) => chart.series.flatMap((series) => (series.reach || []).flatMap((half, k) =>
    [series.points[k][1] - half, series.points[k][1] + half]));

  const axis = (title, ink, line, whole, held = []) => ({
    type: "linear",
    title: { display: true, text: title, color: ink },
    ticks: { color: ink, precision: whole ? 0 : undefined },
    grid: { color: line },
    suggestedMin: held.length > 0 ? Math.min(...held) : undefined,
    suggestedMax: held.length > 0 ? Math.max(...held) : undefined,
    beginAtZero: whole && title !== "round",
    grace: whole && title !== "round" ? "10%" : 0,
  });

  // Names of lines stand below the chart, in as many rows as they need: the lines keep their height.
  const makeRoom = (canvas, chart) => {
    const width = canvas.parentElement.clientWidth || 400;
    const names = chart.series.reduce((sum, series) => sum + 45 + 6.5 * Math.min(series.name.length, 48), 0);
    canvas.parentElement.style.height = 250 + 20 * Math.ceil(names / width) + "px";
  };

  return (canvas, chart, onDark) => {
    makeRoom(canvas, chart);
    const ink = onDark ? "#e6edf3" : "#1b1f24";
    const line = onDark ? "#30363d" : "#d0d7de";
    return new Chart(canvas, {
      type: "line",
      plugins: [bars],
      data: { datasets: chart.series.map((series, number) => dataset(series, number, chart)) },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: "nearest", intersect: false },
        scales: { x: axis(chart.x, ink, line, chart.stepped), y: axis(chart.y, ink, line, chart.stepped, ends(chart)) },
        plugins: { legend: { position: "bottom", labels: { color: ink, usePointStyle: true } } },
      },
    });
  };
})();
