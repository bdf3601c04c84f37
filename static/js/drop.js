// A file that is dropped or chosen is sent at once; without this script there is a button.
"use strict";

(() => {
  document.querySelectorAll("form[data-drop]").forEach((form) => {
    const input = form.querySelector("input[type=file]");
    const button = form.querySelector("[data-drop-submit]");
    if (button) button.hidden = true;

    input.addEventListener("change", () => {
      if (input.files.length) form.requestSubmit();
    });
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
      form.requestSubmit();
    });
  });
})();
