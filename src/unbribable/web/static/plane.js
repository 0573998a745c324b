// What is believed on the plane of two parameters: a picture of the estimate, with the readings on it.
import { chart, cross, draw, make, short, star } from "/static/chart.js";

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

/** A panel with the plane; `ts` are the rounds of the readings. */
export function plane({ axes: [up, across], mean }, flagged, ts) {
  const placed = (axis) => (axis.is_log ? Math.log10 : (value) => value);
  const [px, py] = [placed(across), placed(up)];
  const half = (axis, place) => (place(axis.values.at(-1)) - place(axis.values[0])) / (2 * (axis.values.length - 1));
  const ends = (axis, place) => [place(axis.values[0]) - half(axis, place), place(axis.values.at(-1)) + half(axis, place)];
  const [xs, ys] = [ends(across, px), ends(up, py)];
  const title = (axis) => (axis.is_log ? `log₁₀ ${axis.name}` : axis.name);
  const frame = chart({ label: `What is believed over ${across.name} and ${up.name}`, xs, ys, xName: title(across), yName: title(up),
    optionsX: across.options, optionsY: up.options, height: 320 });
  const all = mean.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  frame.plot.append(draw("image", { href: image(mean, low, high), x: frame.x(xs[0]), y: frame.y(ys[1]), width: frame.x(xs[1]) - frame.x(xs[0]),
    height: frame.y(ys[0]) - frame.y(ys[1]), preserveAspectRatio: "none" }));
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
