// Search in all sections of all pages. The index is a script, which is loaded when somebody first wants to search.
"use strict";

const query = document.getElementById("query");
const found = document.getElementById("found");
const status_ = document.getElementById("status");
const MOST = 12;
let sections = null; // of the index: address, title, heading, text, and the last three in lower case
let selected = -1;

function load() {
  if (sections !== null) return;
  sections = [];
  const script = document.createElement("script");
  script.src = "search-index.js";
  script.onload = () => {
    sections = searchIndex.map((row) => [...row, row.slice(1).join("\n").toLowerCase()]);
    show();
  };
  document.head.append(script);
}

// How well a section serves the words, all of which it has to have; 0 if it lacks one.
function rate(section, words) {
  const [, title, heading, , all] = section;
  let sum = 0;
  for (const word of words) {
    const count = all.split(word).length - 1;
    if (count === 0) return 0;
    sum += Math.min(count, 5) / 5;
    if (title.toLowerCase().includes(word)) sum += 2;
    if (heading.toLowerCase().includes(word)) sum += heading === title ? 10 : 4; // a page that is about it comes first
  }
  return sum;
}

// The text around the first of the words, with all of them marked.
function snippet(text, words) {
  const lower = text.toLowerCase();
  const first = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...(first.length ? first : [0])) - 40);
  const cut = (start > 0 ? "… " : "") + text.slice(start, start + 140);
  const pattern = new RegExp(words.map((word) => word.replace(/[^\w]/g, "\\$&")).join("|"), "gi");
  const out = document.createElement("span");
  let end = 0;
  for (const match of cut.matchAll(pattern)) {
    const mark = document.createElement("mark");
    mark.textContent = match[0];
    out.append(cut.slice(end, match.index), mark);
    end = match.index + match[0].length;
  }
  out.append(cut.slice(end));
  return out;
}

function item([address, title, heading, text], words, index) {
  const out = document.createElement("li");
  out.id = `found-${index}`;
  out.setAttribute("role", "option");
  const link = document.createElement("a");
  link.href = address;
  link.tabIndex = -1;
  const name = document.createElement("b");
  name.textContent = heading === title || heading === "" ? title : `${title}: ${heading}`;
  link.append(name, snippet(text, words));
  out.append(link);
  return out;
}

function show() {
  const words = query.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rated = words.length === 0 ? [] : sections.map((section) => [rate(section, words), section]).filter(([rating]) => rating > 0);
  rated.sort((a, b) => b[0] - a[0]);
  found.replaceChildren(...rated.slice(0, MOST).map(([, section], index) => item(section, words, index)));
  found.hidden = rated.length === 0;
  query.setAttribute("aria-expanded", String(!found.hidden));
  status_.textContent = words.length === 0 ? "" : `${rated.length} found`;
  select(-1);
}

function select(index) {
  selected = index;
  [...found.children].forEach((child, i) => child.setAttribute("aria-selected", String(i === index)));
  if (index >= 0) {
    query.setAttribute("aria-activedescendant", `found-${index}`);
    found.children[index].scrollIntoView({ block: "nearest" });
  } else query.removeAttribute("aria-activedescendant");
}

function close() {
  found.hidden = true;
  status_.textContent = "";
  query.setAttribute("aria-expanded", "false");
}

query.addEventListener("focus", load);
query.addEventListener("input", () => (load(), show()));
query.form.addEventListener("submit", (event) => event.preventDefault());
query.addEventListener("keydown", (event) => {
  const count = found.children.length;
  if (event.key === "Escape") close();
  else if (event.key === "ArrowDown" && count > 0) select((selected + 1) % count);
  else if (event.key === "ArrowUp" && count > 0) select((selected + count - 1) % count);
  else if (event.key === "Enter" && count > 0) location.href = found.children[Math.max(selected, 0)].firstChild.href;
  else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => query.form.contains(event.target) && !event.target.closest("a") || close());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === query || event.ctrlKey || event.metaKey) return;
  query.focus();
  event.preventDefault();
});

// Where there is little room, navigation is closed to begin with.
if (matchMedia("(max-width: 56rem)").matches) document.querySelector("nav details").open = false;
