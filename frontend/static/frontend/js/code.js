// A text of code: line numbers, Tab and Shift+Tab indent, and each error leads to its line. After Escape, Tab leaves the text.
(() => {
  "use strict";
  const text = document.querySelector("[data-code] textarea");
  if (!text) return;

  const numbers = document.createElement("div");
  numbers.className = "line-numbers";
  numbers.setAttribute("aria-hidden", "true");
  const box = document.createElement("div");
  box.className = "numbered";
  text.before(box);
  box.append(numbers, text);
  const hint = document.createElement("span");
  hint.className = "help";
  hint.textContent = "Tab indents. Esc, then Tab leaves the text.";
  document.querySelector("[data-code] .form-end").append(hint);

  const number = () => {
    const lines = text.value.split("\n").length;
    while (numbers.childElementCount > lines) numbers.lastElementChild.remove();
    while (numbers.childElementCount < lines) {
      numbers.append(Object.assign(document.createElement("span"), { textContent: numbers.childElementCount + 1 }));
    }
    numbers.scrollTop = text.scrollTop;
  };
  const mark = () => {
    for (const each of numbers.querySelectorAll(".has-error")) each.classList.remove("has-error");
    for (const { dataset } of document.querySelectorAll("#checked [data-line]")) {
      numbers.children[dataset.line - 1]?.classList.add("has-error");
    }
  };
  const goTo = (line) => {
    const lines = text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
    text.scrollTop = (line - 4) * parseFloat(getComputedStyle(text).lineHeight);
  };
  // execCommand, because only what it inserts can be undone.
  const insert = (words) => document.execCommand("insertText", false, words) || text.setRangeText(words);
  const indent = (back) => {
    const { selectionStart: start, selectionEnd: end, value } = text;
    if (start === end && !back) {
      insert("  ");
      return;
    }
    const from = value.lastIndexOf("\n", start - 1) + 1;
    const before = value.slice(from, end);
    const after = back ? before.replace(/^ {1,2}/gm, "") : before.replace(/^(?=.)/gm, "  ");
    if (after === before) return;
    text.setSelectionRange(from, end);
    insert(after);
    text.setSelectionRange(start === end ? from + after.length : from, from + after.length);
  };

  let leaves = false;
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" || leaves || event.ctrlKey || event.altKey || event.metaKey) {
      if (event.key !== "Shift") leaves = event.key === "Escape";
      return;
    }
    event.preventDefault();
    indent(event.shiftKey);
  });
  text.addEventListener("input", number);
  text.addEventListener("scroll", () => { numbers.scrollTop = text.scrollTop; });
  document.addEventListener("htmx:afterSettle", mark);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#checked [data-line]");
    if (!link) return;
    event.preventDefault();
    goTo(Number(link.dataset.line));
  });
  number();
  mark();
})();
