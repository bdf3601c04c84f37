// Marking stretches of a text: by pointer or by key, several on one place. Offsets count characters
// (code points) of the item's text; the browser counts UTF-16 units, so both are told apart here.
import { log } from "../eventlog.js";
import { gettext, interpolate } from "../words.js";

const page = () => document.querySelector("#work[data-labels]");
const text = () => page()?.querySelector("[data-marked]");
const bar = () => page()?.querySelector("[data-label-bar]");
const field = () => page()?.querySelector("[data-spans]")?.closest("[data-field]");
const input = () => field()?.querySelector("[data-spans]");
const nothing = () => field()?.querySelector("[data-nothing]");
let shown = null; // the element that holds the text, and the item's text
let source = "";
let words = []; // [from, to] in units, for the keys
let at = -1; // the word that the keys stand on, and where they began
let from = -1;
let chosen = null; // what is selected, [from, to] in units
let active = null; // the mark that was clicked: a label changes it
let armed = ""; // the label that was chosen first: what is selected next gets it

const points = (units) => [...source.slice(0, units)].length;
const units = (count) => [...source].slice(0, count).join("").length;

function read() {
  const value = input()?.value ?? "";
  return value && value !== "nothing" && value !== "unsure" ? JSON.parse(value) : [];
}

function write(marks) {
  marks.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  input().value = marks.length ? JSON.stringify(marks) : "";
  if (nothing() && marks.length) nothing().checked = false;
  input().dispatchEvent(new Event("input", { bubbles: true }));
}

const looks = () => new Map([...(bar()?.querySelectorAll("button[data-label]") ?? [])].map((one) => [
  one.dataset.label,
  { name: one.textContent.replace(/\s+/g, " ").trim(), line: one.querySelector("i")?.className ?? "" },
]));

// The text with its marks; several on one place stand within one another.
function paint() {
  const box = text();
  if (!box || box !== shown || !input()) return;
  const found = looks();
  const marks = read().map(([start, end, label]) => ({ start: units(start), end: units(end), label }));
  const cuts = [...new Set([0, source.length, ...marks.flatMap((one) => [one.start, one.end])])];
  cuts.sort((a, b) => a - b);
  const parts = cuts.slice(0, -1).map((start, number) => {
    const end = cuts[number + 1];
    const over = marks.filter((one) => one.start <= start && one.end >= end);
    over.sort((a, b) => a.end - a.start - (b.end - b.start));
    let node = document.createTextNode(source.slice(start, end));
    for (const one of over) {
      const mark = document.createElement("mark");
      const look = found.get(one.label);
      mark.className = `sp ${look?.line.replace("sp-line", "").trim() ?? ""}`;
      mark.dataset.mark = JSON.stringify([points(one.start), points(one.end), one.label]);
      mark.classList.toggle("chosen", mark.dataset.mark === JSON.stringify(active));
      if (one.end === end) mark.dataset.tag = look?.name ?? one.label;
      mark.append(node);
      node = mark;
    }
    return node;
  });
  const kept = chosen;
  box.replaceChildren(...parts);
  if (kept && box === document.activeElement) select(...kept);
  list(found);
  press(found);
}

// The label of the mark that was clicked, or the one that the next marks get, is pressed and named.
function press(found) {
  const on = active ? active[2] : armed;
  for (const one of bar().querySelectorAll("button[data-label]")) {
    if (one.dataset.label) one.setAttribute("aria-pressed", String(one.dataset.label === on));
  }
  const told = page().querySelector("[data-marking]");
  const name = found.get(on)?.name.replace(/^\d /, "") ?? on;
  told.textContent = active
    ? interpolate(gettext("“%(text)s” is marked as %(label)s. Another label changes it."), { text: [...source].slice(active[0], active[1]).join(""), label: name }, true)
    : armed ? interpolate(gettext("What you select next is marked as %(label)s."), { label: name }, true) : "";
}

function list(found) {
  const table = field().querySelector("[data-marks]");
  const marks = read();
  table.hidden = marks.length === 0;
  const hint = field().querySelector("[data-hint]");
  hint.dataset.asks ??= hint.textContent;
  const count = marks.length ? interpolate(gettext("%(number)s marked"), { number: marks.length }, true) : "";
  hint.textContent = [count, hint.dataset.asks].filter(Boolean).join(", ");
  table.tBodies[0].replaceChildren(...marks.map((mark) => {
    const row = document.createElement("tr");
    const [words_, label, act] = [0, 1, 2].map(() => row.appendChild(document.createElement("td")));
    words_.className = "serif";
    words_.textContent = [...source].slice(mark[0], mark[1]).join("");
    const line = document.createElement("i");
    line.className = found.get(mark[2])?.line ?? "";
    label.append(line, (found.get(mark[2])?.name ?? mark[2]).replace(/^\d /, ""));
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = gettext("Remove");
    button.setAttribute("aria-label", interpolate(gettext("Remove %(textContent)s"), { textContent: words_.textContent }, true));
    button.addEventListener("click", () => remove(mark));
    act.className = "act";
    act.append(button);
    return row;
  }));
}

function remove(mark) {
  const gone = JSON.stringify(mark);
  log.add("mark", { target: page().dataset.target, name: "remove", comment: `${mark[0]}-${mark[1]}` });
  active = null;
  write(read().filter((one) => JSON.stringify(one) !== gone));
}

// What is selected ----------------------------------------------------------------------------

function unitsTo(node, offset) {
  const range = document.createRange();
  range.selectNodeContents(text());
  range.setEnd(node, offset);
  return range.toString().length;
}

function place(count) {
  const walker = document.createTreeWalker(text(), NodeFilter.SHOW_TEXT);
  let left = count;
  while (walker.nextNode()) {
    if (left <= walker.currentNode.length) return [walker.currentNode, left];
    left -= walker.currentNode.length;
  }
  return [text(), text().childNodes.length];
}

function select(start, end) {
  getSelection().setBaseAndExtent(...place(start), ...place(end));
}

function look() {
  const box = text();
  const picked = getSelection();
  if (!box || !picked.rangeCount) return;
  const range = picked.getRangeAt(0);
  if (!box.contains(range.startContainer) || !box.contains(range.endContainer)) return;
  let [start, end] = [
    unitsTo(range.startContainer, range.startOffset), unitsTo(range.endContainer, range.endOffset),
  ];
  while (start < end && /\s/.test(source[start])) start++;
  while (end > start && /\s/.test(source[end - 1])) end--;
  chosen = start < end ? [start, end] : null;
  bar().classList.toggle("ready", Boolean(chosen));
}

function clear() {
  chosen = active = null;
  [at, from] = [-1, -1];
  getSelection().removeAllRanges();
  bar()?.classList.remove("ready");
  paint();
}

// The mark that was clicked gets another label.
function change(label) {
  const [start, end, before] = active;
  const kept = read().filter((one) => one[0] !== start || one[1] !== end || ![before, label].includes(one[2]));
  active = [start, end, label];
  log.add("mark", { target: page().dataset.target, name: "set", comment: `${start}-${end}` });
  write([...kept, active]);
  return true;
}

function put(label) {
  if (!chosen) return false;
  const [start, end] = chosen.map(points);
  const marks = read();
  const there = marks.some((one) => one[0] === start && one[1] === end && one[2] === label);
  clear();
  if (there) return true;
  log.add("mark", { target: page().dataset.target, name: "set", comment: `${start}-${end}` });
  write([...marks, [start, end, label]]);
  return true;
}

// Label first: the button stays pressed until it, another one or Clear is.
function arm(label) {
  armed = label;
  text()?.classList.toggle("armed", Boolean(armed));
  paint();
}

function use(label) {
  if (chosen) return put(label);
  if (active) return change(label);
  arm(label === armed ? "" : label);
  return true;
}

// A digit while something is selected, or in the text: its label. Says whether it was one.
function label(key) {
  if (!bar() || !(chosen || active || document.activeElement === text())) return false;
  const button = [...bar().querySelectorAll("button")].find(
    (one) => one.querySelector("kbd")?.textContent === key && one.dataset.label,
  );
  return button ? use(button.dataset.label) : false;
}

// The word at the caret, where a click selected nothing.
function wordAtCaret() {
  const picked = getSelection();
  if (!picked.rangeCount || !text().contains(picked.anchorNode)) return null;
  const count = unitsTo(picked.anchorNode, picked.anchorOffset);
  return words.find(([low, high]) => low <= count && count <= high) ?? null;
}

document.addEventListener("selectionchange", look);
document.addEventListener("pointerdown", (event) => {
  if (event.target.closest?.("[data-label-bar]")) event.preventDefault(); // keeps the selection
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-label-bar] button");
  const mark = target.closest?.("[data-marked] mark");
  if (button?.dataset.label) return use(button.dataset.label);
  if (button) {
    arm("");
    return clear();
  }
  if (!getSelection().isCollapsed) return;
  const before = active;
  active = mark ? JSON.parse(mark.dataset.mark) : null;
  if (armed && !mark && target.closest?.("[data-marked]")) chosen = wordAtCaret();
  if (!(chosen && armed && put(armed)) && (mark || before)) paint();
});
document.addEventListener("pointerup", ({ target }) => {
  if (!armed || target.closest?.("[data-label-bar]")) return;
  look();
  if (chosen && !getSelection().isCollapsed) put(armed);
});
document.addEventListener("keyup", ({ key }) => {
  if (armed && key === "Shift" && chosen) put(armed);
});
document.addEventListener("input", ({ target }) => {
  if (!target.matches?.("[data-nothing]")) return;
  input().value = target.checked ? "nothing" : "";
  input().dispatchEvent(new Event("input", { bubbles: true }));
});

function move(event) {
  const to = Math.max(0, Math.min(words.length - 1, at + (event.key === "ArrowRight" ? 1 : -1)));
  if (!words.length) return;
  at = to;
  if (!event.shiftKey || from < 0) from = to;
  const [low, high] = [Math.min(from, at), Math.max(from, at)];
  select(words[low][0], words[high][1]);
  look();
}

document.addEventListener("keydown", (event) => {
  if (!text() || event.ctrlKey || event.metaKey || event.altKey) return;
  const within = event.target === text();
  if (within && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
    move(event);
    event.preventDefault();
  } else if (event.key === "Escape" && (chosen || active || armed)) {
    arm("");
    clear();
  } else if (event.key === "Delete" && !event.target.closest("textarea, input[type=text]")) {
    const here = active ?? (chosen && read().findLast(
      ([start, end]) => units(start) < chosen[1] && units(end) > chosen[0],
    ));
    if (here) remove(here);
  }
});

function begin() {
  if (!text()) return;
  clear();
  shown = text();
  source = shown.textContent;
  words = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(source)]
    .filter((one) => one.isWordLike)
    .map(({ index, segment }) => [index, index + segment.length]);
  arm(armed);
  paint();
}

export const spans = { begin, paint, label };
