// The answering page: keys, words, clock, going on without loading a page anew, submit. What is
// filled in is a text in a field, choices on lines, which judge.js looks after, or a response with
// its questions, which write.js does.
"use strict";

(() => {
  const { drafts, log, post, store, uuid } = crowdqc;
  const work = () => document.getElementById("work");
  const form = () => work()?.querySelector("form[data-answering]");
  const field = () => work()?.querySelector("textarea[data-target]:not([data-beside])");
  const NOT_DRAFT = new Set(["csrfmiddlewaretoken", "go", "seq", "key", "part"]);
  let ends = 0; // when the lease is over, on this page's own clock
  let moving = false;
  let touched = false;
  let typedAt = -Infinity;
  let submitting = false;

  function tell(text) {
    const line = document.createElement("div");
    line.className = "notice warn";
    line.textContent = text;
    document.getElementById("notices")?.replaceChildren(...(text ? [line] : []));
  }

  // The draft ---------------------------------------------------------------------------------

  function draftOf() {
    const entries = [...new FormData(form())].filter(([name]) => !NOT_DRAFT.has(name));
    return Object.fromEntries(entries.map(([name, value]) => [name, value.replace(/\r\n/g, "\n")]));
  }

  function fill(draft) {
    crowdqc.think?.fit(draft);
    for (const [name, value] of Object.entries(draft)) {
      const input = form().elements[name]; // of radio buttons a list, whose value checks one
      if (input) input.value = value === true ? "true" : value === false ? "" : value;
    }
    describe();
  }

  function unset(...names) {
    for (const name of names) if (form().elements[name]) form().elements[name].value = "";
  }

  function keep() {
    const { assignment, item, draftUrl, seq } = work().dataset;
    return drafts.put(assignment, item, draftOf(), draftUrl, Number(seq));
  }

  function describe() {
    crowdqc.judge?.describe();
    crowdqc.write?.describe();
    crowdqc.think?.describe();
    crowdqc.rate?.describe();
    const answer = field();
    const count = work().querySelector("[data-words]");
    if (!answer || !count) return;
    const words = answer.value.trim() ? answer.value.trim().split(/\s+/).length : 0;
    count.textContent = words === 1 ? "1 word" : `${words} words`;
    count.classList.toggle("over", words > Number(answer.dataset.max));
    work().querySelector("p[data-declined]").hidden = !form().elements.declined.value;
  }

  function begin() {
    tick(true);
    const { assignment, item, seq, savedAt } = work().dataset;
    touched = false;
    if (!item) return;
    const held = drafts.get(assignment, item);
    if (savedAt) drafts.savedAt(Date.parse(savedAt));
    crowdqc.think?.trim();
    if (held && held.seq > Number(seq)) fill(held.draft);
    describe();
    work().querySelectorAll("textarea[data-target]").forEach((one) => log.show(one));
    crowdqc.judge?.begin();
    crowdqc.write?.begin();
    crowdqc.rate?.begin();
    if (drafts.unsent(assignment).length) drafts.sync();
    if (crowdqc.think?.begin() || !field()) return;
    if (matchMedia("(min-width: 641px)").matches || touched) {
      field().focus({ preventScroll: true });
      field().setSelectionRange(field().value.length, field().value.length);
    }
  }

  document.addEventListener("input", (event) => {
    if (!event.target.name || event.target.form !== form()) return;
    touched = true;
    typedAt = performance.now();
    unset("declined", "skipped");
    describe();
    keep();
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.matches("textarea[data-target]") && touched) drafts.sync();
  });

  // Another tab, or another device by way of the server, holds something newer.
  function adopt(item, draft, seq) {
    if (work()?.dataset.item !== item || !form()) return;
    if (performance.now() - typedAt < 1500) {
      work().dataset.seq = seq;
      keep(); // who is typing has the last word
      return;
    }
    work().dataset.seq = seq;
    fill(draft);
    work().querySelectorAll("textarea[data-target]").forEach((one) => log.sync(one));
  }
  drafts.onNewer((item, { draft, seq }) => adopt(item, draft, seq));
  addEventListener("storage", ({ key, newValue }) => {
    const { assignment, item } = work()?.dataset ?? {};
    if (key !== `crowdqc:draft:${assignment}:${item}` || !newValue) return;
    const { draft, seq } = JSON.parse(newValue);
    if (seq > Number(work().dataset.seq)) adopt(item, draft, seq);
  });

  // Going on ----------------------------------------------------------------------------------

  async function go(action) {
    if (moving || !form()) return;
    if (crowdqc.judge?.holds(action) || crowdqc.rate?.holds(action)) return;
    moving = true;
    crowdqc.judge?.tell();
    crowdqc.write?.tell();
    const { assignment, item } = work().dataset;
    let seq = 0;
    if (item) {
      const { declined, skipped } = form().elements;
      if (action === "dont_know") declined.value = "true";
      if (action === "skip") skipped.value = "true";
      const flagged = action === "dont_know" || action === "skip";
      seq = flagged || touched ? keep() : drafts.get(assignment, item)?.seq ?? 0;
    }
    try {
      const body = new FormData(form());
      body.set("go", action);
      body.set("seq", seq || Number(work().dataset.seq ?? 0));
      const signal = AbortSignal.timeout(15000);
      const response = await fetch(location.href, { method: "POST", body, signal });
      await arrive(response, () => item && seq && drafts.sent(assignment, item, seq));
    } catch {
      drafts.show("device");
      tell("No network: this answer is kept on this device. Press Next again when it is back.");
    }
    moving = false;
  }

  async function arrive(response, saved) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("work");
    if (response.status >= 500) throw new Error("The server cannot answer.");
    if (!response.ok) {
      tell(page.querySelector(".lead")?.textContent.trim() ?? `The server answered ${response.status}.`);
      return;
    }
    if (!fresh || fresh.dataset.assignment !== work().dataset.assignment) {
      if (new URL(response.url).pathname.startsWith("/work/")) location.assign(response.url);
      else drafts.show("signed-out");
      return;
    }
    saved();
    tell("");
    work().replaceWith(fresh);
    for (const part of [".segments", "#clock"]) {
      document.querySelector(part)?.replaceWith(page.querySelector(part));
    }
    document.title = page.title;
    history.pushState(null, "", response.url);
    scrollTo(0, 0);
    begin();
    if (!field() && !work().contains(document.activeElement)) {
      document.getElementById("main").focus({ preventScroll: true });
    }
  }

  addEventListener("popstate", () => location.reload());
  document.addEventListener("submit", (event) => {
    const target = event.target;
    if (target.matches("[data-answering]")) {
      event.preventDefault();
      go(event.submitter?.value ?? "next");
    } else if (target.matches("[data-extend]")) {
      event.preventDefault();
      extend(target);
    } else if (target.matches("[data-submit]")) {
      event.preventDefault();
      submit(target);
    } else if (target.matches("[data-return]")) {
      drafts.clear(work().dataset.assignment);
    }
  });

  // Keys ----------------------------------------------------------------------------------------

  function toggleKeys() {
    const list = document.getElementById("keys");
    const button = document.querySelector("[data-keys]");
    if (!list) return;
    list.hidden = !list.hidden;
    button?.setAttribute("aria-expanded", String(!list.hidden));
  }
  document.addEventListener("click", (event) => event.target.closest("[data-keys]") && toggleKeys());

  function press(value) {
    const button = form()?.querySelector(`button[value="${value}"]`);
    if (button) go(value);
    return Boolean(button);
  }

  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const { altKey, ctrlKey, metaKey, code, key } = event;
    const typing = event.target.closest?.("textarea, input:not([type=radio]), select");
    let done = false;
    if ((ctrlKey || metaKey) && key === "Enter") done = press("next") || press("read");
    else if (altKey && key === "ArrowLeft") done = press("back");
    else if (altKey && code === "KeyS") done = press("skip");
    else if (altKey && code === "KeyD") done = press("dont_know");
    else if (altKey && code === "KeyR" && form()) location.assign(work().dataset.reviewUrl);
    else if (key === "?" && !typing) done = toggleKeys() ?? true;
    else if (altKey && code === "KeyK") done = toggleKeys() ?? true;
    else if (key === "Escape" && event.target === field()) field().blur();
    if (done) event.preventDefault();
  });

  // The clock -----------------------------------------------------------------------------------

  function tick(fresh = false) {
    const clock = document.querySelector("[data-left]");
    if (fresh && clock) ends = performance.now() + Number(clock.dataset.left) * 1000;
    if (!clock) return;
    const left = Math.max(0, Math.floor((ends - performance.now()) / 1000));
    const two = (value) => String(value).padStart(2, "0");
    const minutes = Math.floor(left / 60);
    const hours = Math.floor(minutes / 60);
    clock.textContent = hours
      ? `${hours}:${two(minutes % 60)}:${two(left % 60)}`
      : `${minutes}:${two(left % 60)}`;
    clock.classList.toggle("soon", left < 300);
    const over = document.querySelector("[data-over]");
    if (over) over.hidden = left > 0;
  }
  setInterval(tick, 1000);

  async function extend(target) {
    try {
      const { ok, data } = await post(target.action, {});
      if (!ok) return tell(data.detail ?? "It could not be extended.");
      document.querySelector("[data-left]").dataset.left = data.left;
      if (!data.extensions) target.remove();
      tick(true);
    } catch {
      tell("No network: the time could not be extended.");
    }
  }

  // Submit --------------------------------------------------------------------------------------

  function keyOf(assignment) {
    const name = `crowdqc:key:${assignment}`;
    if (!store.get(name)) store.set(name, uuid());
    return store.get(name);
  }

  async function submit(target) {
    if (submitting) return;
    submitting = true;
    const { assignment } = work().dataset;
    const state = work().querySelector("[data-submit-state]");
    const held = drafts.all(assignment).filter(([, record]) => record);
    const body = { key: keyOf(assignment), drafts: {} };
    for (const [item, { draft, seq }] of held) body.drafts[item] = { draft, seq };
    state.textContent = "Submitting.";
    try {
      const { status, ok, data } = await post(target.action, body);
      if (ok || data.code === "submitted") {
        drafts.clear(assignment);
        await log.flush();
        location.assign(data.next ?? work().dataset.reviewUrl);
        return;
      }
      submitting = false;
      if (status >= 500) throw new Error("The server cannot answer.");
      state.textContent = "";
      refuse(status === 401 ? "You are signed out. Sign in again in another tab, then submit." : data.detail);
    } catch {
      submitting = false;
      state.textContent = "Not submitted yet: no network. It is sent again by itself while this page is open.";
      setTimeout(() => work()?.contains(target) && submit(target), 3000);
    }
  }

  function refuse(why) {
    const line = document.createElement("p");
    line.className = "note bad";
    line.textContent = why ?? "It was not taken. Load the page again.";
    work().querySelector("[data-refused]").replaceChildren(line);
    work().querySelector("[data-wait]")?.remove(); // what was left when the page came
  }

  // The list of questions is as the server knows them: send what it lacks, then look again.
  async function review() {
    const { assignment } = work().dataset;
    if (!drafts.unsent(assignment).length) return;
    if (await drafts.sync()) location.reload();
  }

  begin();
  if ("review" in (work()?.dataset ?? {})) review();
})();
