// Watch a study: ask again every two seconds, draw what is new, and take readings out with a reason.
import { ask, byId, say, takeFiles, token } from "/static/common.js";
import { arrow, between, chart, cross, draw, make, path, scale, short, star, table, ticks } from "/static/chart.js";
import { plane } from "/static/plane.js";
import { worstCase } from "/static/worst.js";

const EVERY = 2000; // milliseconds between looks
const MOST_BYTES = 5_000_000; // of a file, as the server allows
const MOST = 2500; // readings drawn one by one; of more, every k-th
let study = null; // as the server sent it last
let name = "";
let isCopy = false; // a file that was dropped: nothing can be retracted in it

const number = (t) => t - 1 + study.first;
const called = (t) => `${study.counted} ${number(t)}`;
const words = (params) => Object.entries(params).map(([key, value]) => `${key} = ${typeof value === "number" ? short(value, 5) : value}`).join(", ");

const plain = (text) => text.replaceAll("+-", "±");

// --- looking -------------------------------------------------------------------------------------

async function look() {
  let wait = EVERY;
  try {
    const found = await ask("/api/study", { name, seen: study?.number ?? 0 });
    if (found.number && found.number !== study?.number) {
      study = found;
      show();
    }
    if (found.is_behind && !study?.answer) wait = EVERY / 4; // nothing to read yet
    if (found.error) say(found.error, true);
    else if (found.is_behind) say(study?.answer ? "New readings: working out what they change …" : "Working out what the readings say …");
    else say(`Up to date at ${new Date().toLocaleTimeString()}.`);
  } catch (error) {
    say(`The study cannot be read: ${error.message}`, true);
  }
  setTimeout(look, wait);
}

function show() {
  byId("count").textContent = `${study.y.length} readings${study.n_failed ? `, ${study.n_failed} rounds without one` : ""}, to be ${study.direction}d`;
  const { answer } = study;
  byId("answers").replaceChildren(...(answer ? [robust(), naive()] : study.y.length ? [] : [make("p", {}, "No reading yet.")]));
  byId("suspects").replaceChildren(...(answer ? suspects() : []));
  byId("charts").replaceChildren(...(study.y.length ? [history()] : []), ...(answer ? [worst(), ...study.sections.map(section)] : []));
  byId("basis").replaceChildren(...(answer ? [basis()] : []));
}

function robust() {
  const { params, estimate, estimate_sd: sd, lower, upper, is_guaranteed: isGuaranteed, needs, price } = study.answer;
  return make("article", { class: "panel", id: "robust" },
    make("h2", {}, "Use this"),
    make("p", { class: "big params" }, words(params)),
    make("p", {}, `Expect ${short(estimate, 4)} ± ${short(sd, 2)}, an estimate from the readings that look honest.`),
    make("p", { id: "worst" }, lower === null ? "No worst case: the readings contradict the assumptions."
      : `Worst case: ${short(lower, 4)} to ${short(upper, 4)}, ${isGuaranteed ? "under the conditions at the end of the page" : "not guaranteed: the end of the page says why"}.`),
    needs ? make("p", { id: "needs" }, `${plain(needs)}.`) : null,
    make("h2", {}, "What it would cost a briber"),
    make("p", { id: "price" }, price === null ? "–" : plain(price)));
}

function naive() {
  const { t, y, params, is_flagged: isFlagged } = study.naive;
  return make("article", { class: "panel", id: "naive" },
    make("h2", {}, "Believing every reading"),
    make("p", { class: "big params" }, words(params)),
    make("p", {}, `The best reading, ${short(y, 5)}, of ${called(t)}.`),
    make("p", { class: isFlagged ? "bad" : "soft" }, isFlagged ? "It looks false: do not rely on it." : "It does not look false."));
}

function suspects() {
  if (!study.suspects.length) return [make("h2", {}, "Suspicious readings"), make("p", { class: "soft" }, "None.")];
  const heads = [study.counted, "where", "read", "expected", "what speaks against it", ""];
  const rows = study.suspects.map((each) => {
    const button = make("button", { type: "button", "aria-label": `Retract ${called(each.t)}` }, "Retract …");
    button.addEventListener("click", () => open(each));
    return [[number(each.t)], [words(each.params), "params"], [short(each.y, 5), "number"],
      [`${short(each.expected, 4)} ± ${short(each.sd, 2)}`, "number"], [plain(each.evidence.join("; "))], [isCopy ? "" : button]];
  });
  const more = study.flagged.length - study.suspects.length;
  return [make("h2", {}, `Suspicious readings: ${study.flagged.length}`),
    table(heads, rows),
    make("p", { class: "soft small" }, `${more > 0 ? `${more} more are not listed. ` : ""}A flag is a heuristic, not a proof. `
      + "Lies are allowed for already: leave readings in unless you know that something went wrong.")];
}

function basis() {
  const { missing } = study;
  const gone = make("details", {}, make("summary", {}, `Without a reading: ${missing.length}`),
    make("ul", {}, ...missing.slice(-100).map(({ t, error }) => make("li", {}, `${called(t)}: ${error}`))));
  return make("div", {}, missing.length ? gone : null, make("details", {}, make("summary", {}, "What is guaranteed, and what that rests on"),
    make("p", {}, study.answer.guarantee), ...study.answer.left_to_gain.map((line) => make("p", {}, line)),
    make("p", { class: "soft" }, study.answer.assumptions)));
}

// --- charts --------------------------------------------------------------------------------------

/** Ends of an axis around the values, those of the honest readings with a little more room. */
function ends(values, room = 0.08) {
  const finite = values.filter((value) => value !== null);
  const [low, high] = [finite.reduce((a, b) => Math.min(a, b)), finite.reduce((a, b) => Math.max(a, b))];
  const more = room * (high - low || Math.abs(high) || 1);
  return [low - more, high + more];
}

/** Honest readings as one path of dots, the suspicious ones as crosses. */
function readings(frame, { t, y }, xs) {
  const flagged = new Set(study.flagged);
  const step = Math.ceil(y.length / MOST);
  let dots = "";
  const crosses = [];
  y.forEach((value, k) => {
    const [u, v] = [frame.x(xs[k]), frame.y(value)];
    if (flagged.has(t[k])) crosses.push(cross(u, v));
    else if (k % step === 0) dots += `M${u.toFixed(1)} ${v.toFixed(1)}h0`;
  });
  return [draw("path", { class: "dots", d: dots }), ...crosses];
}

function history() {
  const sign = study.direction === "maximize" ? 1 : -1;
  const ts = study.t.map(number);
  const estimate = study.answer?.estimate ?? null;
  const xs = [ts[0] - 0.5, Math.max(...ts) + 0.5];
  const frame = chart({ label: "Readings over time", xs, ys: ends([...study.y, estimate]), marksX: ticks(...xs, 8, true).map((t) => [t, String(t)]),
    xName: study.counted, yName: "reading", width: Math.max(400, byId("charts").clientWidth - 30), height: 280 });
  let best = -Infinity;
  const steps = study.y.flatMap((y, k) => {
    const before = best;
    best = Math.max(best, sign * y);
    return best === before && k < study.y.length - 1 ? [] : [...(before > -Infinity ? [[ts[k], sign * before]] : []), [ts[k], sign * best]];
  });
  frame.plot.append(...readings(frame, study, ts), draw("path", { class: "naive", d: path(frame, steps) }));
  if (estimate !== null) {
    const at = frame.y(estimate);
    frame.plot.append(draw("line", { class: "robust", x1: frame.x(ts[0]), x2: frame.x(Math.max(...ts)), y1: at, y2: at }));
  }
  const entries = estimate === null ? [["dots", "reading"]] : [["dots", "honest reading"], ["lie", "suspicious reading"]];
  return make("article", { class: "panel wide" }, make("h2", {}, "Readings over time"), frame.root,
    key(...entries, ["naive", "best reading so far (naive)"], ...(estimate === null ? [] : [["robust", "value to expect at the robust answer"]])));
}

function worst() {
  const { worst_case: part, answer } = study;
  const { root, entries } = worstCase(part, answer.estimate, study.of.y.length);
  return make("article", { class: "panel", id: "by-lies" }, make("h2", {}, "Worst case by the number of lies"), root,
    key(...entries, ["robust", "value to expect (an estimate)"]), make("p", { class: "soft small" }, part.words));
}

function key(...entries) {
  const mark = { dots: () => draw("path", { class: "dots", d: "M13 7h0" }), lie: () => cross(13, 7, 4), best: () => star(13, 7, 6.5),
    naive: () => draw("path", { class: "naive", d: "M0 7h26" }), robust: () => draw("path", { class: "robust", d: "M0 7h26" }),
    mean: () => draw("path", { class: "mean", d: "M0 7h26" }), dash: () => draw("path", { class: "mean", d: "M4 7h18" }), near: () => draw("rect", { class: "near", width: 26, height: 14 }),
    interval: () => draw("rect", { class: "interval", width: 26, height: 14 }), bar: () => draw("rect", { class: "bar", width: 26, height: 14 }),
    allowed: () => draw("rect", { class: "bar allowed", width: 26, height: 14 }), excluded: () => draw("rect", { class: "excluded", width: 26, height: 14 }),
    worse: () => draw("path", { class: "worse", d: "M0 7h26" }), cut: () => arrow(13, 11, -1), open: () => arrow(13, 11, -1, "open") };
  return make("div", { class: "key" }, ...entries.map(([kind, text]) =>
    make("span", {}, draw("svg", { class: "chart", viewBox: "0 0 26 14", "aria-hidden": "true" }, mark[kind]()), text)));
}

/** The belief along one parameter, or on the plane of two. */
function section(part) {
  const { t, y } = study.of;
  if (part.axes.length === 2) return plane(part, new Set(study.flagged), t);
  const [axis] = part.axes;
  const { place, edges, marks } = scale(axis);
  const places = axis.values.map(place);
  const isAlone = study.sections.length === 1;
  const honest = y.filter((_, k) => !study.flagged.includes(t[k]));
  const ys = ends([...part.near[0], ...part.near[1], ...honest, ...(isAlone ? y : [])]);
  const frame = chart({ label: `What is believed along ${axis.name}`, xs: axis.is_points ? [edges[0], edges.at(-1)] : ends(places, 0.03), ys, xName: axis.name, yName: "value", marksX: marks });
  const worst = [part.lower, part.upper];
  const isSeen = worst.some((edge) => edge.some((value) => value !== null && value > ys[0] && value < ys[1]));
  frame.plot.append(...(isSeen ? spread(frame, axis, places, worst, "interval") : []), ...spread(frame, axis, places, part.near, "near"));
  if (axis.is_points) frame.plot.append(...places.map((u, k) => dash(frame, u, part.mean[k])));
  else frame.plot.append(draw("path", { class: "mean", d: path(frame, places.map((u, k) => [u, part.mean[k]])) }));
  frame.plot.append(...readings(frame, study.of, axis.readings.map(place)), star(frame.x(place(axis.at)), frame.y(study.answer.estimate)));
  const entries = [[axis.is_points ? "dash" : "mean", "estimate"], ["near", "± 2 sd"], ...(isSeen ? [["interval", "worst case"]] : []), ["best", "robust answer"]];
  const words = study.answer.lower !== null && !isSeen ? "The worst case is wider than this panel." : "";
  return make("article", { class: "panel" }, make("h2", {}, isAlone ? "What is believed" : `Along ${axis.name}, through the answer`), frame.root,
    key(...entries), words && make("p", { class: "soft small" }, words));
}

/** From a lower to an upper line: a band, or a bar at each of the values if there is nothing between them. */
function spread(frame, axis, xs, [lower, upper], kind) {
  if (!axis.is_points) return lower.includes(null) ? [] : [draw("path", { class: kind, d: between(frame, xs, lower, upper) })];
  const half = (kind === "near" ? 0.16 : 0.24) * (frame.x(xs[1]) - frame.x(xs[0]));
  return xs.flatMap((u, k) => (lower[k] === null ? [] : [draw("rect", { class: kind, x: frame.x(u) - Math.min(half, 14), width: 2 * Math.min(half, 14),
    y: frame.y(upper[k]), height: Math.max(frame.y(lower[k]) - frame.y(upper[k]), 0) })]));
}

function dash(frame, u, value) {
  return draw("path", { class: "mean", d: `M${(frame.x(u) - 9).toFixed(1)} ${frame.y(value).toFixed(1)}h18` });
}

// --- retracting ----------------------------------------------------------------------------------

let doubted = null;

function open(suspect) {
  doubted = suspect;
  byId("retraction").reset();
  byId("retracting").textContent = `Retract the reading ${short(suspect.y, 5)} of ${called(suspect.t)}?`;
  byId("dialog").showModal();
}

byId("leave").addEventListener("click", () => byId("dialog").close());
byId("retraction").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { reason, unrelated } = Object.fromEntries(new FormData(event.target));
  byId("dialog").close();
  const body = JSON.stringify({ name, t: doubted.t, reason, unrelated_to_value: unrelated === "yes" });
  try {
    await ask("/api/retract", {}, { method: "POST", body });
    say(`Retracted ${called(doubted.t)}: ${unrelated === "yes" ? "the guarantee supposes that its value was not the reason" : "nothing is guaranteed any more"}.`);
  } catch (error) {
    say(`Nothing was retracted: ${error.message}`, true);
  }
});

// --- wiring --------------------------------------------------------------------------------------

/** Show another study. */
function go(other) {
  location.search = `?token=${encodeURIComponent(token)}&study=${encodeURIComponent(other)}`;
}

async function take(file) {
  if (!file) return;
  if (file.size > MOST_BYTES) {
    say(`${file.name} must have at most ${MOST_BYTES / 1e6} MB, got ${(file.size / 1e6).toFixed(1)} MB.`, true);
    return;
  }
  try {
    const found = await ask("/api/watch", { name: file.name }, { method: "POST", body: file });
    go(found.name);
  } catch (error) {
    say(`This file cannot be watched: ${error.message}`, true);
  }
}

takeFiles(take);

async function begin() {
  try {
    const { names, copies } = await ask("/api/studies");
    if (!names.length) throw new Error("there is none here. Drop its file below, or start with “unbribable page study.json”, or with a database.");
    const wanted = new URLSearchParams(location.search).get("study");
    name = names.includes(wanted) ? wanted : names[0];
    byId("names").replaceChildren(...names.map((each) => make("option", { value: each }, each)));
    byId("names").value = name;
    isCopy = copies.includes(name);
    byId("names").addEventListener("change", () => go(byId("names").value));
    look();
  } catch (error) {
    say(`No study to watch: ${error.message}`, true);
    if (error.status !== 403) setTimeout(begin, EVERY); // it may come back
  }
}
begin();
