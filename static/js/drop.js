// A file dropped on the form is read at once; without this script it is chosen and sent.
"use strict";

(() => {
  document.querySelectorAll("form[data-drop]").forEach((form) => {
    const input = form.querySelector("input[type=file]");

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
