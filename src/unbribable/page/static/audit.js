// Audit: a file is dropped, its columns are asked for, and the page of the audit is shown and saved.
import { ask, byId, say, takeFiles } from "/static/common.js";
import { make } from "/static/chart.js";

const MOST = 5_000_000; // bytes, as the server allows
let file = null;

async function take(chosen) {
  for (const id of ["choices", "audit", "download"]) byId(id).hidden = true;
  file = chosen;
  if (!file) return;
  if (file.size > MOST) {
    say(`${file.name} must have at most ${MOST / 1e6} MB, got ${(file.size / 1e6).toFixed(1)} MB.`, true);
    return;
  }
  say(`Reading ${file.name} …`);
  try {
    const { columns, target: likely } = await ask("/api/columns", { name: file.name }, { method: "POST", body: file });
    const target = byId("choices").elements.target;
    target.replaceChildren(...columns.map((name) => make("option", { value: name }, shown(name))));
    target.value = likely;
    byId("ignore").replaceChildren(byId("ignore").firstElementChild, ...columns.map(choiceOf));
    withoutTarget();
    byId("choices").hidden = false;
    say(`${file.name}: choose what was read.`);
    target.focus();
  } catch (error) {
    say(`This file cannot be audited: ${error.message}`, true);
  }
}

const shown = (name) => name || "(no name)";

/** A box to tick for a column that is no parameter. */
function choiceOf(name) {
  return make("label", { class: "inline" }, make("input", { type: "checkbox", name: "ignore", value: name }), shown(name));
}

/** What was read is no parameter anyway, so there is no box for it. */
function withoutTarget() {
  const { target } = byId("choices").elements;
  for (const box of byId("ignore").querySelectorAll("input")) {
    box.disabled = box.value === target.value;
    box.parentElement.hidden = box.disabled;
  }
}

async function audit(event) {
  event.preventDefault();
  const button = byId("choices").querySelector("button");
  const words = [["name", file.name], ...new FormData(byId("choices"))];
  const { target } = Object.fromEntries(words);
  button.disabled = true;
  for (const id of ["audit", "download"]) byId(id).hidden = true;
  say("Comparing every reading with all others …");
  try {
    const { address } = await ask("/api/audit", words, { method: "POST", body: file });
    byId("audit").src = address;
    byId("save").href = address;
    byId("save").download = `${file.name.replace(/\.\w+$/, "")}-audit.html`;
    for (const id of ["audit", "download"]) byId(id).hidden = false;
    say(`Audited ${target} of ${file.name}.`);
  } catch (error) {
    say(`This file cannot be audited: ${error.message}`, true);
  } finally {
    button.disabled = false;
  }
}

takeFiles(take);
byId("choices").addEventListener("submit", audit);
byId("choices").elements.target.addEventListener("change", withoutTarget);

// A table that was named on the command line.
ask("/api/table").then(({ name, text }) => { if (name) take(new File([text], name)); }, (error) => say(error.message, true));
