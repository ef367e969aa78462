"use strict";
// The page works without this script, which adds search, filters and highlighting of passages.

const byId = (id) => document.getElementById(id);
const pairs = [...document.querySelectorAll(".pair")];
const words = new Map(); // the text of each pair in lower case, filled on first use

function text(pair) {
  if (!words.has(pair)) words.set(pair, pair.textContent.toLowerCase());
  return words.get(pair);
}

function filter() {
  const asked = byId("words").value.toLowerCase().split(/\s+/).filter((word) => word);
  const which = byId("which").value;
  const least = byId("least").value === "" ? -Infinity : Number(byId("least").value);
  const most = byId("most").value === "" ? Infinity : Number(byId("most").value);
  let count = 0;
  for (const pair of pairs) {
    const value = Number(pair.dataset.value);
    const near = "near" in pair.dataset;
    const fits = value >= least && value <= most && (which === "" || near === (which === "near"));
    pair.hidden = !(fits && asked.every((word) => text(pair).includes(word)));
    count += !pair.hidden;
  }
  byId("shown").textContent = `${count} of ${pairs.length} shown`;
  byId("none").hidden = count > 0;
  label();
}

const visible = () => pairs.filter((pair) => !pair.hidden);

function label() {
  const shown = visible();
  byId("toggle").textContent = shown.length && shown.every((pair) => pair.open) ? "Close all" : "Open all";
}

function toggle() {
  const open = !visible().every((pair) => pair.open);
  for (const pair of visible()) pair.open = open;
}

// Highlight a passage and its copy on the other side, and scroll the copy into view.
function light(event) {
  const piece = event.target.closest("mark");
  if (!piece || (event.type === "keydown" && event.key !== "Enter")) return;
  const pair = piece.closest(".pair");
  const passages = piece.dataset.passages.split(" ");
  for (const other of pair.querySelectorAll("mark")) {
    const same = other.dataset.passages.split(" ").some((at) => passages.includes(at));
    other.classList.toggle("now", same);
    const across = other.closest(".text") !== piece.closest(".text");
    if (same && across && event.type !== "mouseover") other.scrollIntoView({ block: "nearest" });
  }
}

if (pairs.length) {
  byId("tools").hidden = false;
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["words", "which", "least", "most"]) byId(id).addEventListener("input", filter);
  byId("toggle").addEventListener("click", toggle);
  for (const pair of pairs) {
    pair.addEventListener("toggle", () => {
      for (const piece of pair.querySelectorAll("mark")) piece.tabIndex = 0; // not before, so that the Tab key skips the passages of closed pairs
      label();
    });
  }
  for (const kind of ["click", "keydown", "mouseover"]) byId("pairs").addEventListener(kind, light);
  filter();
}
