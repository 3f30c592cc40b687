// A text of code: line numbers, Tab and Shift+Tab indent, and each error leads to its line. After Escape, Tab leaves the text.
(() => {
  "use strict";
  const text = document.querySelector("[data-code] textarea");
  if (!text) return;

  const narrow = matchMedia("(max-width: 960px)");
  const numbers = document.createElement("div");
  numbers.className = "line-numbers";
  numbers.setAttribute("aria-hidden", "true");
  const box = document.createElement("div");
  box.className = "numbered";
  const measured = document.createElement("div");
  measured.className = "measured";
  measured.setAttribute("aria-hidden", "true");
  text.before(box);
  box.append(numbers, text, measured);
  const hint = document.createElement("span");
  hint.className = "help";
  hint.textContent = "Tab indents. Esc, then Tab leaves the text.";
  document.querySelector("[data-code] .form-end").append(hint);

  const resize = (parent, count, make) => {
    while (parent.childElementCount > count) parent.lastElementChild.remove();
    while (parent.childElementCount < count) parent.append(make(parent.childElementCount));
  };
  // A number is as high as its line, which phones wrap: the same lines, unseen, are measured in the width of the text.
  const fit = () => {
    if (!narrow.matches) {
      for (const each of numbers.children) each.style.height = "";
      return;
    }
    const lines = text.value.split("\n");
    measured.style.width = `${text.clientWidth}px`;
    resize(measured, lines.length, () => document.createElement("div"));
    lines.forEach((line, place) => {
      const shown = line || "\u200b";
      if (measured.children[place].textContent !== shown) measured.children[place].textContent = shown;
    });
    const heights = Array.from(measured.children, (each) => each.offsetHeight);
    heights.forEach((height, place) => { numbers.children[place].style.height = `${height}px`; });
  };
  const number = () => {
    resize(numbers, text.value.split("\n").length, (place) => Object.assign(document.createElement("span"), { textContent: place + 1 }));
    fit();
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
    const [first, above] = [numbers.firstElementChild, numbers.children[Math.max(0, line - 4)]];
    text.scrollTop = above.offsetTop - first.offsetTop;
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
  new ResizeObserver(number).observe(text);
  text.addEventListener("scroll", () => { numbers.scrollTop = text.scrollTop; });
  document.addEventListener("htmx:afterSettle", mark);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#checked [data-line]");
    if (!link) return;
    event.preventDefault();
    goTo(Number(link.dataset.line));
  });
  mark();
})();
