// What is written stays on this device until the server has it. Every change goes into
// localStorage at once and to the server a moment later; of two states the one with the higher
// number (seq, grown from the clock) wins. A record is only ever replaced by a newer one, and what
// the server has is noted beside it, so that tabs do not undo each other. A record names the states
// it was made from (after); where the server holds another one, nothing is overwritten: the page is
// told (onConflict) and its person chooses.
"use strict";

window.crowdqc = (() => {
  const DRAFT = "crowdqc:draft:"; // + assignment:item -> {seq, draft, url, after}
  const SENT = "crowdqc:sent:"; // + assignment:item -> seq
  const KEEP_DAYS = 60;
  const MOST_AFTER = 20; // states that a record names
  const memory = new Map(); // where this browser stores nothing
  const listeners = [];
  const conflicts = [];
  const savedListeners = [];
  let savedAt = null;
  let shown = ""; // the state that the page tells of its drafts
  let timer = 0;
  let wait = 1000;
  let running = null;

  const store = {
    get(key) {
      try {
        return localStorage.getItem(key) ?? memory.get(key) ?? null;
      } catch {
        return memory.get(key) ?? null;
      }
    },
    set(key, value) {
      try {
        localStorage.setItem(key, value);
        memory.delete(key);
      } catch {
        memory.set(key, value);
      }
    },
    remove(key) {
      memory.delete(key);
      try {
        localStorage.removeItem(key);
      } catch {
        // nothing is stored then
      }
    },
    keys(prefix) {
      let stored = [];
      try {
        stored = Object.keys(localStorage);
      } catch {
        // only memory is left
      }
      return [...new Set([...stored, ...memory.keys()])].filter((key) => key.startsWith(prefix));
    },
  };

  function uuid() {
    if (crypto.randomUUID) return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
  }

  const token = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

  // Throws when the server cannot be reached; else {status, ok, data}.
  async function post(url, body, keepalive = false) {
    const response = await fetch(url, {
      method: "POST",
      keepalive,
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json",
        "X-CSRFToken": token(),
      },
      body: JSON.stringify(body),
      signal: keepalive ? undefined : AbortSignal.timeout(15000),
    });
    const json = response.headers.get("Content-Type")?.includes("application/json");
    const data = json ? await response.json() : {};
    return { status: response.status, ok: response.ok && json, data };
  }

  function show(state, why = "") {
    shown = state;
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

  const draftKey = (assignment, item) => `${DRAFT}${assignment}:${item}`;
  const isSent = (key, record) =>
    Number(store.get(SENT + key.slice(DRAFT.length)) ?? -1) >= record.seq;

  // ``after``: states that this one takes into account; above them is its own number.
  function put(assignment, item, draft, url, after = []) {
    const key = draftKey(assignment, item);
    const seq = Math.max(Date.now(), (read(key)?.seq ?? 0) + 1, ...after.map((one) => one + 1));
    store.set(key, JSON.stringify({ seq, draft, url, after: after.slice(-MOST_AFTER) }));
    show(navigator.onLine ? "sending" : "device");
    later(1000);
    return seq;
  }

  function sent(assignment, item, seq) {
    store.set(`${SENT}${assignment}:${item}`, String(seq));
    savedAt = Date.now();
    if (!unsent(assignment).length) saved();
  }

  function saved() {
    show("server");
    savedListeners.forEach((tell) => tell());
  }

  // A record is about to be sent: should its answer be lost, the server may hold it already.
  function trying(assignment, item) {
    const key = draftKey(assignment, item);
    const record = read(key);
    if (!record) return [];
    const after = [...new Set([...(record.after ?? []), record.seq])].slice(-MOST_AFTER);
    if (record.after) store.set(key, JSON.stringify({ ...record, after }));
    return after;
  }

  function unsent(assignment = "") {
    const prefix = assignment === "" ? DRAFT : `${DRAFT}${assignment}:`;
    return store.keys(prefix).filter((key) => {
      const record = read(key);
      return record?.url && !isSent(key, record);
    });
  }

  function later(ms) {
    clearTimeout(timer);
    timer = setTimeout(sync, ms);
  }

  // One draft to the server. Says whether the loop may go on to the next.
  async function sendOne(key, keepalive) {
    const [assignment, item] = key.slice(DRAFT.length).split(":");
    const record = read(key);
    if (!record || isSent(key, record)) return true;
    const body = { item: Number(item), draft: record.draft, seq: record.seq };
    if (record.after) body.after = trying(assignment, item);
    const { status, ok, data } = await post(record.url, body, keepalive);
    if (ok) {
      sent(assignment, item, record.seq);
      if (data.seq > record.seq && !isOwn(read(key), data.seq)) {
        listeners.forEach((tell) => tell(item, data));
      }
      return true;
    }
    // Without a code it is the form's key that is refused: signed in anew in another tab.
    if (status === 401 || (status === 403 && !data.code)) {
      show("signed-out");
      return false;
    }
    if (status === 409 && data.code === "draft-changed") return differs(key, record, data);
    if ([403, 404, 409].includes(status)) {
      // Submitted, returned, or another person's on this device: not this page's to send.
      store.set(SENT + key.slice(DRAFT.length), String(record.seq));
      if (status === 409) show("failed", data.detail ?? "");
      return true;
    }
    if (status === 422) {
      show("failed", data.detail ?? "");
      return true;
    }
    throw new Error(interpolate(gettext("The server answered %(status)s."), { status }, true));
  }

  // One of this device's own states, which was sent later and reached the server sooner.
  const isOwn = (now, seq) => now?.seq === seq || Boolean(now?.after?.includes(seq));

  // The server holds a state that this one was not made from.
  function differs(key, record, data) {
    const [assignment, item] = key.slice(DRAFT.length).split(":");
    const now = read(key);
    if (isOwn(now, data.seq)) {
      if (now.seq === record.seq || now.seq === data.seq) sent(assignment, item, record.seq);
      return true;
    }
    show("failed", gettext("It was changed elsewhere, too."));
    conflicts.forEach((tell) => tell(item, { draft: data.draft, seq: data.seq }));
    return false;
  }

  async function sendAll() {
    const keys = unsent();
    try {
      for (const key of keys) if (!(await sendOne(key, false))) return false;
      if (shown === "sending" && !unsent().length) {
        savedAt = Date.now(); // another tab sent it
        saved();
      }
      wait = 1000;
      return true;
    } catch {
      show("device");
      wait = Math.min(wait * 2, 15000);
      later(wait);
      return false;
    }
  }

  // Resolves to whether everything has reached the server.
  async function sync() {
    clearTimeout(timer);
    while (running) await running;
    running = sendAll();
    const done = await running;
    running = null;
    return done;
  }

  // The page goes away: one request each, which outlives it.
  function leave() {
    for (const key of unsent()) sendOne(key, true).catch(() => {});
  }

  function clear(assignment) {
    for (const prefix of [DRAFT, SENT]) {
      store.keys(`${prefix}${assignment}:`).forEach((key) => store.remove(key));
    }
    store.remove(`crowdqc:key:${assignment}`);
  }

  function prune() {
    for (const key of store.keys(DRAFT)) {
      const record = read(key);
      if (!record || record.seq < Date.now() - KEEP_DAYS * 86400000) store.remove(key);
    }
  }

  prune();
  if (unsent().length) later(200);
  setInterval(tick, 1000);
  addEventListener("pagehide", leave);
  addEventListener("online", () => sync());
  addEventListener("offline", () => unsent().length && show("device"));
  document.addEventListener("visibilitychange", () => document.hidden && leave());

  return {
    post,
    uuid,
    store,
    token,
    drafts: {
      put,
      sent,
      trying,
      isSent: (assignment, item) => {
        const record = read(draftKey(assignment, item));
        return !record || isSent(draftKey(assignment, item), record);
      },
      // What the server holds takes the place of what is kept here.
      replace(assignment, item, draft, url, seq) {
        store.set(draftKey(assignment, item), JSON.stringify({ seq, draft, url, after: [seq] }));
        sent(assignment, item, seq);
      },
      sync,
      clear,
      leave,
      show,
      unsent,
      get: (assignment, item) => read(draftKey(assignment, item)),
      all: (assignment) =>
        store.keys(`${DRAFT}${assignment}:`).map((key) => [key.split(":").pop(), read(key)]),
      savedAt: (time) => {
        savedAt = time;
        show("server");
      },
      onNewer: (tell) => listeners.push(tell),
      onConflict: (tell) => conflicts.push(tell),
      onSaved: (tell) => savedListeners.push(tell),
    },
  };
})();
