// The interaction log, after consent only: what happens on the page, numbered in one stream per
// opening of it, kept on this device until the server has acknowledged it. Of a key its class;
// texts as deltas [ms, position, deleted, inserted] in UTF-16 units, exact when replayed.
"use strict";

crowdqc.log = (() => {
  const LOG = "crowdqc:log:"; // + stream:first -> {url, events}, a batch not yet acknowledged
  const { post, store, uuid } = crowdqc;
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
  let busy = false;
  let pasted = "";

  const leaving = []; // what others still have to say when the page goes away
  const FIELD = "textarea[data-target]"; // what a text is written in
  const targetOf = (element) =>
    element?.closest?.("[data-target]")?.dataset.target ??
    (element?.closest?.("[data-passage]") ? "passage" : "page");

  function add(method, more = {}) {
    if (!on) return;
    last = Math.max(last, Math.round(Number(data.offsetMs ?? 0) + performance.now() - base));
    const event = { method, time: last, ...more };
    if (event.delta) {
      event.delta[0] = last;
      size += event.delta[3].length * 3;
    }
    chunk.push(event);
    size += 120;
    if (size > 40000) seal();
  }

  // Close the open chunk; it now waits in the store, where the next page finds it.
  function seal() {
    if (!chunk.length) return;
    const body = { url: data.eventsUrl, events: chunk };
    store.set(`${LOG}${stream}:${next}`, JSON.stringify(body));
    next += chunk.length;
    chunk = [];
    size = 0;
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
    if (id !== stream) return;
    [stream, next, chunk] = [uuid(), 0, []];
    document.querySelectorAll(FIELD).forEach(show);
    document.querySelectorAll("[data-judged]").forEach(showJudged);
  }

  async function flush() {
    seal();
    if (busy) return;
    busy = true;
    try {
      for (const id of streams()) if (!(await send(id, false))) break;
    } catch {
      // no network: the next turn tries again
    }
    busy = false;
  }

  function leave() {
    seal();
    const [url, body] = batch(stream);
    if (!url) return;
    if ("keepalive" in Request.prototype) send(stream, true).catch(() => {});
    else {
      const fields = { csrfmiddlewaretoken: crowdqc.token(), payload: JSON.stringify(body) };
      navigator.sendBeacon(url, new URLSearchParams(fields));
    }
  }

  // The least change between two texts that ends before ``end`` of the new one.
  function change(old, now, end) {
    const most = Math.min(old.length, now.length);
    let tail = 0;
    while (tail < Math.min(most, now.length - end) && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
    let head = 0;
    while (head < most - tail && old[head] === now[head]) head++;
    // Never cut a character of two units apart.
    if (/[\uD800-\uDBFF]/.test(now[head - 1] ?? "")) head--;
    if (/[\uDC00-\uDFFF]/.test(now[now.length - tail] ?? "")) tail--;
    return [0, head, old.length - tail - head, now.slice(head, now.length - tail)];
  }

  function changed(field, more) {
    const old = values.get(field) ?? "";
    const now = field.value;
    if (old === now) return;
    values.set(field, now);
    const cost = (delta) => delta[2] + delta[3].length;
    const caret = change(old, now, field.selectionEnd ?? 0);
    const free = change(old, now, 0);
    const delta = cost(free) < cost(caret) ? free : caret;
    add("input", { target: targetOf(field), delta, ...more });
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

  function source(text) {
    const wanted = plain(text);
    const read = [...document.querySelectorAll("[data-passage], #question")];
    if (read.some((part) => plain(part.textContent).includes(wanted))) return "passage";
    if (copied.has(wanted)) return copied.get(wanted);
    const own = crowdqc.drafts.all(data.assignment).map(([, held]) => held?.draft?.text ?? "");
    return own.some((part) => plain(part).includes(wanted)) ? "own" : "outside";
  }

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
    listen("keydown", (e) => add("keydown", { target: targetOf(e.target), name: keyClass(e) }));
    for (const name of ["copy", "cut"]) {
      listen(name, (e) => {
        const field = e.target.closest?.(FIELD);
        const { selectionStart: from, selectionEnd: to } = field ?? {};
        const text = field ? field.value.slice(from, to) : String(getSelection());
        copied.set(plain(text), field ? "own" : "passage");
        add(name, { target: targetOf(e.target), length: text.length });
      });
    }
    for (const name of ["paste", "drop"]) {
      listen(name, (e) => {
        const text = (e.clipboardData ?? e.dataTransfer)?.getData("text/plain") ?? "";
        pasted = text && source(text);
        add(name, { target: targetOf(e.target), length: text.length, comment: pasted });
      });
    }
    listen("input", (e) => {
      const from = /From(Paste|Drop)/.test(e.inputType) ? { comment: pasted } : {};
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
    setInterval(seal, 1000);
  }

  if (on) begin();
  setInterval(flush, 3000);
  if (streams().size) flush();
  return {
    add,
    show,
    showJudged,
    sync: (field) => changed(field, { comment: "sync" }),
    onLeave: (tell) => leaving.push(tell),
    flush,
  };
})();
