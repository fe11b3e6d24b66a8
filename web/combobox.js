/* A text field that completes: the combobox of ARIA's patterns, with a list that the arrow keys walk through while the
   focus stays in the field. What is typed is the value; choosing an option only types it for you. */

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { useAnswer } from "./state.js";
import { Name } from "./parts.js";

let lastId = 0;

function useId() {
  const id = useRef(null);
  if (id.current === null) id.current = `combobox-${++lastId}`;
  return id.current;
}

/** `load(text, signal)` promises [{ name, note }]. `onInput(text)` hears what is typed, `onPick(name)` what is chosen, and
    `onLeave(text)` what stands there when the focus goes. */
export function Combobox({
  label,
  value,
  placeholder,
  load,
  onInput,
  onPick,
  onLeave,
  invalid,
  describedBy,
  inputRef,
  delay = 120,
}) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const { value: options = [] } = useAnswer((signal) => load(value, signal), open ? value : null, delay);
  const shown = open && options.length > 0;
  const list = useRef(null);

  useEffect(() => setActive(-1), [value, open]);
  useEffect(() => {
    if (shown && active >= 0) list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active, shown]);

  const pick = (name) => {
    setOpen(false);
    onPick(name);
  };

  const move = (step) => {
    setOpen(true);
    if (options.length) setActive((active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length);
  };

  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => (open ? setOpen(false) : onInput("")),
    Enter: () => pick(shown && active >= 0 ? options[active].name : value),
  };

  const onKeyDown = (event) => {
    if (event.key === "Tab" && shown && active >= 0) pick(options[active].name);
    if (!keys[event.key] || event.isComposing) return;
    event.preventDefault();
    keys[event.key]();
  };

  return html`
    <span class="combobox">
      <input
        ref=${inputRef}
        type="text"
        role="combobox"
        dir="auto"
        autocomplete="off"
        autocapitalize="off"
        spellcheck=${false}
        aria-label=${label}
        aria-expanded=${shown ? "true" : "false"}
        aria-controls=${id}
        aria-autocomplete="list"
        aria-activedescendant=${shown && active >= 0 ? `${id}-${active}` : undefined}
        aria-invalid=${invalid ? "true" : undefined}
        aria-describedby=${describedBy}
        placeholder=${placeholder}
        value=${value}
        title=${value}
        onInput=${(event) => (setOpen(true), onInput(event.target.value))}
        onFocus=${() => setOpen(true)}
        onBlur=${() => (setOpen(false), onLeave?.(value))}
        onKeyDown=${onKeyDown}
      />
      <ul id=${id} role="listbox" tabindex="-1" aria-label=${label} hidden=${!shown} ref=${list}>
        ${(shown ? options : []).map(
          (option, i) => html`
            <li
              key=${option.name}
              id=${`${id}-${i}`}
              role="option"
              aria-selected=${i === active ? "true" : "false"}
              onMouseDown=${(event) => event.preventDefault()}
              onClick=${() => pick(option.name)}
            >
              <${Name}>${option.name}<//>${option.note && html`<span class="note">${option.note}</span>`}
            </li>`,
        )}
      </ul>
    </span>`;
}
