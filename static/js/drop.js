// A file that is dropped or chosen is sent at once; without this script there is a button.
import { sendInParts } from "./upload.js";

document.querySelectorAll("form[data-drop]").forEach((form) => {
  const input = form.querySelector("input[type=file]");
  const button = form.querySelector("[data-drop-submit]");
  const send = () => {
    if (!input.files.length) return;
    const [file, ...more] = input.files;
    const isTable = !more.length && !/^(image|audio)\//.test(file.type);
    if (!("parts" in form.dataset && isTable && sendInParts(form, file))) form.requestSubmit();
  };
  input.addEventListener("change", send);
  form.classList.add("sends");
  // Chosen before this script ran: sent now, unless the browser restored it on a way back.
  const [visit] = performance.getEntriesByType("navigation");
  if (visit?.type === "navigate") send();
  if (button) button.hidden = !input.files.length;

  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    send();
  });
});
