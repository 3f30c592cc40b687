// Conveniences. Every page works without them.
(() => {
  "use strict";

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });

  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  // j and k follow the next and the previous link, unless somebody is typing.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    const rel = { j: "next", k: "prev" }[event.key];
    const link = rel && document.querySelector(`a[rel="${rel}"]`);
    if (link) link.click();
  });

  // Screen readers hear of a live run when its status or its tenth of progress changes, not at every poll.
  let announced = "";
  document.addEventListener("htmx:afterSwap", () => {
    const status = document.querySelector("[data-announcement]");
    if (!status || status.dataset.announcement === announced) return;
    announced = status.dataset.announcement;
    document.getElementById("announcer").textContent = announced;
  });

  // The line below a canvas names the shape under the pointer.
  document.addEventListener("pointerover", (event) => {
    const shape = event.target.closest?.(".canvas-shape");
    const line = shape?.closest("[data-canvas]")?.querySelector("[data-shape]");
    if (line) line.textContent = `${shape.dataset.name} at (${shape.dataset.x}, ${shape.dataset.y})`;
  });
})();
