// What is written stays on this device until the server has it. Every change goes into
// localStorage at once and to the server a moment later; of two states the one with the higher
// number (seq, grown from the clock) wins. A record is only ever replaced by a newer one, and what
// the server has is noted beside it, so that tabs do not undo each other.
"use strict";

window.crowdqc = (() => {
  const DRAFT = "crowdqc:draft:"; // + assignment:item -> {seq, draft, url}
  const SENT = "crowdqc:sent:"; // + assignment:item -> seq
  const KEEP_DAYS = 60;
  const memory = new Map(); // where this browser stores nothing
  const listeners = [];
  let savedAt = null;
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
    document.querySelectorAll("[data-saved]").forEach((line) => {
      line.hidden = line.dataset.saved !== state;
    });
    document.querySelectorAll("[data-why]").forEach((line) => (line.textContent = why));
    tick();
  }

  function tick() {
    if (savedAt === null) return;
    const seconds = Math.max(0, Math.round((Date.now() - savedAt) / 1000));
    const words =
      seconds < 60 ? `${seconds} s ago` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : "";
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

  function put(assignment, item, draft, url, above = 0) {
    const key = draftKey(assignment, item);
    const seq = Math.max(Date.now(), (read(key)?.seq ?? 0) + 1, above + 1);
    store.set(key, JSON.stringify({ seq, draft, url }));
    show(navigator.onLine ? "sending" : "device");
    later(1000);
    return seq;
  }

  function sent(assignment, item, seq) {
    store.set(`${SENT}${assignment}:${item}`, String(seq));
    savedAt = Date.now();
    if (!unsent(assignment).length) show("server");
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
    const { status, ok, data } = await post(record.url, body, keepalive);
    if (ok) {
      sent(assignment, item, record.seq);
      if (data.seq > record.seq) listeners.forEach((tell) => tell(item, data));
      return true;
    }
    if (status === 401) {
      show("signed-out");
      return false;
    }
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
    throw new Error(`The server answered ${status}.`);
  }

  async function sendAll() {
    const keys = unsent();
    try {
      for (const key of keys) if (!(await sendOne(key, false))) return false;
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
    },
  };
})();
