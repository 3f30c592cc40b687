// YAML to edit: line numbers, colors, Tab and Shift+Tab indent, and each error leads to its line. After Escape, Tab leaves the text.
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
  // A text field has one color: the same lines stand over it in theirs, and its own are not seen.
  const colored = document.createElement("div");
  colored.className = "colored";
  colored.setAttribute("aria-hidden", "true");
  const shown = document.createElement("div");
  colored.append(shown);
  text.before(box);
  box.append(numbers, text, colored);
  const hint = document.createElement("span");
  hint.className = "help";
  hint.textContent = "Tab indents. Esc, then Tab leaves the text.";
  document.querySelector("[data-code] .form-end").append(hint);

  const resize = (parent, count, make) => {
    while (parent.childElementCount > count) parent.lastElementChild.remove();
    while (parent.childElementCount < count) parent.append(make(parent.childElementCount));
  };
  // Of thousands of lines, only those that changed are made anew: what stands before and after them is kept.
  let drawn = [], kinds = [];
  const replace = (lines) => {
    const most = Math.min(lines.length, drawn.length);
    let head = 0, tail = 0;
    while (head < most && lines[head] === drawn[head]) head += 1;
    while (tail < most - head && lines.at(-1 - tail) === drawn.at(-1 - tail)) tail += 1;
    const rest = shown.children[drawn.length - tail] ?? null;
    const added = lines.length - tail - head, removed = drawn.length - tail - head;
    for (let n = removed; n > added; n -= 1) shown.children[head].remove();
    for (let n = removed; n < added; n += 1) shown.insertBefore(document.createElement("div"), rest);
    kinds = [...kinds.slice(0, head), ...Array(added), ...kinds.slice(drawn.length - tail)];
    drawn = lines;
  };
  const color = (part, line, key, kind) => {
    part.dataset.kind = kind;
    if (key) part.replaceChildren(key[1], Object.assign(document.createElement("b"), { textContent: key[2] }), line.slice(key[0].length));
    else part.textContent = line;
  };
  // As code on other pages: keys and comments, but none within the text below a key that ends with | or >.
  const draw = (lines) => {
    replace(lines);
    let block = null;
    lines.forEach((line, place) => {
      const isText = block !== null && (!line.trim() || line.search(/[^ ]/) > block);
      const key = isText ? null : line.match(/^([ -]*)([\w.-]+)(?=:( |$))/);
      if (!isText) block = key && /:\s*[|>][+-]?\s*$/.test(line) ? key[1].length : null;
      const kind = key ? "key" : !isText && /^\s*#/.test(line) ? "comment" : "text";
      if (kinds[place] === kind) return;
      kinds[place] = kind;
      color(shown.children[place], line, key, kind);
    });
  };
  const follow = () => {
    numbers.scrollTop = text.scrollTop;
    shown.style.transform = `translate(${-text.scrollLeft}px, ${-text.scrollTop}px)`;
  };
  let fitted = false;
  const number = () => {
    const lines = text.value.split("\n");
    resize(numbers, lines.length, (place) => Object.assign(document.createElement("span"), { textContent: place + 1 }));
    draw(lines);
    colored.style.fontSize = getComputedStyle(text).fontSize;
    colored.style.width = `${text.clientWidth}px`;
    colored.style.height = `${text.clientHeight}px`;
    // A number is as high as its line, which phones wrap.
    const heights = narrow.matches ? Array.from(shown.children, (each) => `${each.offsetHeight}px`) : [];
    if (narrow.matches || fitted) lines.forEach((_, place) => { numbers.children[place].style.height = heights[place] ?? ""; });
    fitted = narrow.matches;
    follow();
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
  text.addEventListener("scroll", follow);
  document.addEventListener("htmx:afterSettle", mark);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#checked [data-line]");
    if (!link) return;
    event.preventDefault();
    goTo(Number(link.dataset.line));
  });
  mark();
})();
