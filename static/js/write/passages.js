// The passages beside the editor: folded and opened, searched, pointed at from the text, and how
// long each is in view. What is recorded of a search is its length, never its words.
import { log } from "../eventlog.js";
import { gettext, interpolate, ngettext } from "../words.js";

const IDLE_MS = 120000; // without a sign for so long, nobody counts as reading
const TELL_MS = 15000; // what a killed tab may lose of the times
const MOST = 2000; // hits that are marked
const page = () => document.querySelector("#work[data-write]");
const list = () => page()?.querySelector("[data-list]");
const pane = () => list()?.closest(".write-passages");
const finder = () => page()?.querySelector("[data-find]");
const target = () => `item-${page().dataset.item}`;
let backToText = () => {}; // write.js gives the function
let rows = []; // {number, item, searched: [{part, text}]}
const row = (number) => rows.find((one) => one.number === number);

// Folding -------------------------------------------------------------------------------------

function open(one, on) {
  const button = one.item.querySelector("[data-open]");
  if (!button || one.item.classList.contains("folded") === !on) return;
  one.item.classList.toggle("folded", !on);
  button.setAttribute("aria-expanded", String(on));
  button.firstChild.data = on ? gettext("Fold") : gettext("Read all");
  log.add("passage", {
    target: target(), name: on ? "open" : "close", comment: String(one.number),
  });
}

function reveal(element) {
  const [box, frame] = [element.getBoundingClientRect(), pane().getBoundingClientRect()];
  const top = frame.top + page().querySelector(".passages-head").offsetHeight;
  if (box.top >= top && box.bottom <= frame.bottom) return;
  const tall = box.height > frame.bottom - top;
  const by = box.top < top || tall ? box.top - top - 8 : box.bottom - frame.bottom + 8;
  pane().scrollTop += by;
}

// Pointed at: the passages that the mark at the caret cites.
let pointed = "";
function point(numbers) {
  const now = numbers.join();
  if (now === pointed || !list()) return;
  pointed = now;
  for (const one of rows) one.item.classList.toggle("pointed", numbers.includes(one.number));
  const first = row(numbers[0]);
  if (first) reveal(first.item);
}

// How often each is cited, from number to count.
function used(counts) {
  for (const { number, item } of rows) {
    const button = item.querySelector("[data-uses]");
    const times = counts.get(number) ?? 0;
    const words = interpolate(ngettext("cited once", "cited %(times)s times", times), { times }, true);
    if (button.textContent !== words) button.textContent = words;
    button.hidden = !times;
    item.classList.toggle("used", times > 0);
  }
}

// Searching -----------------------------------------------------------------------------------

let hits = []; // {one, part, from, to}
let here = -1;
let told = 0;

function found(words) {
  if (!words) return [];
  const wanted = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  return rows.flatMap((one) => one.searched.flatMap(({ part, text }) => (
    [...text.matchAll(wanted)].map(({ index, 0: { length } }) => (
      { one, part, from: index, to: index + length }
    ))
  )));
}

const ranged = ({ part, from, to }, Kind = StaticRange) => {
  const node = part.firstChild;
  if (Kind === StaticRange) {
    return new StaticRange({ startContainer: node, startOffset: from, endContainer: node, endOffset: to });
  }
  const range = new Range();
  range.setStart(node, from);
  range.setEnd(node, to);
  return range;
};

// Marks by highlights, which leave the text alone; where there are none, as elements.
function paint() {
  const shown = hits.slice(0, MOST);
  if (CSS.highlights) {
    CSS.highlights.set("found", new Highlight(...shown.map((hit) => ranged(hit))));
    return;
  }
  for (const { part, text } of rows.flatMap(({ searched }) => searched)) {
    const own = shown.filter((hit) => hit.part === part);
    if (!own.length && !part.childElementCount) continue;
    const parts = [];
    let at = 0;
    for (const { from, to } of own) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      parts.push(text.slice(at, from), mark);
      at = to;
    }
    part.replaceChildren(...parts, text.slice(at));
  }
}

function find() {
  const words = finder().value.trim();
  point([]);
  hits = found(words);
  here = -1;
  CSS.highlights?.delete("found-here");
  const counts = new Map();
  for (const { one } of hits) counts.set(one, (counts.get(one) ?? 0) + 1);
  for (const one of rows) {
    const number = counts.get(one) ?? 0;
    one.item.classList.toggle("missed", Boolean(words) && !number);
    one.item.querySelector("[data-hits-here]").textContent =
      words && number ? interpolate(ngettext("%(number)s hit", "%(number)s hits", number), { number }, true) : "";
  }
  paint();
  page().querySelector("[data-hits]").textContent = !words ? "" : !hits.length
    ? gettext("No passage has it.")
    : interpolate(ngettext("%(hits)s hit in %(passages)s of %(all)s passages", "%(hits)s hits in %(passages)s of %(all)s passages", hits.length), { hits: hits.length, passages: counts.size, all: rows.length }, true);
  pane().scrollTop = 0;
  clearTimeout(told);
  const length = words.length;
  if (length) told = setTimeout(() => log.add("find", { target: target(), comment: "hits", length }), 800);
}

// The next hit or the one before, its passage opened.
function onward(by) {
  if (!hits.length) return;
  here = here < 0 && by < 0 ? hits.length - 1 : (here + by + hits.length) % hits.length;
  const hit = hits[here];
  if (hit.part.matches(".reading")) open(hit.one, true);
  if (CSS.highlights) {
    const range = ranged(hit, Range);
    CSS.highlights.set("found-here", new Highlight(range));
    reveal(hit.one.item);
    reveal(range);
  } else {
    const own = hits.filter(({ part }) => part === hit.part);
    reveal(hit.part.querySelectorAll("mark")[own.indexOf(hit)]);
  }
  page().querySelector("[data-hits]").textContent =
    interpolate(gettext("Hit %(place)s of %(all)s, in [%(number)s]"), { place: here + 1, all: hits.length, number: hit.one.number }, true);
}

document.addEventListener("input", ({ target: field }) => field === finder() && find());
document.addEventListener("focusout", ({ target: field }) => {
  // A new field in its place: undoing in the text meets nothing that was typed here.
  if (field === finder()) setTimeout(() => field.isConnected && field.replaceWith(field.cloneNode()));
});
document.addEventListener("keydown", (event) => {
  const { key, shiftKey } = event;
  if (event.target !== finder() || !finder() || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Enter") onward(shiftKey ? -1 : 1);
  else if (key === "Escape") {
    finder().value = "";
    find();
    backToText();
  } else return;
  event.preventDefault();
});
document.addEventListener("click", ({ target: clicked }) => {
  if (!page()) return;
  const button = clicked.closest("[data-open]");
  const one = button && row(Number(button.closest("[data-passage]").dataset.passage));
  if (one) open(one, button.getAttribute("aria-expanded") !== "true");
});

// How long ------------------------------------------------------------------------------------

const spent = new Map(); // number -> ms not yet told
let inView = new Set();
let since = performance.now();
let sign = performance.now();
let shown = false;
let watch = null;

function count() {
  const now = performance.now();
  const ms = Math.min(now - since, 5000); // a machine that slept did not read
  since = now;
  if (shown) for (const number of inView) spent.set(number, (spent.get(number) ?? 0) + ms);
  shown = Boolean(pane()) && !document.hidden && now - sign < IDLE_MS
    && getComputedStyle(pane()).visibility === "visible";
}

function tell() {
  if (!page()) return;
  count();
  for (const [number, ms] of spent) {
    if (ms < 250) continue;
    log.add("dwell", {
      target: target(), name: `passage-${number}`, comment: String(Math.round(ms)),
    });
    spent.delete(number);
  }
}

function seen(entries) {
  count();
  for (const { target: item, intersectionRatio, intersectionRect, rootBounds } of entries) {
    const number = Number(item.dataset.passage);
    const large = intersectionRect.height > 0.4 * (rootBounds?.height ?? innerHeight);
    if (intersectionRatio >= 0.6 || large) inView.add(number);
    else inView.delete(number);
  }
}

for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchstart"]) {
  addEventListener(name, () => (sign = performance.now()), { capture: true, passive: true });
}
document.addEventListener("visibilitychange", count);
document.addEventListener("change", ({ target: field }) => field.closest("[data-tabs]") && count());
setInterval(count, 1000);
setInterval(tell, TELL_MS);
log.onLeave(tell);

function begin(back) {
  backToText = back;
  watch?.disconnect();
  spent.clear();
  inView = new Set();
  [hits, here, pointed] = [[], -1, ""];
  CSS.highlights?.delete("found");
  CSS.highlights?.delete("found-here");
  rows = [...(list()?.children ?? [])].map((item) => ({
    number: Number(item.dataset.passage),
    item,
    searched: [...item.querySelectorAll("[data-searched]")]
      .filter((part) => part.firstChild)
      .map((part) => ({ part, text: part.textContent })),
  }));
  if (!rows.length) return;
  watch = new IntersectionObserver(seen, {
    root: pane(), threshold: [0, 0.2, 0.4, 0.6, 0.8, 1],
  });
  for (const { item } of rows) watch.observe(item);
  count();
}

export const passages = { begin, point, used, tell };
