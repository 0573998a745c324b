// What is believed on the plane of two parameters: a picture of the estimate, with the readings on it.
import { chart, cross, draw, make, scale, short, star } from "/static/chart.js";

// Seven colours of matplotlib's viridis, from low to high.
const COLOURS = [[68, 1, 84], [68, 57, 131], [49, 104, 142], [33, 145, 140], [53, 183, 121], [144, 215, 67], [253, 231, 37]];

function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (COLOURS.length - 1);
  const k = Math.min(Math.floor(place), COLOURS.length - 2);
  return COLOURS[k].map((value, j) => Math.round(value + (place - k) * (COLOURS[k + 1][j] - value)));
}

/** The estimate as an image, one pixel per point, the first row at the bottom. */
function image(mean, low, high) {
  const [rows, columns] = [mean.length, mean[0].length];
  const canvas = make("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  mean.forEach((row, i) => row.forEach((value, j) => {
    pixels.data.set([...colour((value - low) / (high - low || 1)), 255], 4 * ((rows - 1 - i) * columns + j));
  }));
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

/** Whether edges are equally spaced, to within a cell: whole numbers may be rounded ones. */
function isEven(edges) {
  const step = (edges.at(-1) - edges[0]) / (edges.length - 1);
  return edges.every((edge, k) => Math.abs(edge - edges[0] - k * step) < step);
}

/** The estimate between equally spaced edges, smooth. */
function picture(frame, mean, low, high, us, vs) {
  const [x, y] = [frame.x(us[0]), frame.y(vs.at(-1))];
  return draw("image", { href: image(mean, low, high), x, y, width: frame.x(us.at(-1)) - x, height: frame.y(vs[0]) - y, preserveAspectRatio: "none" });
}

/** The estimate where there is nothing between the values: a rectangle for each. */
function cells(frame, mean, low, high, us, vs) {
  return mean.flatMap((row, i) => row.map((value, j) => draw("rect", { x: frame.x(us[j]), y: frame.y(vs[i + 1]), width: frame.x(us[j + 1]) - frame.x(us[j]) + 0.3,
    height: frame.y(vs[i]) - frame.y(vs[i + 1]) + 0.3,
    "shape-rendering": "crispEdges", fill: `rgb(${colour((value - low) / (high - low || 1))})` })));
}

/** A panel with the plane; `ts` are the rounds of the readings. */
export function plane({ axes: [up, across], mean }, flagged, ts) {
  const [{ place: px, edges: us, marks: marksX }, { place: py, edges: vs, marks: marksY }] = [scale(across), scale(up)];
  const frame = chart({ label: `What is believed over ${across.name} and ${up.name}`, xs: [us[0], us.at(-1)], ys: [vs[0], vs.at(-1)],
    xName: across.name, yName: up.name, marksX, marksY, height: 320 });
  const all = mean.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const isSmooth = [us, vs].every(isEven) && !across.is_points && !up.is_points;
  frame.plot.append(...(isSmooth ? [picture(frame, mean, low, high, us, vs)] : cells(frame, mean, low, high, us, vs)));
  const crosses = [];
  across.readings.forEach((value, k) => {
    const [u, v] = [frame.x(px(value)), frame.y(py(up.readings[k]))];
    if (flagged.has(ts[k])) crosses.push(draw("g", { class: "onmap" }, cross(u, v, 4.5)));
    else frame.plot.append(draw("circle", { class: "reading", cx: u, cy: v, r: 2.6 }));
  });
  frame.plot.append(...crosses, star(frame.x(px(across.at)), frame.y(py(up.at)), 9));
  return make("article", { class: "panel" }, make("h2", {}, "What is believed"), frame.root,
    make("div", { class: "key" }, make("span", {}, `estimate: ${short(low)} `,
      draw("svg", { viewBox: "0 0 70 14", class: "ramp", "aria-hidden": "true" }, ...COLOURS.map((rgb, k) => draw("rect", { x: 10 * k, width: 10.5, height: 14, fill: `rgb(${rgb})` }))), ` ${short(high)}`),
      make("span", {}, "○ reading, × suspicious, ★ robust answer")));
}
