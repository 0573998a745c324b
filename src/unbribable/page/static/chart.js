// Drawing with plain SVG: elements, scales, axes, lines and bands.

const NAMESPACE = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children; strings become text. */
export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(NAMESPACE, tag), attributes, children);
}

/** The same for HTML. */
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A table: heads, then rows of [cell, class, title]; the first of a row names it. On a phone, cards. */
export function table(heads, rows) {
  const cells = ([first, ...others]) => [make("th", { scope: "row", "data-name": heads[0] }, first[0]),
    ...others.map(([cell, kind = "", title = null], k) => make("td", { class: kind, title, "data-name": heads[k + 1] }, cell))];
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row)))));
}

/** Round numbers between low and high, about n of them; whole ones if asked for. */
export function ticks(low, high, n = 5, isWhole = false) {
  const raw = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max([1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999 && !(isWhole && k === 2.5)), isWhole ? 1 : 0);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found;
}

/** Round numbers between low > 0 and high where equal ratios are equally far apart: powers of ten, or fewer or more. */
function ratios(low, high, isWhole) {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return ticks(low, high, 4, isWhole);
  const every = Math.ceil(decades / 6);
  const found = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1) {
    const parts = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
    if (k % every === 0) found.push(...parts.map((part) => Number(`${part}e${k}`)));
  }
  return found.filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

/** The scale of a parameter: {place, edges, marks}. `place` puts values on it, `edges` lie around those of the axis, marks are [place, words]. */
export function scale({ values, options = null, is_log: isLog = false, is_whole: isWhole = false }) {
  const place = isLog ? Math.log10 : (value) => value;
  const places = values.map(place);
  const middles = places.slice(1).map((each, k) => (each + places[k]) / 2);
  const edges = [2 * places[0] - middles[0], ...middles, 2 * places.at(-1) - middles.at(-1)];
  const named = (text) => (text.length < 20 ? text : `${text.slice(0, 18)}…`);
  const [low, high] = [values[0], values.at(-1)];
  const round = isLog ? ratios(low, high, isWhole) : ticks(low, high, 5, isWhole);
  return { place, edges, marks: options ? options.map((option, k) => [k, named(option)]) : round.map((value) => [place(value), short(value)]) };
}

/** A number in few digits, with a true minus sign. */
export function short(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(+value.toPrecision(digits));
  return text.replace("-", "−");
}

/** An empty chart: {root, plot, x, y, width, height}. `x` and `y` map places to pixels; marks are [place, words]. */
export function chart({ label, xs, ys, xName, yName, width = 400, height = 260, marksX = null, marksY = null }) {
  const [left, right, top, bottom] = [44, 10, 10, 36];
  const x = (value) => left + ((value - xs[0]) / (xs[1] - xs[0] || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - ys[0]) / (ys[1] - ys[0] || 1)) * (height - top - bottom);
  const root = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  const marks = (range) => ticks(...range).map((value) => [value, short(value)]);
  for (const [value, words] of marksY ?? marks(ys)) {
    root.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    root.append(draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, words));
  }
  for (const [value, words] of marksX ?? marks(xs)) {
    root.append(draw("line", { class: "axis", x1: x(value), x2: x(value), y1: y(ys[0]), y2: y(ys[0]) + 4 }));
    root.append(draw("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, words));
  }
  root.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: y(ys[0]), y2: y(ys[0]) }));
  root.append(draw("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xName));
  const middle = (top + height - bottom) / 2;
  root.append(draw("text", { x: 10, y: middle, "text-anchor": "middle", transform: `rotate(-90 10 ${middle})` }, yName));
  const plot = draw("g");
  root.append(plot);
  const clamped = (value) => y(Math.min(Math.max(value, ys[0]), ys[1]));
  return { root, plot, x, y: clamped, width, height };
}

/** The path through points; [x, y] pairs of values. */
export function path(frame, points) {
  return points.map(([u, v], k) => `${k ? "L" : "M"}${frame.x(u).toFixed(1)} ${frame.y(v).toFixed(1)}`).join("");
}

/** The closed path between two lines over the same xs. */
export function between(frame, xs, lower, upper) {
  const there = xs.map((u, k) => [u, upper[k]]);
  const back = xs.map((u, k) => [u, lower[k]]).reverse();
  return `${path(frame, [...there, ...back])}Z`;
}

/** A star with five points around (u, v) in pixels. */
export function star(u, v, radius = 7) {
  const corners = Array.from({ length: 10 }, (_, k) => {
    const r = k % 2 ? radius * 0.42 : radius;
    const angle = (Math.PI / 5) * k - Math.PI / 2;
    return `${(u + r * Math.cos(angle)).toFixed(1)},${(v + r * Math.sin(angle)).toFixed(1)}`;
  });
  return draw("polygon", { class: "best", points: corners.join(" ") });
}

/** A cross around (u, v) in pixels. */
export function cross(u, v, r = 3.5) {
  return draw("path", { class: "lie", d: `M${u - r} ${v - r}l${2 * r} ${2 * r}M${u - r} ${v + r}l${2 * r} ${-2 * r}` });
}

/** An arrow whose tip is beyond (u, v) in pixels: way 1 for down, -1 for up. */
export function arrow(u, v, way, kind = "") {
  return draw("path", { class: `cut ${kind}`, d: `M${u - 5} ${v}h10l-5 ${8 * way}Z` });
}
