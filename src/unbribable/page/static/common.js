// What the views share: the token of the address, questions to the server, files, links between the views.

export const byId = (id) => document.getElementById(id);
export const token = new URLSearchParams(location.search).get("token") ?? "";

/** The answer to a question, as data; an error with the server's words if it refuses, and its status. */
export async function ask(path, words = {}, { method = "GET", body } = {}) {
  const query = new URLSearchParams(words).toString();
  let answer;
  try {
    answer = await fetch(query ? `${path}?${query}` : path, { method, body, headers: { "x-token": token } });
  } catch {
    throw new Error("“unbribable page” has ended, or cannot be reached. Start it again, and open the address that it prints.");
  }
  const isData = answer.headers.get("content-type")?.startsWith("application/json");
  const data = isData ? await answer.json() : { error: `the server failed (status ${answer.status}); its terminal says why` };
  if (!answer.ok) throw Object.assign(new Error(data.error), { status: answer.status });
  return data;
}

/** Say something in the line for it; an error in another colour. */
export function say(words, isBad = false) {
  byId("status").textContent = words;
  byId("status").classList.toggle("bad", isBad);
}

/** Files are chosen in the field for them, or dropped anywhere on the page. */
export function takeFiles(take) {
  const listen = (name, then) => document.addEventListener(name, then, { capture: true });
  const isOver = (is) => byId("drop").classList.toggle("over", is);
  for (const name of ["dragenter", "dragover"]) listen(name, (event) => { event.preventDefault(); isOver(true); });
  listen("dragleave", (event) => { if (!event.relatedTarget) isOver(false); });
  listen("drop", (event) => {
    event.preventDefault(); // else the browser would show the file instead of the page
    isOver(false);
    const [file] = event.dataTransfer?.files ?? [];
    if (file) take(file);
  });
  byId("file").addEventListener("change", () => take(byId("file").files[0]));
}

// The other views need the token too.
if (token) {
  for (const link of document.querySelectorAll("nav a")) link.search = `?token=${encodeURIComponent(token)}`;
}
