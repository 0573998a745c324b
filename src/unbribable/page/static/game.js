// Be the liar: the address holds the game, the server replays it, this file shows it and takes the next move.
import { ask, byId, say, token } from "/static/common.js";
import { between, chart, cross, draw, make, path, short, star, table } from "/static/chart.js";

const DASHES = ["", "7 3", "7 2 1.5 2", "2 2.5", "9 2 2 2 2 2"];
const COLOURS = { right: "good", wrong: "unsure", fooled: "bad" };
const NEAR = 0.06; // how far a lie to one learner is told to the others

let game = null; // the position as the server sent it
let moves = ""; // of this position, as in the address
let lies = []; // of the next round, in hundredths: for each learner one per point
let isBusy = false;
let seen = 0; // the panel that a phone shows

// --- the address ---------------------------------------------------------------------------------

function address(setting, played) {
  const words = ["seed", "threat", "budget", "rounds"].map((key) => `${key}=${encodeURIComponent(setting[key])}`);
  const kept = token ? [`token=${token}`] : [];
  return `?${[...kept, ...words].join("&")}${played ? `&moves=${played}` : ""}`;
}

async function load({ isNew = false } = {}) {
  isBusy = true;
  say("");
  const query = location.search || address({ seed: 1, threat: "weak", budget: 2, rounds: 40 }, "");
  try {
    const words = new URLSearchParams(query);
    words.delete("token");
    game = await ask("/api/game", words);
    moves = words.get("moves") ?? "";
    lies = game.players.map((player) => player.view.map(() => 0));
    show(isNew);
  } catch (error) {
    say(`This did not work: ${error.message}`, true);
  } finally {
    isBusy = false;
  }
}

function begin(setting) {
  history.pushState(null, "", address(setting, ""));
  load();
}

function play(part) {
  if (isBusy || game === null || game.is_over) return;
  const played = moves ? `${moves}.${part}` : part;
  history.pushState(null, "", address(game, merged(played)));
  load({ isNew: true });
}

/** `h.h3` is `h4`: a liar who plays on needs no new part. */
function merged(played) {
  const parts = [];
  for (const part of played.split(".")) {
    const now = part.match(/^([a-z])(\d*)$/);
    const before = parts.at(-1)?.match(/^([a-z])(\d*)$/);
    if (now && before && now[1] === before[1]) {
      parts[parts.length - 1] = `${now[1]}${Number(now[2] || 1) + Number(before[2] || 1)}`;
    } else parts.push(part);
  }
  return parts.join(".");
}

function tell() {
  play(lies.map((own) => own.map((lie) => lie || "").join("~")).join("_"));
}

// --- showing a position --------------------------------------------------------------------------

function show(isNew) {
  const form = byId("setting");
  for (const key of ["seed", "threat", "budget", "rounds"]) choose(form.elements[key], String(game[key]));
  byId("round").textContent = game.is_over ? `All ${game.rounds} rounds played` : `Round ${game.t + 1} of ${game.rounds}`;
  byId("assumptions").textContent = `What the learners are told, all of it true: ${game.assumptions}`;
  for (const id of ["tell", "one", "ten", "rest"]) byId(id).disabled = game.is_over;
  showLiars();
  byId("spent").hidden = game.is_over || game.players.some((player) => limit(player) > 0);
  const held = document.activeElement?.dataset?.seat;
  byId("panels").replaceChildren(...game.players.map(panel), answersPanel());
  showSeats();
  if (held !== undefined) document.querySelector(`[data-seat="${held}"]`)?.focus({ preventScroll: true });
  showVerdict(isNew);
}

/** A phone shows one panel at a time: buttons for which one, each with the lie that is to be told there. */
function showSeats() {
  const labels = [...game.players.map((player) => player.label), "How wrong they are"];
  const buttons = labels.map((label, seat) => {
    const player = game.players[seat];
    const isFooled = player?.rounds.at(-1)?.is_fooled;
    const swatch = make("span", { class: "swatch" });
    if (player) swatch.style.background = player.colour;
    const button = make("button", { type: "button" }, player ? swatch : null, label,
      isFooled ? make("span", { class: "bad" }, "fooled") : null, make("span", { class: "soft", id: `told-${seat}` }));
    button.addEventListener("click", () => see(seat));
    return button;
  });
  byId("seats").replaceChildren(...buttons);
  see(seen);
}

function see(seat) {
  seen = seat;
  [...byId("seats").children].forEach((button, k) => button.setAttribute("aria-pressed", k === seat));
  [...byId("panels").children].forEach((shown, k) => shown.classList.toggle("seen", k === seat));
}

/** Set a field; an address may hold a value that the list does not offer. */
function choose(field, value) {
  if (field.options && ![...field.options].some((option) => option.value === value)) field.append(new Option(value));
  field.value = value;
}

function showLiars() {
  const chosen = byId("liar").value || "h";
  const offered = Object.entries(game.liars).filter(([, liar]) => game.threat === "strong" || !liar.needs_strong);
  byId("liar").replaceChildren(...offered.map(([key, liar]) => make("option", { value: key, title: liar.words }, liar.name)));
  byId("liar").value = game.liars[chosen] && offered.some(([key]) => key === chosen) ? chosen : "h";
  byId("liar").title = game.liars[byId("liar").value].words;
}

/** The largest lie that a learner can be told now, in hundredths. */
function limit(player) {
  return Math.floor(100 * Math.min(game.c_max, player.left) + 1e-6);
}

function panel(player, seat) {
  const last = player.rounds.at(-1);
  const frame = chart({
    label: `${player.label}: what it believes, what was told, and where it asks next`,
    xs: [0, 1], ys: [-1, 1.6], xName: "x", yName: "value",
  });
  const { plot, x, y } = frame;
  if (player.lower) {
    plot.append(draw("path", { class: "band", d: between(frame, game.X, player.lower, player.upper), fill: player.colour }));
    for (const side of [player.lower, player.upper]) {
      plot.append(draw("path", { class: "edge", d: path(frame, game.X.map((u, k) => [u, side[k]])), stroke: player.colour }));
    }
  }
  plot.append(draw("path", { class: "line", d: path(frame, game.X.map((u, k) => [u, player.mu[k]])), stroke: player.colour, "stroke-dasharray": "5 3" }));
  plot.append(draw("path", { class: "truth", d: path(frame, game.X.map((u, k) => [u, game.f[k]])) }));
  for (const round of player.rounds) plot.append(...reading(frame, round));
  if (last) plot.append(star(x(player.best.x), y(player.best.f)));
  const handles = player.view.map((point, k) => handle(frame, player, seat, point, k));
  plot.append(...handles);
  const article = make("article", { class: "panel" }, heading(player, seat), frame.root, facts(player, seat));
  return article;
}

function heading(player, seat) {
  const swatch = make("span", { class: "swatch" });
  swatch.style.background = player.colour;
  return make("h2", { id: `player-${seat}` }, swatch, player.label);
}

function reading(frame, round) {
  const [u, v] = [frame.x(round.x), frame.y(round.y_tilde)];
  if (round.c === 0) return [draw("circle", { class: "reading", cx: u, cy: v, r: 2.6 })];
  const honest = frame.y(round.f + round.noise);
  return [draw("line", { class: "moved", x1: u, x2: u, y1: honest, y2: v }), cross(u, v)];
}

function facts(player, seat) {
  const last = player.rounds.at(-1);
  const isFooled = last?.is_fooled;
  const meter = make("meter", { min: 0, max: game.budget, value: player.left, "aria-label": "Budget left" });
  const certificate = !last ? "–" : last.certificate === null
    ? `none: readings contradict its assumptions (round ${player.refuted ?? game.t})`
    : `at most ${short(last.certificate)}`;
  return make("dl", { class: "facts" },
    make("dt", {}, "its answer is worse by"),
    make("dd", { class: isFooled ? "bad" : "" }, last ? `${short(last.loss)}${isFooled ? " (more than it certifies)" : ""}` : "–"),
    make("dt", {}, "it certifies"), make("dd", { title: player.best.words }, certificate),
    make("dt", {}, "your budget"), make("dd", {}, meter, ` ${short(player.left)} left `, make("span", { class: "bad", id: `cost-${seat}` })),
    ...(player.detected ? [make("dt", {}, "detected you"), make("dd", {}, `in round ${player.detected}`)] : []),
  );
}

/** By how much each answer was worse than the peak; crosses where the learner certified less. */
function answersPanel() {
  const most = Math.max(0.1, ...game.players.flatMap((player) => player.rounds.map((round) => round.loss)));
  const frame = chart({ label: "Regret of the answers of all learners", xs: [0, game.rounds], ys: [0, 1.05 * most], xName: "round", yName: "regret of the answer" });
  const crosses = [];
  game.players.forEach((player, k) => {
    const points = player.rounds.flatMap(({ loss }, n) => [[n, loss], [n + 1, loss]]);
    frame.plot.append(draw("path", { class: "line", d: path(frame, points), stroke: player.colour, "stroke-dasharray": DASHES[k] }));
    player.rounds.forEach((round, n) => { if (round.is_fooled) crosses.push(cross(frame.x(n + 0.5), frame.y(round.loss), 3)); });
  });
  frame.plot.append(...crosses);
  const key = make("div", { class: "key" }, ...game.players.map((player, k) => make("span", {},
    draw("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" },
      draw("path", { d: "M0 7h26", stroke: player.colour, "stroke-width": 2.5, "stroke-dasharray": DASHES[k] })),
    player.label)), make("span", {}, draw("svg", { class: "chart", viewBox: "0 0 26 14", "aria-hidden": "true" }, cross(13, 7, 3)), "fooled"));
  return make("article", { class: "panel" }, make("h2", {}, "How wrong they are"), frame.root, key,
    make("p", { class: "soft small" }, "How much better the peak is than the answer that each learner gives. "
      + "A cross: the learner certifies that it is less."));
}

function showVerdict(isNew) {
  const section = byId("verdict");
  section.hidden = !game.is_over;
  if (!game.is_over) return;
  const rows = game.players.map((player) => {
    const { kind, words, spent, price, probability, price_words: proof } = player.verdict;
    return [[player.label], [words, COLOURS[kind]], [`${short(spent)} of ${short(game.budget)}`, "number"],
      [price === null ? "nothing is proved" : `${short(price)} (probability ${short(probability)})`, "number", proof]];
  });
  const parts = Object.entries(game.heads).map(([kind, head]) => {
    const labels = game.players.filter((player) => player.verdict.kind === kind).map((player) => player.label);
    return labels.length ? make("span", { class: COLOURS[kind] }, `${head}: ${labels.length === game.players.length ? "all" : labels.join("; ")}`) : null;
  });
  const heads = ["learner", "what came of it", "you spent", "proved against lies below"];
  section.replaceChildren(
    make("h2", { id: "came" }, ...parts),
    table(heads, rows), again(),
    make("p", { class: "soft small" }, `Right: no point is better than the answer by more than ${game.eps}. Fooled: the learner certifies `
      + `more than is true. “Proved” is no guess: as long as the lies total less than that, no point is better `
      + `than the learner’s answer by more than ${game.eps}, with at least that probability, given what it was told of the function and the noise.`));
  if (isNew) section.focus();
}

/** A button that begins the same game with other noise. */
function again() {
  const button = make("button", { type: "button" }, "Play again, with other noise");
  button.addEventListener("click", () => begin({ ...game, seed: game.seed + 1 }));
  return button;
}

// --- the visitor's hand --------------------------------------------------------------------------

function handle(frame, player, seat, point, k) {
  const label = player.view.length > 1 || point.who.length > 1 || game.players[seat].label.startsWith("Fast")
    ? `${Math.round(100 * point.probability)} % ${point.who.join("+")}` : "";
  const u = frame.x(point.x);
  const knob = draw("circle", { class: "knob", r: 7 });
  const grip = draw("circle", { class: "grip", r: 18 });
  const side = u > 200 ? { x: u - 6, "text-anchor": "end" } : { x: u + 6, "text-anchor": "start" };
  const text = draw("text", { ...side, class: "halo" });
  const chance = draw("text", { ...side, class: "halo", y: 20 + 13 * k }, label); // two points may be close
  const group = draw("g", {
    class: "handle", role: "slider", tabindex: 0, "data-seat": `${seat}-${k}`,
    "aria-label": `${player.label} asks at x = ${point.x.toFixed(2)}${label ? ` (${label})` : ""}; your lie`,
    "aria-orientation": "vertical",
  }, draw("line", { class: "ask", x1: u, x2: u, y1: frame.y(-1), y2: frame.y(1.6) }), chance, grip, knob, text);
  group.place = () => {
    const lie = lies[seat][k];
    const v = frame.y(point.f + lie / 100);
    for (const circle of [knob, grip]) { circle.setAttribute("cx", u); circle.setAttribute("cy", v); }
    text.setAttribute("y", k % 2 ? v + 18 : v - 9);
    text.textContent = lie ? `${lie > 0 ? "+" : "−"}${Math.abs(lie / 100).toFixed(2)}` : "";
    group.setAttribute("aria-valuenow", lie / 100);
    group.setAttribute("aria-valuetext", lie ? `${(lie / 100).toFixed(2)}` : "the truth");
  };
  const most = limit(player);
  group.setAttribute("aria-valuemin", -most / 100);
  group.setAttribute("aria-valuemax", most / 100);
  const perPixel = () => 2.6 / (frame.root.getBoundingClientRect().height * (214 / 260));
  group.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    group.focus({ preventScroll: true });
    group.setPointerCapture(event.pointerId);
    const [from, start] = [event.clientY, lies[seat][k]];
    const move = (now) => lie(seat, k, start + 100 * (from - now.clientY) * perPixel());
    group.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) {
      group.addEventListener(end, () => group.removeEventListener("pointermove", move), { once: true });
    }
  });
  group.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 25 : 5;
    const goal = { ArrowUp: lies[seat][k] + step, ArrowDown: lies[seat][k] - step, Home: -most, End: most, 0: 0 }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    lie(seat, k, goal);
  });
  group.place();
  return group;
}

/** Set a lie, and the same for all who ask nearby. */
function lie(seat, k, value) {
  const { x } = game.players[seat].view[k];
  game.players.forEach((player, other) => player.view.forEach((point, j) => {
    const isSame = other === seat && j === k;
    if (!isSame && !(byId("linked").checked && Math.abs(point.x - x) <= NEAR)) return;
    const group = document.querySelector(`[data-seat="${other}-${j}"]`);
    const most = limit(player);
    lies[other][j] = Math.round(Math.min(Math.max(value, -most), most));
    group.place();
  }));
  lies.forEach((own, other) => {
    const cost = Math.max(0, ...own.map(Math.abs)) / 100;
    byId(`cost-${other}`).textContent = cost ? `(this round: −${cost.toFixed(2)})` : "";
    byId(`told-${other}`).textContent = cost ? `lie ${cost.toFixed(2)}` : "";
  });
}

// --- wiring --------------------------------------------------------------------------------------

function keyOfMarks() {
  const mark = (...parts) => draw("svg", { class: "chart", viewBox: "0 0 26 14", "aria-hidden": "true" }, ...parts);
  const entries = [
    [mark(draw("path", { class: "truth", d: "M1 11C7 11 9 3 13 3s6 8 12 8" })), "the true function, which only you see"],
    [mark(draw("rect", { width: 26, height: 14, fill: "currentColor", opacity: 0.2 })), "where the learner claims it lies"],
    [mark(draw("path", { d: "M0 7h26", stroke: "currentColor", "stroke-dasharray": "5 3", "stroke-width": 1.8 })), "its expectation"],
    [mark(draw("circle", { class: "reading", cx: 13, cy: 7, r: 3 })), "honest reading"],
    [mark(cross(13, 7, 4)), "lie, and how far it moved the reading"],
    [mark(star(13, 7, 6.5)), "its answer now"],
    [mark(draw("circle", { cx: 13, cy: 7, r: 6, fill: "var(--accent)" })), "where it asks: drag it"],
  ];
  byId("key").replaceChildren(...entries.map(([picture, words]) => make("span", {}, picture, words)));
}

byId("setting").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(Object.fromEntries(new FormData(event.target)));
});
byId("tell").addEventListener("click", tell);
byId("one").addEventListener("click", () => play(byId("liar").value));
byId("ten").addEventListener("click", () => play(`${byId("liar").value}${Math.min(10, game.rounds - game.t)}`));
byId("rest").addEventListener("click", () => play(`${byId("liar").value}${game.rounds - game.t}`));
byId("liar").addEventListener("change", () => { byId("liar").title = game.liars[byId("liar").value].words; say(game.liars[byId("liar").value].words); });
byId("truth").addEventListener("click", () => play(`o${game.rounds - game.t}`));
byId("copy").addEventListener("click", async () => {
  const shared = new URL(location.href);
  shared.searchParams.delete("token");
  try {
    await navigator.clipboard.writeText(shared.href);
    say("The address of this game was copied.");
  } catch {
    say(`Copy it from here: ${shared.href}`);
  }
});
document.addEventListener("keydown", (event) => {
  const isField = event.target.closest?.("input, select, button, summary, a");
  if (event.key === "Enter" && !isField) { event.preventDefault(); tell(); }
});
window.addEventListener("popstate", () => load());
keyOfMarks();
load();
