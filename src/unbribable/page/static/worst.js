// The worst case against the number of lies: a bar for each, from the least that there must be.
import { arrow, chart, cross, draw } from "/static/chart.js";

/** {root, entries}: the chart, and what its key has to name besides the estimate. */
export function worstCase({ rows, least, last, is_open: isOpen, allowed, flagged, limits, worse, short_of: shortOf }, estimate, n) {
  const place = (k) => (isOpen || k <= last ? Math.min(k, last) : null);
  const every = 1 + Math.floor(last / 13);
  const marksX = Array.from({ length: last + 1 }, (_, k) => k).filter((k) => (last - k) % every === 0).map((k) => [k, `${k}${isOpen && k === last ? "+" : ""}`]);
  const frame = chart({ label: "Worst case by the number of lies", xs: [-0.6, last + 0.6], ys: limits, marksX, xName: `lies among the ${n} readings, at most`, yName: "f(x) at the answer", height: 280 });
  const [top, bottom] = [frame.y(limits[1]), frame.y(limits[0])];
  const half = (frame.x(1) - frame.x(0)) / 4;
  const entries = [];
  if (least > 0) {
    const edge = frame.x(least - 0.5);
    frame.plot.append(draw("rect", { class: "excluded", x: frame.x(-0.6), width: edge - frame.x(-0.6), y: top, height: bottom - top }));
  }
  const dark = allowed === null ? null : place(allowed);
  for (const [k, lower, upper] of rows) {
    const [from, to] = [frame.y(upper), frame.y(lower)];
    frame.plot.append(draw("rect", { class: k === dark ? "bar allowed" : "bar", x: frame.x(k) - half, width: 2 * half, y: from, height: Math.max(to - from, 1) }));
  }
  frame.plot.append(draw("line", { class: "robust", x1: frame.x(-0.6), x2: frame.x(last + 0.6), y1: frame.y(estimate), y2: frame.y(estimate) }));
  if (worse !== null) frame.plot.append(draw("path", { class: "worse", d: `M${frame.x(-0.6)} ${frame.y(worse)}H${frame.x(last + 0.6)}` }));
  const kinds = new Set();
  for (const [k, lower, upper] of rows) {
    const isLast = isOpen && k === last;
    const kind = isLast ? "open" : "cut";
    if (isLast || lower < limits[0]) frame.plot.append(arrow(frame.x(k), frame.y(lower) - 9, 1, kind));
    if (isLast || upper > limits[1]) frame.plot.append(arrow(frame.x(k), frame.y(upper) + 9, -1, kind));
    if (isLast || lower < limits[0] || upper > limits[1]) kinds.add(kind);
  }
  if (flagged > 0 && place(flagged) !== null) frame.plot.append(cross(frame.x(place(flagged)), bottom, 4));
  if (dark !== null) entries.push(["allowed", `worst case as printed, for ${allowed}`]);
  if (rows.some(([k]) => k !== dark)) entries.push(["bar", "worst case for so many lies"]);
  if (least > 0) entries.push(["excluded", `excluded: at least ${least} ${least === 1 ? "is a lie" : "are lies"}`]);
  if (flagged > 0 && place(flagged) !== null) entries.push(["lie", `number that looks false: ${flagged}`]);
  if (worse !== null) entries.push(["worse", shortOf]);
  if (kinds.has("cut")) entries.push(["cut", "goes on beyond the axis"]);
  if (kinds.has("open")) entries.push(["open", "no bound is left but |f| ≤ B0"]);
  return { root: frame.root, entries };
}
