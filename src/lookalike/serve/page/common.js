// What all pages share: requests to the server, messages, and elements.

export const byId = (id) => document.getElementById(id);

export const counted = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export class Failed extends Error {}

// Returns the answer to a request; without a token that the server knows, calls `askToken`.
export async function request(method, path, body, askToken) {
  const headers = {};
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${encodeURI(token)}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Failed("The server is not responding.");
  }
  if (response.status === 401) {
    if (sessionStorage.getItem("token") !== token) return request(method, path, body, askToken); // a new one was given meanwhile
    sessionStorage.removeItem("token");
    askToken();
  }
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => ({ error: `the server answered with status ${response.status}.` }));
  if (response.status === 401 && token) answer.error = "this token is wrong.";
  if (!response.ok) throw new Failed(sentence(answer.error));
  return answer;
}

const sentence = (line) => line.charAt(0).toUpperCase() + line.slice(1);

export async function trying(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    say(error.message, true);
    return false;
  }
  return true;
}

export function say(line, wrong = false) {
  byId("status").textContent = wrong ? "" : line;
  byId("error").textContent = wrong ? line : "";
  byId("error").hidden = !wrong;
}
