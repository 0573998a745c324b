// What the views share: the token of the address, questions to the server, links between the views.

export const byId = (id) => document.getElementById(id);
export const token = new URLSearchParams(location.search).get("token") ?? "";

/** The answer to a question, as data; an error with the server's words if it refuses. */
export async function ask(path, words = {}, { method = "GET", body } = {}) {
  const query = new URLSearchParams(words).toString();
  const answer = await fetch(query ? `${path}?${query}` : path, { method, body, headers: { "x-token": token } });
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

/** Say something in the line for it; an error in another colour. */
export function say(words, isBad = false) {
  byId("status").textContent = words;
  byId("status").classList.toggle("bad", isBad);
}

// The other views need the token too.
if (token) {
  for (const link of document.querySelectorAll("nav a")) link.search = `?token=${encodeURIComponent(token)}`;
}
