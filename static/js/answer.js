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
  let made = new Set(); // states of the item that this page made or took over
  let after = []; // of these, those that the server may hold
  let offline = false; // the line above the page says so
  let undecided = false; // two versions, and nobody has chosen yet
  let offered = { seq: 0, line: null }; // the other version, and the line that offers both

  function tell(text, choices = {}) {
    offline = false;
    const line = document.createElement("div");
    line.className = "notice warn";
    line.setAttribute("role", "alert");
    line.append(text);
    for (const [label, choose] of Object.entries(choices)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", choose);
      line.append(" ", button);
    }
    document.getElementById("notices")?.replaceChildren(...(text ? [line] : []));
    return line;
  }

  // Signed out, nothing can be saved: said where it cannot be missed, with the way back to here.
  function askToSignIn() {
    drafts.show("signed-out");
    document.getElementById("signed-out")?.showModal();
  }

  // The draft ---------------------------------------------------------------------------------

  function draftOf() {
    const entries = [...new FormData(form())].filter(([name]) => !NOT_DRAFT.has(name));
    return Object.fromEntries(entries.map(([name, value]) => [name, value.replace(/\r\n/g, "\n")]));
  }

  function fill(draft) {
    crowdqc.think?.fit(draft);
    crowdqc.label?.fit(draft);
    for (const [name, value] of Object.entries(draft)) {
      const input = form().elements[name]; // of radio buttons a list, whose value checks one
      if (!input) continue;
      if (input.dataset && "union" in input.dataset) {
        input.value = [...new Set(`${input.value} ${value}`.trim().split(/\s+/))].join(" ");
      } else input.value = value === true ? "true" : value === false ? "" : value;
    }
    describe();
  }

  function unset(...names) {
    for (const name of names) if (form().elements[name]) form().elements[name].value = "";
  }

  function keep() {
    const { assignment, item, draftUrl } = work().dataset;
    const held = drafts.get(assignment, item);
    if (held && made.has(held.seq)) note(held.after ?? []);
    const seq = drafts.put(assignment, item, draftOf(), draftUrl, after);
    made.add(seq);
    work().dataset.seq = seq;
    return seq;
  }

  // These states are taken into account in what the page holds.
  function note(seqs) {
    after = [...new Set([...after, ...seqs])];
    seqs.forEach((seq) => made.add(seq));
  }

  // Two versions ------------------------------------------------------------------------------

  const fingerprint = (draft) => JSON.stringify(Object.entries(draft).sort());
  const place = () => work().dataset.noun || "answer";

  // What is shown here is the newer version; what stood here before can be had back.
  function offerBack(mine, seq) {
    undecided = false;
    tell(interpolate(gettext("This %(place)s was changed in another tab or on another device. The other version stands here now."), { place: place() }, true), {
      [gettext("Back to my version")]: () => {
        note([seq]);
        fill(mine);
        keep();
        tell("");
        drafts.sync();
      },
    });
  }

  // What is shown here is the newer version, and the other one can be had instead.
  function offerOther(draft, seq) {
    tell(interpolate(gettext("This %(place)s is being changed in another tab as well. Your version stands here."), { place: place() }, true), {
      [gettext("Use the other version")]: () => {
        const mine = draftOf();
        fill(draft);
        keep();
        drafts.sync();
        offerBack(mine, seq);
      },
    });
  }

  // The server holds what this page has not seen: nothing of either is lost until one is chosen.
  function offerBoth(other) {
    // A button made anew while it is pressed would take no click.
    if (undecided && offered.seq === other.seq && offered.line.isConnected) return;
    undecided = true;
    const line = tell(interpolate(gettext("This %(place)s was changed in another tab or on another device as well. Nothing is lost: choose a version."), { place: place() }, true), {
      [gettext("Keep my version")]: () => {
        undecided = false;
        note([other.seq]);
        keep();
        tell("");
        drafts.sync();
      },
      [gettext("Use the other version")]: () => {
        const mine = draftOf();
        const { assignment, item, draftUrl } = work().dataset;
        note([other.seq]);
        work().dataset.seq = other.seq;
        fill(other.draft);
        drafts.replace(assignment, item, other.draft, draftUrl, other.seq);
        offerBack(mine, other.seq);
      },
    });
    offered = { seq: other.seq, line };
  }

  function describe() {
    crowdqc.judge?.describe();
    crowdqc.write?.describe();
    crowdqc.think?.describe();
    crowdqc.rate?.describe();
    crowdqc.label?.describe();
    const answer = field();
    const count = work().querySelector("[data-words]");
    if (!answer || !count) return;
    const words = countWords(answer.value);
    count.textContent = interpolate(ngettext("%(words)s word", "%(words)s words", words), { words }, true);
    count.classList.toggle("over", words > Number(answer.dataset.max));
    work().querySelector("p[data-declined]").hidden = !form().elements.declined.value;
  }

  function begin() {
    tick(true);
    const { assignment, item, seq, savedAt } = work().dataset;
    touched = undecided = false;
    if (!item) return;
    const stored = Number(seq);
    [made, after] = [new Set([stored]), [stored]];
    const held = drafts.get(assignment, item);
    if (savedAt) drafts.savedAt(Date.parse(savedAt));
    crowdqc.think?.trim();
    restore(held, stored, drafts.isSent(assignment, item));
    describe();
    work().querySelectorAll("textarea[data-target]").forEach((one) => log.show(one));
    crowdqc.judge?.begin();
    crowdqc.write?.begin();
    crowdqc.rate?.begin();
    crowdqc.label?.begin();
    crowdqc.record?.begin();
    if (drafts.unsent(assignment).length) {
      drafts.show(navigator.onLine ? "sending" : "device"); // what is saved is an older state
      drafts.sync();
    }
    if (crowdqc.think?.begin() || !field()) return;
    if (matchMedia("(min-width: 641px)").matches || touched) {
      field().focus({ preventScroll: true });
      field().setSelectionRange(field().value.length, field().value.length);
    }
  }

  // What this device holds and the server lacks; where the server was given something else
  // meanwhile, both are offered.
  function restore(held, stored, isSent) {
    if (!held) return;
    const apart = stored && held.after && !held.after.includes(stored) && held.seq !== stored;
    if (apart && !isSent) {
      const theirs = draftOf();
      fill(held.draft);
      made.add(held.seq);
      if (fingerprint(theirs) !== fingerprint(draftOf())) offerBoth({ draft: theirs, seq: stored });
    } else if (held.seq > stored) {
      fill(held.draft);
      made.add(held.seq);
      note(held.after ?? []);
      work().dataset.seq = held.seq;
    }
  }

  document.addEventListener("input", (event) => {
    if (!event.target.name || event.target.form !== form()) return;
    touched = true;
    typedAt = performance.now();
    unset("declined", "skipped");
    work().querySelector("#problem")?.remove(); // it said what was wrong before this
    describe();
    keep();
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.matches("textarea[data-target]") && touched) drafts.sync();
  });

  // Another tab, or another device by way of the server, holds something newer.
  function adopt(item, draft, seq) {
    if (work()?.dataset.item !== item || !form() || undecided) return;
    const mine = draftOf();
    if (performance.now() - typedAt < 1500) {
      note([seq]);
      keep(); // who is typing has the last word, and is told of the other one
      offerOther(draft, seq);
      return;
    }
    note([seq]);
    work().dataset.seq = seq;
    fill(draft);
    work().querySelectorAll("textarea[data-target]").forEach((one) => log.sync(one));
    if (touched && fingerprint(mine) !== fingerprint(draftOf())) offerBack(mine, seq);
  }
  drafts.onNewer((item, { draft, seq }) => adopt(item, draft, seq));
  addEventListener("storage", ({ key, newValue }) => {
    const { assignment, item } = work()?.dataset ?? {};
    if (key !== `crowdqc:draft:${assignment}:${item}` || !newValue) return;
    const held = JSON.parse(newValue);
    if (held.seq <= Number(work().dataset.seq)) return;
    note(held.after ?? []);
    adopt(item, held.draft, held.seq);
  });
  drafts.onConflict((item, other) => {
    if (work()?.dataset.item === item && form()) return offerBoth(other);
    const row = work()?.querySelector(`li[data-item="${item}"] a`);
    if (row) tell(gettext("An answer was changed in another tab or on another device as well."), {
      [gettext("Open it")]: () => location.assign(row.href),
    });
  });
  drafts.onSaved(() => offline && tell(""));

  // Going on ----------------------------------------------------------------------------------

  async function go(action) {
    if (moving || !form()) return;
    if (undecided) return document.querySelector("#notices button")?.focus();
    if (crowdqc.judge?.holds(action) || crowdqc.rate?.holds(action)) return;
    if (crowdqc.label?.holds(action) || crowdqc.record?.holds()) return;
    moving = true;
    crowdqc.judge?.tell();
    crowdqc.label?.tell();
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
      if (seq) body.set("after", drafts.trying(assignment, item).join(","));
      const signal = AbortSignal.timeout(15000);
      const response = await fetch(location.href, { method: "POST", body, signal });
      if (response.status === 409) await drafts.sync(); // says whether there are two versions
      if (!undecided) {
        await arrive(response, () => item && seq && drafts.sent(assignment, item, seq));
      }
    } catch {
      drafts.show("device");
      tell(gettext("No network: this answer is kept on this device. Press Next again when it is back."));
      offline = true;
    }
    moving = false;
  }

  async function arrive(response, saved) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("work");
    if (response.status >= 500) throw new Error(gettext("The server cannot answer."));
    if (page.querySelector("[data-stale]")) return askToSignIn();
    if (!response.ok) {
      tell(page.querySelector(".lead")?.textContent.trim() ?? interpolate(gettext("The server answered %(status)s."), { status: response.status }, true));
      return;
    }
    if (!fresh || fresh.dataset.assignment !== work().dataset.assignment) {
      if (new URL(response.url).pathname.startsWith("/work/")) location.assign(response.url);
      else askToSignIn();
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
    document.getElementById("keys")?.togglePopover();
  }

  function press(value) {
    const button = form()?.querySelector(`button[value="${value}"]`);
    if (button) go(value);
    return Boolean(button);
  }

  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const { altKey, ctrlKey, metaKey, code, key } = event;
    const typing = event.target.closest?.("textarea, input:not([type=radio], [type=checkbox]), select");
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
      if (!ok) return tell(data.detail ?? gettext("It could not be extended."));
      document.querySelector("[data-left]").dataset.left = data.left;
      if (!data.extensions) target.remove();
      tick(true);
    } catch {
      tell(gettext("No network: the time could not be extended."));
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
    for (const [item, { draft, seq, after: from }] of held) {
      body.drafts[item] = { draft, seq, ...(from && { after: drafts.trying(assignment, item) }) };
    }
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
      if (status >= 500) throw new Error(gettext("The server cannot answer."));
      state.textContent = "";
      if (status === 401 || (status === 403 && !data.code)) askToSignIn();
      else refuse(data.detail);
    } catch {
      submitting = false;
      state.textContent = gettext("Not submitted yet: no network. It is sent again by itself while this page is open.");
      setTimeout(() => work()?.contains(target) && submit(target), 3000);
    }
  }

  function refuse(why) {
    const line = document.createElement("p");
    line.className = "note bad";
    line.textContent = why ?? gettext("It was not taken. Load the page again.");
    work().querySelector("[data-refused]").replaceChildren(line);
    work().querySelector("[data-wait]")?.remove(); // what was left when the page came
  }

  // The list of questions is as the server knows them: send what it lacks, then look again.
  async function review() {
    const { assignment } = work().dataset;
    if (!drafts.unsent(assignment).length) return;
    if (await drafts.sync()) location.reload();
  }

  crowdqc.keep = keep;
  begin();
  if ("review" in (work()?.dataset ?? {})) review();
})();
