// The page of an index: looks up the text in the box; matches can be compared and removed, and the text added.

import { byId, counted, element, Failed, request, say, trying } from "./common.js";

const WAIT = 200; // milliseconds between the last key and the query
const SURE = 4000; // milliseconds within which a second press removes
const HINTS = {
  texts: "Paste or type a text, or drop a file here.",
  sets: "The elements of a set, separated by white space, commas or semicolons.",
  vectors: "The numbers of a vector, separated by white space or commas.",
  bits: "A code of 0s and 1s.",
};

const MEASURES = {
  jaccard: "Jaccard similarity",
  bag_jaccard: "Jaccard similarity of bags",
  angle: "angle",
  cosine_similarity: "cosine",
  euclidean: "Euclidean distance",
  hamming: "Hamming distance",
};

let index = null; // the answer of /info
let known = null; // its promise: whatever needs the index waits for ready()
let asked = 0; // the number of the latest query, so that late answers are ignored
let found = []; // the listed matches
let chosen = null; // the id of the compared item
let compared = 0; // like `asked`, for comparisons

// --- asking the server ---

const ask = (method, path, body) => request(method, path, body, askToken);

function askToken() {
  known = null; // with another token, it is requested again
  byId("main").hidden = true;
  byId("ask-token").hidden = false;
  byId("token").focus();
}

// A number and a string can be spelled the same.
function place(id) {
  if (id === "." || id === "..") throw new Failed("A URL cannot end in this id; use lookalike index remove.");
  return `items/${encodeURIComponent(id)}?number=${typeof id === "number"}`;
}

// --- the index and its curve ---

function ready() {
  known ??= begin().catch((error) => {
    known = null;
    byId("again").hidden = !byId("ask-token").hidden;
    throw error;
  });
  return known;
}

async function begin() {
  index = await ask("GET", "info");
  byId("again").hidden = true;
  if (!byId("ask-token").hidden) {
    byId("ask-token").hidden = true;
    byId("main").hidden = false;
    byId("item").focus();
  }
  const what = { texts: ["text", "texts"], sets: ["set", "sets"], vectors: ["vector", "vectors"], bits: ["code", "codes"] };
  const [one, many] = what[index.kind] ?? ["item", "items"];
  const by = index.shingles ? `${MEASURES[index.measure]} of ${index.shingles} shingles` : MEASURES[index.measure];
  byId("facts").textContent = `${counted(index.items, one, many)}, compared by ${by}`;
  byId("hint").textContent = HINTS[index.kind ?? "texts"];
  byId("add").hidden = index.read_only;
  byId("threshold-title").textContent = index.measured === "similarity" ? "Minimum similarity" : "Maximum distance";
  draw();
}

function draw() {
  const slider = byId("threshold");
  const curve = index.curve;
  document.querySelector(".curve").hidden = curve.length === 0;
  if (curve.length === 0) {
    byId("chance").textContent = "The curve is drawn once there are items.";
    return;
  }
  const first = slider.max !== String(curve.at(-1)[0]) || slider.dataset.drawn === undefined;
  [slider.min, slider.max] = [curve[0][0], curve.at(-1)[0]];
  slider.step = index.kind === "bits" ? 1 : "any";
  if (first) slider.value = index.threshold;
  slider.dataset.drawn = "";
  const line = curve.map(([x, chance], at) => `${at ? "L" : "M"}${across(x)} ${40 - 40 * chance}`).join("");
  byId("line").setAttribute("d", line);
  byId("area").setAttribute("d", `${line}L100 40L0 40Z`);
  upright("own", index.threshold);
  byId("scale").replaceChildren(
    ...[0, 0.5, 1].map((share) => element("span", { textContent: short(slider.min * 1 + share * (slider.max - slider.min)) })),
  );
  mark();
}

const across = (x) => (100 * (x - byId("threshold").min)) / (byId("threshold").max - byId("threshold").min);

const short = (x) => String(Math.round(x * 100) / 100);

const measured = (x) => short(x) + (index.measure === "angle" ? "\u00b0" : "");

function upright(id, x) {
  byId(id).setAttribute("x1", across(x));
  byId(id).setAttribute("x2", across(x));
}

function mark() {
  const at = Number(byId("threshold").value);
  upright("mark", at);
  const chance = index.curve.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best))[1];
  const shown = chance > 0.9995 ? "over 0.999" : chance.toFixed(3);
  byId("chance").textContent = `An item ${index.measured === "similarity" ? "of similarity" : "at distance"} ${measured(at)} is found with probability ${shown}.`;
  byId("threshold").setAttribute("aria-valuetext", `${short(at)}, found with probability ${shown}`);
}

// --- looking up ---

function item() {
  const text = byId("item").value;
  if (text.trim() === "") return null;
  if (index.kind === "sets") return text.split(/[\s,;]+/).filter((element) => element);
  if (index.kind === "vectors") return text.split(/[\s,;[\]]+/).filter((number) => number).map(Number);
  return index.kind === "bits" ? text.replace(/\s/g, "") : text;
}

// Elements that look like numbers may be numbers or strings in the index.
function readings(one) {
  const numbers = index.kind === "sets" && one.every((part) => /^-?\d{1,15}$/.test(part));
  return numbers ? [one, one.map(Number)] : [one];
}

let timer;
function later() {
  clearTimeout(timer);
  timer = setTimeout(search, WAIT);
}

async function search() {
  if (await trying(find)) return;
  found = []; // the list belongs to another text
  list();
}

async function find() {
  clearTimeout(timer);
  const mine = ++asked;
  if (index === null && byId("item").value) say("Waiting for the server.");
  await ready();
  if (mine !== asked) return;
  const one = item();
  byId("add-it").disabled = one === null;
  if (one === null) {
    found = [];
    list();
    return say(index.items ? "" : "The index has no items yet. Type a text and add it.");
  }
  if (Array.isArray(one) && one.some((part) => part !== part)) throw new Failed("A vector must consist of numbers.");
  const body = { items: readings(one), k: 100 };
  if (index.curve.length) body.threshold = Number(byId("threshold").value);
  const { results } = await ask("POST", "query", body);
  if (mine !== asked) return;
  const best = results.reduce((most, result) => (result.found.length > most.found.length ? result : most));
  found = best.found;
  list();
  const looked = counted(best.candidates, "candidate", "candidates");
  const count = found.length === body.k ? `The ${body.k} best` : found.length;
  const verified = found.length ? `${count} found and verified; ${looked} compared.` : `None found; ${looked} compared.`;
  const closed = found.length && index.kind === "texts" && !index.texts_kept;
  say([
    verified,
    ...(best.crowded ? ["Some candidates were skipped, because there were too many."] : []),
    ...(closed ? ["The index keeps no texts to compare with."] : []),
  ].join(" "));
}

function list() {
  byId("results").replaceChildren(...found.map(row));
  const still = found.some(({ id }) => id === chosen);
  if (still && index.texts_kept) trying(compare);
  else close();
}

function row(match) {
  const value = match[index.measured];
  const shown = index.measured === "similarity" ? value.toFixed(3) : measured(value);
  const name = index.texts_kept
    ? element("button", { className: "name", type: "button", dir: "auto", title: `Compare with ${match.id}`, textContent: match.id })
    : element("span", { className: "name", dir: "auto", title: match.id, textContent: match.id });
  name.addEventListener("click", () => index.texts_kept && choose(match.id, true));
  const bar = element("span", { className: "bar", ariaHidden: "true" });
  bar.style.setProperty("--share", index.measured === "similarity" ? value : 1 - value / Number(byId("threshold").max));
  const line = element("li", {}, name, element("span", { className: "value" }, shown, bar));
  line.dataset.id = JSON.stringify(match.id);
  line.classList.toggle("chosen", match.id === chosen);
  if (!index.read_only) line.append(remover(match.id));
  return line;
}

function move(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const names = [...document.querySelectorAll("#results button.name")];
  const next = names[names.indexOf(document.activeElement) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

// --- comparing ---

function choose(id, show) {
  chosen = id;
  for (const line of byId("results").children) line.classList.toggle("chosen", line.dataset.id === JSON.stringify(id));
  trying(async () => {
    await compare();
    if (show) {
      byId("compare").scrollIntoView({ behavior: "smooth", block: "start" });
      byId("compare-title").focus({ preventScroll: true });
    }
  });
}

async function compare() {
  const [id, mine] = [chosen, ++compared];
  const { text, other, looked_at, passages } = await ask("POST", "compare", { text: byId("item").value, id });
  if (mine !== compared || id !== chosen) return;
  const title = passages.length ? counted(passages.length, "shared passage", "shared passages") : "No shared passages";
  byId("compare-title").textContent = title;
  const long = Math.max(text.length, other.length) > looked_at;
  byId("compare-hint").textContent = [
    ...(passages.length ? ["Click a passage, or press Enter on it, to see it on the other side."] : []),
    ...(long ? [`Only the first ${looked_at.toLocaleString("en")} characters are compared.`] : []),
  ].join(" ");
  byId("right-title").textContent = id;
  show(byId("left"), text, passages.map(([start, end], at) => [start, end, at]));
  show(byId("right"), other, passages.map(([, , start, end], at) => [start, end, at]));
  byId("compare").hidden = false;
}

function close() {
  chosen = null;
  byId("compare").hidden = true;
}

function show(where, text, spans) {
  // Positions count code points, not UTF-16 units. Spans on the left can overlap.
  const points = Array.from(text);
  const pieces = [];
  let done = 0;
  for (const [start, end, at] of spans.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const from = Math.max(start, done);
    if (from >= end) {
      pieces.at(-1).dataset.passages += ` ${at}`; // it lies within the one before
      continue;
    }
    pieces.push(points.slice(done, from).join(""));
    const piece = element("mark", { tabIndex: 0, textContent: points.slice(from, end).join("") });
    piece.dataset.passages = at;
    pieces.push(piece);
    done = end;
  }
  where.replaceChildren(...pieces, points.slice(done).join(""));
  where.scrollTop = 0;
}

function light(event) {
  const piece = event.target.closest("mark");
  if (!piece || (event.type === "keydown" && event.key !== "Enter")) return;
  const passages = piece.dataset.passages.split(" ");
  for (const other of document.querySelectorAll("mark")) {
    const same = other.dataset.passages.split(" ").some((at) => passages.includes(at));
    other.classList.toggle("now", same);
    if (same && other !== piece && event.type !== "mouseover") other.scrollIntoView({ behavior: "smooth", block: "nearest" });
  }
}

// --- changing the index ---

function remover(id) {
  const button = element("button", { className: "remove", type: "button", textContent: "Remove", ariaLabel: `Remove ${id}` });
  let calm;
  button.addEventListener("click", () => {
    clearTimeout(calm);
    if (button.classList.toggle("sure")) {
      button.textContent = "Really?";
      button.ariaLabel = `Really remove ${id}?`;
      calm = setTimeout(() => button.isConnected && reset(button, id), SURE);
      return;
    }
    trying(async () => {
      await ask("DELETE", place(id));
      await changed(`Removed ${id}.`);
    });
  });
  return button;
}

function reset(button, id) {
  button.classList.remove("sure");
  button.textContent = "Remove";
  button.ariaLabel = `Remove ${id}`;
}

async function add() {
  await ready();
  const name = byId("name").value;
  await ask("POST", "items", { items: readings(item()).slice(0, 1), ids: [name] });
  byId("name").value = "";
  await changed(`Added ${name}.`);
}

async function changed(line) {
  await begin();
  await find();
  say(`${line} ${byId("status").textContent}`);
}

async function drop(event) {
  event.preventDefault();
  byId("item").classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (!file) return;
  if (file.size > 5e6) throw new Failed(`${file.name} is too large; lookalike index query accepts files of any size.`);
  byId("item").value = await file.text();
  if (!byId("name").value) byId("name").value = file.name;
  await find();
}

// --- events ---

byId("item").addEventListener("input", later);
byId("item").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) search();
});
byId("item").addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  byId("item").classList.add("over");
});
byId("item").addEventListener("dragleave", () => byId("item").classList.remove("over"));
byId("item").addEventListener("drop", (event) => {
  if (event.dataTransfer.files.length) trying(() => drop(event));
});
byId("threshold").addEventListener("input", () => {
  trying(async () => {
    await ready();
    mark();
    later();
  });
});
byId("results").addEventListener("keydown", move);
byId("add").addEventListener("submit", (event) => {
  event.preventDefault();
  trying(add);
});
for (const side of ["left", "right"]) {
  for (const kind of ["click", "keydown", "mouseover"]) byId(side).addEventListener(kind, light);
}
byId("ask-token").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", byId("token").value.trim());
  byId("token").value = "";
  search();
});
byId("again").addEventListener("click", () => {
  byId("item").focus(); // the button disappears
  search();
});

byId("main").hidden = false; // text pasted or dropped before the server answers is looked up when it does
byId("item").focus();
search();
