// The page of `lookalike label`: shows one pair of records after another, and sends the answers.

import { byId, counted, element, Failed, request, say, trying } from "./common.js";

const AHEAD = 3; // pairs that are loaded before they are shown; also the one before, to undo
const OLD_ADDRESS = "This address is no longer valid: open the one that lookalike label has printed.";

let state = null; // what the server has said last
let at = 0; // the position of the pair that is shown, ahead of the server by the answers on their way
let drawn = null; // the position of the pair that can be seen
let sending = 0; // answers on their way
let turn = Promise.resolve(true); // of the last one; whether it and those before it were kept
const pairs = new Map(); // promises, by position

function ask(method, path, body) {
  return request(method, path, body, () => {
    throw new Failed(OLD_ADDRESS);
  });
}

// --- showing ---

function pair(position) {
  if (!pairs.has(position)) {
    const loading = ask("GET", `pairs/${position}`);
    loading.catch(() => pairs.delete(position));
    pairs.set(position, loading);
  }
  return pairs.get(position);
}

async function show() {
  const mine = at;
  const end = at === state.pairs;
  const [past, all] = [state.before + at, state.before + state.pairs];
  byId("count").textContent = end ? `${all.toLocaleString("en")} of ${all.toLocaleString("en")} answered`
    : `pair ${(past + 1).toLocaleString("en")} of ${all.toLocaleString("en")}`;
  document.title = `${end ? "Done" : `${past + 1} of ${all}`} \u2013 lookalike label`;
  Object.assign(byId("progress"), { max: all, value: past });
  byId("undo").disabled = at === 0;
  for (const button of document.querySelectorAll("[data-match]")) button.disabled = end;
  byId("pair").hidden = end;
  byId("finished").hidden = !end;
  byId("main").hidden = false;
  if (end) {
    if (drawn !== null) byId("finished-title").focus();
    return;
  }
  byId("pair").ariaBusy = drawn !== at;
  const shown = await pair(at);
  if (mine !== at) return;
  if (drawn !== at) draw(shown);
  drawn = at;
  byId("pair").ariaBusy = false;
  for (let near = Math.max(0, at - 1); near <= at + AHEAD && near < state.pairs; near++) pair(near).catch(() => {});
}

function draw({ left, right, fields, others }) {
  const ids = { name: "id", left: [[left, ""]], right: [[right, ""]], same: null };
  const heading = element("th", { colSpan: 4, scope: "rowgroup", textContent: "Not compared" });
  byId("records").replaceChildren(
    row(ids, "other"),
    ...fields.map((one) => row(one, "")),
    ...(others.length ? [element("tr", { className: "heading" }, heading)] : []),
    ...others.map((one) => row(one, "other")),
  );
  window.scrollTo({ top: 0 });
}

function row({ name, left, right, same }, kind) {
  const sign = { true: "=", false: "\u2260" }[same] ?? "";
  return element(
    "tr",
    { className: kind },
    element("th", { scope: "row" }, element("bdi", { textContent: name })),
    value(left, "left", kind),
    element("td", { className: same === false ? "sign differs" : "sign", textContent: sign }),
    value(right, "right", kind),
  );
}

function value(parts, side, kind) {
  const missing = kind === "other" ? [] : [element("span", { className: "missing", textContent: "missing" })];
  const shown = parts === null ? missing : parts.map(piece); // the other table may not have a column of this name
  const cell = element("td", { className: "value" }, element("div", { dir: "auto" }, ...shown));
  cell.dataset.side = side;
  return cell;
}

const piece = ([text, style]) =>
  style === "different" ? element("mark", { textContent: text })
  : style === "note" ? element("span", { className: "note", textContent: text })
  : text;

// --- answering ---

// Sends a change after those before it; the page need not wait. After an error, it shows what the server has.
function send(change) {
  sending++;
  const before = turn;
  turn = (async () => {
    const fine = (await before) && (await trying(async () => { state = await change(); }));
    sending--;
    if (fine || sending) return fine; // those that follow a failed one are not sent
    await refresh();
    return true;
  })();
}

async function refresh() {
  const fine = await trying(async () => { state = await ask("GET", "state"); });
  at = state?.answers ?? 0;
  const shown = state !== null && (await trying(show));
  byId("again").hidden = fine && shown;
}

function answer(match) {
  if (drawn !== at) return; // it cannot be seen yet
  const mine = at++;
  send(() => ask("POST", "answers", { at: mine, match }));
  say(`Answered ${match}.`);
  trying(show);
}

function undo() {
  const mine = --at;
  send(() => ask("DELETE", `answers/${mine}`));
  say("Took back the last answer.");
  trying(show);
}

function done() {
  send(async () => {
    const last = await ask("POST", "done", {});
    byId("main").hidden = true;
    byId("ended").hidden = false;
    document.title = "Done \u2013 lookalike label";
    byId("ended-title").textContent = `${counted(last.answers, "answer", "answers")} saved in ${last.file}`;
    byId("ended-title").focus();
    return last;
  });
}

function begin() {
  if (location.hash) sessionStorage.setItem("token", location.hash.slice(1));
  say("");
  return refresh();
}

// --- events ---

for (const button of document.querySelectorAll("[data-match]")) {
  button.addEventListener("click", () => answer(button.dataset.match));
}
byId("undo").addEventListener("click", undo);
byId("done").addEventListener("click", done);
byId("retry").addEventListener("click", begin);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !byId("keys").checked) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (button?.checkVisibility() && !button.disabled) button.click();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && sending === 0 && byId("ended").hidden) begin(); // another window may have gone on
});
addEventListener("hashchange", begin);
begin();
