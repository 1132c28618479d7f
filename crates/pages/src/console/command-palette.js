// Implements the command palette, which opens every console view by name. Ctrl+K, Cmd+K or its button opens the palette.

import { element } from "./elements.js";
import { NUMBER } from "./search.js";
import { allows, claims, signOut } from "./session.js";

/** Returns the address of a person's open cases, or null if the person is unknown. The default is the signed-in user. */
export function myCases(person = claims().subject) {
  return person ? `#/cases?${new URLSearchParams({ case_worker: person, open: "yes" })}` : null;
}

function go(hash) {
  location.hash = hash;
}

/**
 * Returns the commands: pairs of text and action.
 * @returns {[string, () => void][]}
 */
function commands() {
  const [mine, earlier] = [myCases(), myCases(claims().earlier)];
  return [
    ["Overview", () => go("#/overview")],
    ...(mine ? [/** @type {[string, () => void]} */ (["My cases", () => go(mine)])] : []),
    ...(earlier ? [/** @type {[string, () => void]} */ (["My earlier cases", () => go(earlier)])] : []),
    ["Open cases", () => go("#/cases?open=yes")],
    ["Overdue cases", () => go("#/cases?overdue=yes")],
    ["Cases", () => go("#/cases")],
    ...(allows("cases") ? [/** @type {[string, () => void]} */ (["Open a case", () => go("#/cases/new")])] : []),
    ["URLs", () => go("#/urls")],
    ["Add URLs", () => go("#/urls/new")],
    ["Affiliates", () => go("#/affiliates")],
    ["New affiliate", () => go("#/affiliates/new")],
    ["Add several affiliates", () => go("#/affiliates/batch")],
    ["Charts", () => go("#/charts")],
    ["Sign out", () => signOut()],
  ];
}

/** The kinds of records with numbers, and their lists. */
const NUMBERED = [["Case", "cases"], ["URL", "urls"], ["Affiliate", "affiliates"]];

/**
 * Returns the commands whose names contain all words in the text, and commands that open records with this number or search for the text. Names
 * that begin with the text come first.
 */
function matching(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands().filter(([name]) => words.every((word) => name.toLowerCase().includes(word)));
  const begins = (name) => Number(name.toLowerCase().startsWith(text.toLowerCase()));
  found.sort(([one], [other]) => begins(other) - begins(one));
  const [, kind, id] = NUMBER.exec(text) ?? [];
  for (const [one, section] of id ? NUMBERED : []) {
    if (!kind || kind.toLowerCase() === one.toLowerCase()) found.push([`${one} ${id}`, () => go(`#/${section}/${id}`)]);
  }
  if (words.length > 0) found.push([`Search for “${text}”`, () => go(`#/search?${new URLSearchParams({ q: text })}`)]);
  return found;
}

const key = (name) => element("kbd", {}, name);

/** Opens the palette. After it closes, focus returns to where it was, unless a command opened a different view. */
export function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const input = element("input", { type: "text", role: "combobox", "aria-label": "Command", "aria-expanded": "true", "aria-controls": "commands",
    "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", maxlength: 256, placeholder: "Type a command or search text" });
  const list = element("ul", { role: "listbox", id: "commands", "aria-label": "Commands" });
  let found = [];
  let chosen = 0;

  const choose = (index) => {
    chosen = index;
    for (const [number, option] of [...list.children].entries()) option.ariaSelected = String(number === index);
    const option = list.children[index];
    if (!option) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const run = (index) => {
    const command = found[index];
    if (!command) return;
    dialog.close();
    command[1]();
  };
  const render = () => {
    found = matching(input.value.trim());
    list.replaceChildren(...found.map(([name], index) =>
      element("li", { role: "option", id: `command-${index}`, "aria-selected": "false", on: { click: () => run(index) } }, element("bdi", {}, name))));
    choose(0);
  };
  input.addEventListener("input", render);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose((chosen + step + found.length) % found.length);
    else if (event.key === "Enter") run(chosen);
    else return;
    event.preventDefault();
  });
  const dialog = element("dialog", { class: "palette", "aria-label": "Commands", on: {
    close: () => dialog.remove(),
    // The dialog has no padding, so only clicks outside its content have the dialog itself as their target.
    click: (event) => event.target === dialog && dialog.close(),
  } }, element("div", { class: "palette-body" }, input, list,
    element("p", { class: "hint" }, key("↑"), key("↓"), " choose, ", key("Enter"), " open, ", key("Esc"), " close. Anywhere: ",
      key("/"), " search, ", key("Ctrl"), key("K"), " or ", key("⌘"), key("K"), " commands.")));
  document.body.append(dialog);
  render();
  dialog.showModal();
  input.focus();
}
