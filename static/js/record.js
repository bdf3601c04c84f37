// Thinking aloud with the microphone: record, stop, send, listen. Nothing is recorded but between
// Record and Stop, and what is recorded is sent at once, so that no copy stays in the browser.
import { formKey } from "./requests.js";
import { gettext, interpolate } from "./words.js";

const TYPE = "audio/webm;codecs=opus";
const can = Boolean(navigator.mediaDevices && globalThis.MediaRecorder?.isTypeSupported(TYPE));
const box = () => document.querySelector("form[data-recorder][action]");
let running = null; // the recorder, from the press of Record until its sound is with the server
let since = 0;
let timer = 0;

const part = (name) => box()?.querySelector(`[data-${name}]`);
function say(words, bad = false) {
  const line = part("recorder-told");
  if (!line) return;
  line.textContent = words;
  line.classList.toggle("bad", bad);
}

function clock() {
  const seconds = Math.floor((performance.now() - since) / 1000);
  const line = part("record-clock");
  if (line) line.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// Which buttons there are: record, stop and clock while it runs, the player once there is a sound.
function describe() {
  if (!box()) return;
  const on = running?.state === "recording";
  part("record-row").hidden = !can;
  part("record").hidden = on;
  part("record").disabled = Boolean(running) && !on;
  part("record-stop").hidden = part("record-clock").hidden = !on;
  const player = box().querySelector("audio");
  const kept = player.hasAttribute("src");
  part("recorder-kept").hidden = !kept || on;
  part("record").textContent = kept ? gettext("Record again") : gettext("Record");
  if (!can) part("recorder-file").open = true;
}

async function send(form, body) {
  const response = await fetch(form.action, {
    method: "POST",
    headers: { Accept: "application/json" },
    body,
  });
  const json = response.headers.get("Content-Type")?.includes("application/json");
  const told = json ? await response.json() : {};
  if (told.code === "read-only") throw new Error(told.detail, { cause: told.code });
  if (!response.ok) throw new Error(told.detail ?? interpolate(gettext("The server answered %(status)s."), { status: response.status }, true));
  const player = form.querySelector("audio");
  if (told.url) player.src = told.url;
  else {
    player.removeAttribute("src");
    player.load();
  }
  form.closest("#work")?.querySelector("#problem")?.remove(); // it may have asked for this
}

async function keep(form, sound) {
  const body = new FormData();
  body.set("csrfmiddlewaretoken", formKey());
  body.set("recording", sound, "recording.webm");
  for (let wait = 1000; ; wait = Math.min(2 * wait, 15000)) {
    try {
      say(gettext("Sending."));
      await send(form, body);
      return say(gettext("Kept."));
    } catch (error) {
      // Without a network it is tried again, as the sound is nowhere else, and while the site takes
      // nothing; a refusal stands.
      const isReadOnly = error.cause === "read-only";
      if (!isReadOnly && !(error instanceof TypeError)) return say(error.message, true);
      say(isReadOnly ? error.message : gettext("No network: your recording is sent when it is back. Leave this page open."), true);
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

async function start() {
  if (running) return;
  running = { state: "asking" };
  const form = box();
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    running = null;
    say(
      error.name === "NotAllowedError"
        ? gettext("Your browser does not let this page use the microphone. Allow it in the address bar, or send a file.")
        : gettext("No microphone was found. You can send a file."),
      true,
    );
    return describe();
  }
  const pieces = [];
  running = new MediaRecorder(stream, { mimeType: TYPE, audioBitsPerSecond: 32000 });
  running.addEventListener("dataavailable", ({ data }) => data.size && pieces.push(data));
  running.addEventListener("stop", async () => {
    stream.getTracks().forEach((track) => track.stop());
    clearInterval(timer);
    describe();
    await keep(form, new Blob(pieces, { type: "audio/webm" }));
    running = null;
    describe();
  });
  running.start(1000);
  since = performance.now();
  timer = setInterval(clock, 500);
  clock();
  say(gettext("Recording."));
  describe();
  part("record-stop").focus();
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-record]")) start();
  else if (event.target.closest("[data-record-stop]") && running?.state === "recording") running.stop();
});
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-recorder]");
  if (!form) return;
  event.preventDefault();
  if (running) return;
  const remove = event.submitter?.name === "remove";
  if (!remove && !form.elements.recording.files.length) return say(gettext("Choose a file first."), true);
  try {
    say(gettext("Sending."));
    await send(form, new FormData(form, event.submitter));
    say(remove ? gettext("Deleted.") : gettext("Kept."));
  } catch (error) {
    say(error instanceof TypeError ? gettext("No network. Try again.") : error.message, true);
  }
  describe();
});
addEventListener("beforeunload", (event) => running && event.preventDefault());

// Whether the page has to stay: a recording that runs or is on its way would be lost.
function holds() {
  if (!running) return false;
  say(running.state === "recording" ? gettext("Stop the recording first.") : gettext("Your recording is being sent."), true);
  part(running.state === "recording" ? "record-stop" : "record")?.focus();
  return true;
}

describe();
export const record = { begin: describe, holds };
