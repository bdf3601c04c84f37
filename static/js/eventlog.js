// The interaction log, after consent only: what happens on the page, numbered in one stream per
// opening of it, kept on this device until the server has acknowledged it. Of a key its class;
// texts as deltas [ms, position, deleted, inserted] in UTF-16 units, exact when replayed. Keystrokes
// that follow one another are one event, a run: a delta, and for each of them the ms since the one
// before.
import { drafts } from "./drafts.js";
import { formKey, post } from "./requests.js";
import { store, uuid } from "./storage.js";
import { change } from "./textchange.js";

const LOG = "crowdqc:log:"; // + stream:first -> {url, events}, a batch not yet acknowledged
const OPEN = "crowdqc:open:"; // + stream -> {url, events, first, at}, a copy of what still grows
const [FLUSH_MS, ORPHAN_MS] = [5000, 4000]; // a copy this old was left by a page that died
const RUN = { keys: 40, pause: 1500, length: 5000 }; // ms; what ends a run at the latest
const TYPED = /^(insert(Text|LineBreak|CompositionText)|deleteContentBackward)$/;
const TYPES = /^(.{1,2}|Backspace|Delete|Enter|Shift|CapsLock|AltGraph|Dead|Process|Unidentified)$/su;
const data = document.getElementById("work")?.dataset ?? {};
const base = performance.getEntriesByType("navigation")[0]?.responseStart ?? 0;
const values = new WeakMap(); // what each field held when last seen
const copied = new Map(); // text -> where it was copied
let on = "recorded" in data;
let stream = uuid();
let next = 0;
let chunk = [];
let size = 0;
let last = 0;
let kept = false; // whether there is a copy of the chunk
let run = null; // the run that goes on: {event, kind, at}
let held = []; // keys whose change is still to come, and keys alike that follow one another
let citing = false;
let busy = null; // what is being sent
let pasted = {};

const leaving = []; // what others still have to say when the page goes away
const FIELD = "textarea[data-target]"; // what a text is written in
const targetOf = (element) =>
  element?.closest?.("[data-target]")?.dataset.target ??
  (element?.closest?.("[data-passage]") ? "passage" : "page");

function tick() {
  const now = Math.round(Number(data.offsetMs ?? 0) + performance.now() - base);
  return (last = Math.max(last, now));
}

function push(event) {
  if (event.delta) {
    event.delta[0] = event.time;
    size += event.delta[3].length * 3;
  }
  chunk.push(event);
  size += 120 + 5 * (event.ms?.length ?? 0);
}

function add(method, more = {}) {
  if (!on) return;
  end();
  push({ method, time: tick(), ...more });
  if (method === "cite") {
    citing = true;
    setTimeout(() => (citing = false));
  }
  if (size > 40000) seal();
}

// Runs of keystrokes --------------------------------------------------------------------------

function endRun() {
  if (run) push(run.event);
  run = null;
}

function release(keys) {
  for (const { time, target, name, length } of keys) {
    push({ method: "keydown", time, target, name, ...(length > 1 ? { length } : {}) });
  }
}

function end() {
  endRun();
  release(held);
  held = [];
}

// A key that may change a text waits for that; any other one is an event, with its like.
function pressed(key) {
  if (!on || !key.key) return; // what fills in forms sends keys without a name
  const { target } = key;
  const shortcut = (key.ctrlKey || key.metaKey || key.altKey) && !key.getModifierState("AltGraph");
  const own = !target.matches?.(FIELD) || shortcut || !TYPES.test(key.key);
  const one = { time: tick(), target: targetOf(target), name: keyClass(key), length: 1, own };
  if (run && (one.own || one.target !== run.event.target)) endRun();
  const before = held.at(-1);
  const alike = before?.own && one.own && before.name === name && before.target === one.target;
  if (alike && one.time - before.until < 300) {
    before.length++;
    before.until = one.time;
  } else held.push({ ...one, until: one.time });
}

// One unit put in or deleted backwards: does it go on where the run stands?
function follows(target, kind, position, now) {
  const { event, at } = run;
  const [, from, , inserted] = event.delta;
  const place = kind === "typed" ? from + inserted.length : from - 1;
  return event.target === target && run.kind === kind && position === place
    && event.ms.length < RUN.keys && now - at <= RUN.pause && now - event.time <= RUN.length;
}

function stroke(target, [, position, deleted, inserted]) {
  const now = tick();
  const kind = inserted ? "typed" : "deleted";
  const foreign = held.findLastIndex((key) => key.own || key.target !== target) + 1;
  if (run && (foreign || !follows(target, kind, position, now))) endRun();
  release(held.slice(0, foreign));
  const keys = held.length - foreign;
  held = [];
  if (!run) {
    const delta = [now, position, deleted, inserted];
    const event = { method: "input", time: now, target, name: "run", delta, ms: [0], keys };
    run = { event, kind, at: now };
    return;
  }
  const { event } = run;
  if (kind === "typed") event.delta[3] += inserted;
  else {
    event.delta[1] = position;
    event.delta[2]++;
  }
  event.ms.push(now - run.at);
  event.keys += keys;
  run.at = now;
}

// What waits on this device -------------------------------------------------------------------

// A page that was taken for dead finds its copy gone: it goes on in a stream of its own.
const adopted = () => kept && !store.get(OPEN + stream);

// Each second a copy of what still grows, for the page after a tab that was killed.
function keep() {
  if (adopted()) return restart();
  const events = run ? [...chunk, run.event] : chunk;
  if (!events.length) return;
  kept = true;
  const body = { url: data.eventsUrl, events, first: next, at: Date.now() };
  store.set(OPEN + stream, JSON.stringify(body));
}

// Close the open chunk; it now waits in the store, where the next page finds it.
function seal() {
  end();
  if (adopted()) restart();
  if (!chunk.length) return;
  const body = { url: data.eventsUrl, events: chunk };
  store.set(`${LOG}${stream}:${next}`, JSON.stringify(body));
  store.remove(OPEN + stream);
  next += chunk.length;
  [chunk, size, kept] = [[], 0, false];
}

// What pages left that died is sealed as they left it.
function adopt() {
  for (const key of store.keys(OPEN)) {
    const id = key.slice(OPEN.length);
    const left = JSON.parse(store.get(key));
    if (!left || id === stream || Math.abs(Date.now() - left.at) < ORPHAN_MS) continue;
    const sealed = `${LOG}${id}:${left.first}`;
    const { url, events } = left;
    if (!store.get(sealed)) store.set(sealed, JSON.stringify({ url, events }));
    store.remove(key);
  }
}

function restart() {
  store.remove(OPEN + stream);
  [stream, next, chunk, size, kept, run, held] = [uuid(), 0, [], 0, false, null, []];
  document.querySelectorAll(FIELD).forEach(show);
  document.querySelectorAll("[data-judged]").forEach(showJudged);
}

// All that waits of a stream, as [first, events, url, key] in order.
function waiting(id) {
  const keys = store.keys(`${LOG}${id}:`);
  const held = keys.map((key) => [Number(key.split(":")[3]), key, JSON.parse(store.get(key))]);
  return held.filter((row) => row[2]).sort((a, b) => a[0] - b[0]);
}
const streams = () => new Set(store.keys(LOG).map((key) => key.split(":")[2]));
const drop = (id) => waiting(id).forEach(([, key]) => store.remove(key));

// What of a stream fits into one request, which may outlive the page (64 KB at most).
function batch(id) {
  const rows = waiting(id);
  const body = { stream: id, first_seq: rows[0]?.[0], events: [] };
  let room = 60000;
  for (const [first, key, { events }] of rows) {
    room -= store.get(key).length;
    const gap = first !== body.first_seq + body.events.length;
    if (body.events.length && (room < 0 || gap || body.events.length + events.length > 900)) break;
    body.events.push(...events);
  }
  return [rows[0]?.[2].url, body];
}

// Says whether more may be sent now.
async function send(id, keepalive) {
  const [url, body] = batch(id);
  if (!url) return true;
  const { status, ok, data: answer } = await post(url, body, keepalive);
  if (ok) {
    for (const [first, key, { events }] of waiting(id)) {
      if (first + events.length <= answer.next) store.remove(key);
    }
    return waiting(id).length === 0 || send(id, keepalive);
  }
  if (status === 409 && answer.fields?.next) lost(id, Number(answer.fields.next));
  else if ([403, 409, 413, 422].includes(status)) {
    drop(id);
    if (id === stream) on = false;
  } else return status === 404; // another person's, left on this device
  return true;
}

// The server lacks what this device no longer has: go on in a new stream.
function lost(id, wanted) {
  if (waiting(id)[0]?.[0] <= wanted) return;
  drop(id);
  if (id === stream) restart();
}

async function sendAll() {
  try {
    adopt();
    for (const id of streams()) if (!(await send(id, false))) break;
  } catch {
    // no network: the next turn tries again
  }
}

async function flush() {
  seal();
  while (busy) await busy;
  busy = sendAll();
  await busy;
  busy = null;
}

function leave() {
  seal();
  const [url, body] = batch(stream);
  if (!url) return;
  if ("keepalive" in Request.prototype) send(stream, true).catch(() => {});
  else {
    const fields = { csrfmiddlewaretoken: formKey(), payload: JSON.stringify(body) };
    navigator.sendBeacon(url, new URLSearchParams(fields));
  }
}

function changed(field, more) {
  const old = values.get(field) ?? "";
  const now = field.value;
  if (old === now) return;
  values.set(field, now);
  if (!on) return;
  const cost = (delta) => delta[2] + delta[3].length;
  const caret = change(old, now, field.selectionEnd ?? 0);
  const free = change(old, now, 0);
  const delta = cost(free) < cost(caret) ? free : caret;
  const target = targetOf(field);
  const cited = citing || (chunk.at(-1)?.method === "cite" && !run && !held.length);
  citing = false;
  if (cited && !more.comment) add("input", { target, delta, name: "cite" });
  else if (TYPED.test(more.name) && cost(delta) === 1) stroke(target, delta);
  else add("input", { target, delta, ...more });
}

function show(field) {
  values.set(field, field.value);
  add("show", { target: targetOf(field), delta: [0, 0, 0, field.value] });
}

// Lines to choose on: their page begins, and a choice names the line and the side as shown.
function showJudged(page) {
  add("show", { target: targetOf(page) });
}

const plain = (text) => text.replace(/\s+/g, " ").trim();

// Where a text is from: {comment, name}, the name being the number of a numbered passage.
function source(text) {
  const wanted = plain(text);
  const from = copied.get(wanted);
  if (from?.name) return from;
  const read = [...document.querySelectorAll("[data-passage], #question")];
  const part = read.find((one) => plain(one.textContent).includes(wanted));
  if (part) return passage(part);
  if (from) return from;
  // What stands in the fields may not be in the drafts yet.
  const fields = [...document.querySelectorAll(FIELD)].map((field) => field.value);
  const stored = drafts.all(data.assignment).map(([, row]) => row?.draft?.text ?? "");
  const own = [...fields, ...stored];
  return { comment: own.some((one) => plain(one).includes(wanted)) ? "own" : "outside" };
}
const passage = (part) => ({ comment: "passage", name: part?.dataset.passage || undefined });

function keyClass({ key, ctrlKey, metaKey, altKey }) {
  if (key === "Backspace" || key === "Delete") return "correction";
  if (key === "Enter") return "enter";
  if (/^(Arrow|Page|Home|End|Tab)/.test(key)) return "navigation";
  if (key.length > 2 || ctrlKey || metaKey || altKey) return "other";
  if (key === " ") return "space";
  if (/\p{L}/u.test(key)) return "letter";
  return /\p{N}/u.test(key) ? "digit" : "punctuation";
}

const seldom = (ms, tell) => {
  let timer = 0;
  return () => (timer ||= setTimeout(() => ((timer = 0), tell()), ms));
};
const listen = (name, tell, target = document) => target.addEventListener(name, tell, true);
const screen = () => ({ screenWidth: innerWidth, screenHeight: innerHeight });

function begin() {
  add("open", { target: "window", name: document.visibilityState, ...screen() });
  post(data.streamUrl, { key: stream }).catch(() => {}); // the events open it, too
  listen("keydown", pressed);
  for (const name of ["copy", "cut"]) {
    listen(name, (e) => {
      const field = e.target.closest?.(FIELD);
      const { selectionStart: from, selectionEnd: to } = field ?? {};
      const text = field ? field.value.slice(from, to) : String(getSelection());
      const node = getSelection()?.anchorNode;
      const part = (node?.closest ? node : node?.parentElement)?.closest("[data-passage]");
      copied.set(plain(text), field ? { comment: "own" } : passage(part));
      add(name, { target: targetOf(e.target), length: text.length });
    });
  }
  for (const name of ["paste", "drop"]) {
    listen(name, (e) => {
      const text = (e.clipboardData ?? e.dataTransfer)?.getData("text/plain") ?? "";
      pasted = text ? source(text) : {};
      add(name, { target: targetOf(e.target), length: text.length, ...pasted });
    });
  }
  listen("input", (e) => {
    const from = /From(Paste|Drop)/.test(e.inputType) ? { comment: pasted.comment } : {};
    if (e.target.matches?.(FIELD)) changed(e.target, { name: e.inputType, ...from });
  });
  listen("click", (e) => {
    const name = e.target.closest?.("button, a, summary")?.value;
    add("click", { target: targetOf(e.target), name, x: e.clientX, y: e.clientY });
  });
  for (const name of ["focus", "blur"]) {
    listen(name, (e) => e.target === window && add(name, { target: "window" }), window);
    const inner = name === "focus" ? "focusin" : "focusout";
    listen(inner, (e) => e.target.matches?.(FIELD) && add(name, { target: targetOf(e.target) }));
  }
  listen("scroll", seldom(500, () => add("scroll", { target: "window", x: scrollX, y: scrollY })));
  listen("resize", seldom(500, () => add("resize", { target: "window", ...screen() })), window);
  for (const name of ["offline", "online"]) listen(name, () => add(name), window);
  listen("visibilitychange", () => {
    leaving.forEach((tell) => tell());
    add("visibilitychange", { target: "window", name: document.visibilityState });
    if (document.hidden) leave();
  });
  listen("pagehide", () => {
    leaving.forEach((tell) => tell());
    add("visibilitychange", { target: "window", name: "hidden" });
    leave();
  }, window);
  setInterval(keep, 1000);
}

// Called once a page, by what needs the log to be kept and sent.
export function startLog() {
  if (on) begin();
  setInterval(() => (busy ? seal() : flush()), FLUSH_MS);
  adopt();
  if (streams().size) flush();
}

export const log = {
  add,
  show,
  showJudged,
  sync: (field) => changed(field, { comment: "sync" }),
  onLeave: (tell) => leaving.push(tell),
  flush,
};
