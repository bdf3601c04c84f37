// What is written stays on this device until the server has it. Every change goes into localStorage
// at once, under a key of this tab's own, and to the server a moment later. A version is a save of
// one tab, {tab, seq}; it names the versions that it takes into account (seen: of each tab the last
// one). By that the server tells a later version from a second one. Of two that do not know each
// other it keeps both, the page is told (onConflict), and its person chooses.
import { post } from "./requests.js";
import { store, uuid } from "./storage.js";
import { gettext, interpolate } from "./words.js";

const DRAFT = "crowdqc:draft:"; // + assignment:item:tab -> {tab, seq, seen, chosen, draft, url}
const SENT = "crowdqc:sent:"; // + assignment:item:tab -> seq that the server or a later one has
const KEEP_DAYS = 60;
const tab = uuid();
const own = new Map(); // key -> this tab's record
const refused = new Map(); // key -> {seq, why}: not sent again as it is
const [sentListeners, conflicts, savedListeners] = [[], [], []];
let savedAt = null;
let away = false; // the last attempt reached no server
let signedOut = false;
let timer = 0;
let wait = 1000;
let running = null;

function show(state, why = "") {
  document.querySelectorAll("[data-saved]").forEach((line) => {
    line.hidden = line.dataset.saved !== state;
  });
  document.querySelectorAll("[data-why]").forEach((line) => (line.textContent = why));
  // Back to where the person is now, which is not always where the page began.
  const next = encodeURIComponent(location.pathname + location.search);
  document.querySelectorAll("a[data-sign-in]").forEach((link) => {
    link.href = `${link.href.split("?")[0]}?next=${next}`;
  });
  tick();
}

function tick() {
  if (savedAt === null) return;
  const seconds = Math.max(0, Math.round((Date.now() - savedAt) / 1000));
  const words =
    seconds < 60 ? interpolate(gettext("%(seconds)s s ago"), { seconds }, true)
      : seconds < 3600 ? interpolate(gettext("%(minutes)s min ago"), { minutes: Math.floor(seconds / 60) }, true) : "";
  document.querySelectorAll("[data-ago]").forEach((line) => (line.textContent = words));
}

function read(key) {
  try {
    return JSON.parse(store.get(key));
  } catch {
    return null;
  }
}

const keyOf = (assignment, item) => `${DRAFT}${assignment}:${item}:${tab}`;
const partsOf = (key) => key.slice(DRAFT.length).split(":");
const sentKey = (key) => SENT + key.slice(DRAFT.length);
const recordOf = (key) => own.get(key) ?? read(key);
const isSent = (key, { seq }) => Number(store.get(sentKey(key)) ?? -1) >= seq;
const here = () => document.getElementById("work")?.dataset ?? {};
const covers = (seen, { tab: name, seq }) => (seen[name] ?? -1) >= seq;

function markSent(key, seq) {
  if (Number(store.get(sentKey(key)) ?? -1) < seq) store.set(sentKey(key), String(seq));
}

// ``seen``: what this text takes into account; ``chosen``: its person chose it over another one.
// Returns the new version, whose seen has its own number as well.
function put(assignment, item, draft, url, seen, chosen = false) {
  const key = keyOf(assignment, item);
  const before = own.get(key);
  const seq = Math.max(Date.now(), (before?.seq ?? 0) + 1, (seen[""] ?? 0) + 1);
  chosen ||= Boolean(before?.chosen) && !isSent(key, before);
  for (const name in seen) {
    // It holds what those have, so that nobody needs to send them.
    if (name !== tab && name) markSent(`${DRAFT}${assignment}:${item}:${name}`, seen[name]);
  }
  const record = { tab, seq, seen: { ...seen, [tab]: seq }, chosen, draft, url };
  own.set(key, record);
  store.set(key, JSON.stringify(record));
  show(navigator.onLine ? "sending" : "device");
  later(1000);
  return record;
}

// Keys of what has not reached the server, the oldest first.
function unsent(assignment = "", item = "") {
  const prefix = DRAFT + [assignment, item].filter(Boolean).map((one) => `${one}:`).join("");
  const keys = new Set([...store.keys(prefix), ...[...own.keys()].filter((key) => key.startsWith(prefix))]);
  return [...keys]
    .map((key) => [key, recordOf(key)])
    .filter(([key, record]) => record?.url && record.seen && !isSent(key, record))
    .sort((a, b) => a[1].seq - b[1].seq)
    .map(([key]) => key);
}

// What the line above says: of the item that is shown, on the list of all of them.
function tellState() {
  const { assignment = "", item = "" } = here();
  const keys = assignment ? unsent(assignment, item) : [];
  const no = keys.map((key) => refused.get(key)).find(Boolean);
  if (!keys.length) {
    if (savedAt === null) return;
    show("server");
    savedListeners.forEach((tell) => tell());
  } else if (signedOut) show("signed-out");
  else if (no) show("failed", no.why);
  else show(navigator.onLine && !away ? "sending" : "device");
}

function later(ms) {
  clearTimeout(timer);
  timer = setTimeout(sync, ms);
}

// The server has this version.
function sent(key, { seq }) {
  markSent(key, seq);
  refused.delete(key);
  savedAt = Date.now();
}

// One draft to the server. Says what came of it: "done", "refused", "later" (the server failed),
// "signed-out" or "away" (no server was reached).
async function sendOne(key, keepalive = false) {
  const [assignment, item] = partsOf(key);
  const record = recordOf(key);
  if (!record || isSent(key, record)) return "done";
  const { url, ...version } = record;
  let reply;
  try {
    reply = await post(url, { item: Number(item), ...version }, keepalive);
  } catch {
    return "away";
  }
  const { status, ok, data } = reply;
  if (ok) {
    sent(key, record);
    sentListeners.forEach((tell) => tell(assignment, item, record, data));
    return "done";
  }
  // Without a code it is the form's key that is refused: signed in anew in another tab.
  if (status === 401 || (status === 403 && !data.code)) return "signed-out";
  if (status >= 500 || status === 429) return "later";
  const apart = status === 409 && data.code === "draft-changed";
  const why = apart ? gettext("It was changed elsewhere, too.") : data.detail ?? "";
  refused.set(key, { seq: record.seq, why });
  if (apart) conflicts.forEach((tell) => tell(assignment, item, record, data));
  // Of an assignment that is over nothing can be sent any more.
  else if (status === 409 && assignment !== here().assignment) markSent(key, record.seq);
  return "refused";
}

// One that is refused or fails holds up no other.
async function sendAll() {
  const came = new Set();
  for (const key of unsent()) {
    if (refused.get(key)?.seq === recordOf(key).seq) continue;
    const result = await sendOne(key);
    came.add(result);
    if (result === "away" || result === "signed-out") break;
  }
  signedOut = came.has("signed-out");
  away = came.has("away") || came.has("later");
  wait = away ? Math.min(wait * 2, 15000) : 1000;
  if (away) later(wait);
  tellState();
}

// Resolves to whether everything of this assignment has reached the server.
async function sync() {
  clearTimeout(timer);
  while (running) await running;
  running = sendAll();
  try {
    await running;
  } finally {
    running = null;
  }
  return !unsent(here().assignment).length;
}

// The page goes away: one request each, which outlives it.
function leave() {
  for (const key of unsent()) {
    if (refused.get(key)?.seq !== recordOf(key).seq) sendOne(key, true);
  }
}

function clear(assignment) {
  for (const prefix of [DRAFT, SENT]) {
    store.keys(`${prefix}${assignment}:`).forEach((key) => store.remove(key));
  }
  own.clear();
  store.remove(`crowdqc:key:${assignment}`);
}

// Of what is sent the newest of an item stays for a while: pasted from there, it is one's own.
function prune() {
  const newest = new Map();
  for (const key of store.keys(DRAFT)) {
    const record = read(key);
    if (!record || record.seq < Date.now() - KEEP_DAYS * 86400000) {
      store.remove(key);
    } else if (isSent(key, record)) {
      const place = partsOf(key).slice(0, 2).join(":");
      const [older, other] = [newest.get(place), { key, seq: record.seq }].sort((a, b) => (a?.seq ?? 0) - (b?.seq ?? 0));
      newest.set(place, other);
      if (older) store.remove(older.key);
    }
  }
  for (const key of store.keys(SENT)) {
    if (Number(store.get(key)) < Date.now() - KEEP_DAYS * 86400000) store.remove(key);
  }
}

// Records of pages before this form of them: a number and a list of those it takes into account.
function takeOver() {
  for (const key of store.keys(DRAFT)) {
    const [record, [assignment, item, from]] = [read(key), partsOf(key)];
    if (from) continue;
    if (record?.url && !isSent(key, record)) {
      const { seq, draft, url, after = [] } = record;
      const seen = { "": Math.max(0, ...after), old: seq };
      store.set(`${DRAFT}${assignment}:${item}:old`, JSON.stringify({ tab: "old", seq, seen, draft, url }));
    }
    store.remove(key);
  }
}

// Called once a page, by what needs drafts to be sent.
export function startDrafts() {
  takeOver();
  prune();
  if (unsent().length) later(200);
  setInterval(tick, 1000);
  addEventListener("pagehide", leave);
  addEventListener("online", () => sync());
  addEventListener("offline", () => tellState());
  document.addEventListener("visibilitychange", () => document.hidden && leave());
}

export const drafts = {
  tab,
  put,
  covers,
  sync,
  clear,
  leave,
  show,
  unsent,
  tellState,
  sent: (assignment, item, record) => {
    sent(keyOf(assignment, item), record);
    tellState();
  },
  // Records of an item that have not reached the server, the oldest first.
  pending: (assignment, item) => unsent(assignment, item).map(recordOf),
  // The server has these already: what it holds takes them into account.
  drop: (assignment, item, seen) => {
    for (const key of unsent(assignment, item)) {
      const record = recordOf(key);
      if (covers(seen, record)) markSent(key, record.seq);
    }
  },
  all: (assignment) =>
    store.keys(`${DRAFT}${assignment}:`).map((key) => [partsOf(key)[1], read(key)]),
  savedAt: (time) => {
    savedAt = time;
    show("server");
  },
  onSent: (tell) => sentListeners.push(tell),
  onConflict: (tell) => conflicts.push(tell),
  onSaved: (tell) => savedListeners.push(tell),
  // Another tab has written something of this item.
  onOther: (tell) => addEventListener("storage", ({ key, newValue }) => {
    if (!key?.startsWith(DRAFT) || !newValue) return;
    const [assignment, item, from] = partsOf(key);
    if (from) tell(assignment, item, JSON.parse(newValue));
  }),
};
