// Watch a study: ask again every two seconds, draw what is new, and take readings out with a reason.
import { ask, byId, say, token } from "/static/common.js";
import { between, chart, cross, draw, make, path, short, star, table } from "/static/chart.js";
import { plane } from "/static/plane.js";

const EVERY = 2000; // milliseconds between looks
const MOST = 2500; // readings drawn one by one; of more, every k-th
let study = null; // as the server sent it last
let name = "";

const number = (t) => t - 1 + study.first;
const called = (t) => `${study.counted} ${number(t)}`;
const words = (params) => Object.entries(params).map(([key, value]) => `${key} = ${typeof value === "number" ? short(value, 5) : value}`).join(", ");

const plain = (text) => text.replaceAll("+-", "±");

// --- looking -------------------------------------------------------------------------------------

async function look() {
  try {
    const found = await ask("/api/study", { name, seen: study?.number ?? 0 });
    if (found.number && found.number !== study?.number) {
      study = found;
      show();
    }
    if (found.error) say(found.error, true);
    else if (found.is_behind) say(study ? "New readings: working out what they change …" : "Working out what the readings say …");
    else say(`Up to date at ${new Date().toLocaleTimeString()}.`);
  } catch (error) {
    say(`The study cannot be read: ${error.message}`, true);
  }
  setTimeout(look, EVERY);
}

function show() {
  byId("count").textContent = `${study.y.length} readings${study.n_failed ? `, ${study.n_failed} rounds without one` : ""}, to be ${study.direction}d`;
  const parts = study.answer ? [robust(), naive()] : [make("p", {}, "No reading yet.")];
  byId("answers").replaceChildren(...parts);
  byId("suspects").replaceChildren(...(study.answer ? suspects() : []));
  byId("charts").replaceChildren(...(study.answer ? [history(), ...study.sections.map(section)] : []));
  byId("basis").replaceChildren(...(study.answer ? [basis()] : []));
}

function robust() {
  const { params, estimate, estimate_sd: sd, lower, upper, price } = study.answer;
  return make("article", { class: "panel", id: "robust" },
    make("h2", {}, "Use this"),
    make("p", { class: "big params" }, words(params)),
    make("p", {}, `Expect ${short(estimate, 4)} ± ${short(sd, 2)}, an estimate from the readings that look honest.`),
    make("p", {}, lower === null ? "No worst case: the readings contradict the assumptions." : `Worst case: ${short(lower, 4)} to ${short(upper, 4)}, under the conditions at the end of the page.`),
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
      [`${short(each.expected, 4)} ± ${short(each.sd, 2)}`, "number"], [plain(each.evidence.join("; "))], [button]];
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
    make("p", {}, study.answer.guarantee), make("p", { class: "soft" }, study.answer.assumptions)));
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
function readings(frame, xs) {
  const flagged = new Set(study.flagged);
  const step = Math.ceil(study.y.length / MOST);
  let dots = "";
  const crosses = [];
  study.y.forEach((y, k) => {
    const [u, v] = [frame.x(xs[k]), frame.y(y)];
    if (flagged.has(study.t[k])) crosses.push(cross(u, v));
    else if (k % step === 0) dots += `M${u.toFixed(1)} ${v.toFixed(1)}h0`;
  });
  return [draw("path", { class: "dots", d: dots }), ...crosses];
}

function history() {
  const sign = study.direction === "maximize" ? 1 : -1;
  const ts = study.t.map(number);
  const frame = chart({ label: "Readings over time", xs: [ts[0] - 0.5, Math.max(...ts) + 0.5], ys: ends([...study.y, study.answer.estimate]),
    xName: study.counted, yName: "reading", width: Math.max(400, byId("charts").clientWidth - 30), height: 280 });
  let best = -Infinity;
  const steps = study.y.flatMap((y, k) => {
    const before = best;
    best = Math.max(best, sign * y);
    return best === before && k < study.y.length - 1 ? [] : [...(before > -Infinity ? [[ts[k], sign * before]] : []), [ts[k], sign * best]];
  });
  const at = frame.y(study.answer.estimate);
  frame.plot.append(...readings(frame, ts), draw("path", { class: "naive", d: path(frame, steps) }),
    draw("line", { class: "robust", x1: frame.x(ts[0]), x2: frame.x(Math.max(...ts)), y1: at, y2: at }));
  return make("article", { class: "panel wide" }, make("h2", {}, "Readings over time"), frame.root,
    key(["dots", "honest reading"], ["lie", "suspicious reading"], ["naive", "best reading so far (naive)"], ["robust", "value to expect at the robust answer"]));
}

function key(...entries) {
  const mark = { dots: () => draw("path", { class: "dots", d: "M13 7h0" }), lie: () => cross(13, 7, 4), best: () => star(13, 7, 6.5),
    naive: () => draw("path", { class: "naive", d: "M0 7h26" }), robust: () => draw("path", { class: "robust", d: "M0 7h26" }),
    mean: () => draw("path", { class: "mean", d: "M0 7h26" }), near: () => draw("rect", { class: "near", width: 26, height: 14 }),
    interval: () => draw("rect", { class: "interval", width: 26, height: 14 }) };
  return make("div", { class: "key" }, ...entries.map(([kind, text]) =>
    make("span", {}, draw("svg", { class: "chart", viewBox: "0 0 26 14", "aria-hidden": "true" }, mark[kind]()), text)));
}

/** The belief along one parameter, or on the plane of two. */
function section(part) {
  if (part.axes.length === 2) return plane(part, new Set(study.flagged), study.t);
  const [axis] = part.axes;
  const place = axis.is_log ? (value) => Math.log10(value) : (value) => value;
  const xs = axis.values.map(place);
  const honest = study.y.filter((_, k) => !study.flagged.includes(study.t[k]));
  const frame = chart({ label: `What is believed along ${axis.name}`, xs: ends(xs, 0.03), ys: ends([...part.near[0], ...part.near[1], ...honest, ...(study.sections.length === 1 ? study.y : [])]),
    xName: axis.is_log ? `log₁₀ ${axis.name}` : axis.name, yName: "value", optionsX: axis.options });
  const { plot } = frame;
  if (part.lower.every((value) => value !== null)) plot.append(draw("path", { class: "interval", d: between(frame, xs, part.lower, part.upper) }));
  plot.append(draw("path", { class: "near", d: between(frame, xs, ...part.near) }));
  plot.append(draw("path", { class: "mean", d: path(frame, xs.map((u, k) => [u, part.mean[k]])) }));
  plot.append(...readings(frame, axis.readings.map(place)), star(frame.x(place(axis.at)), frame.y(study.answer.estimate)));
  return make("article", { class: "panel" }, make("h2", {}, study.sections.length === 1 ? "What is believed" : `Along ${axis.name}, through the answer`), frame.root,
    key(["mean", "estimate"], ["near", "± 2 sd"], ["interval", "worst case"], ["best", "robust answer"]));
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

async function begin() {
  try {
    const { names } = await ask("/api/studies");
    if (!names.length) throw new Error("there is none here. Start with “unbribable page study.json”, or with a database.");
    const wanted = new URLSearchParams(location.search).get("study");
    name = names.includes(wanted) ? wanted : names[0];
    byId("names").replaceChildren(...names.map((each) => make("option", { value: each }, each)));
    byId("names").value = name;
    byId("names").addEventListener("change", () => {
      location.search = `?token=${encodeURIComponent(token)}&study=${encodeURIComponent(byId("names").value)}`;
    });
    look();
  } catch (error) {
    say(`No study to watch: ${error.message}`, true);
  }
}
begin();
