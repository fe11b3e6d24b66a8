/* Small pieces that all views use: names, links, cards, and problems in words. Names are data: they are only ever text,
   each isolated from the direction of what surrounds it. */

import { html } from "./vendor/htm-preact.js";
import { entityAddress } from "./state.js";

/** A name may break behind the signs that join its words, where it is short enough to care. */
const breakable = (name) =>
  name.length > 200
    ? name
    : name.split(/(?<=[_/.#])(?=\p{L})/u).map((part, i) => html`${i > 0 && html`<wbr />`}${part}`);

export const Name = ({ children: name }) => html`<bdi class="name" title=${name}>${breakable(String(name))}</bdi>`;

export const EntityLink = ({ name }) => html`<a class="entity" href=${entityAddress(name)}><${Name}>${name}<//></a>`;

/** A relation as an arrow towards the entity at its other end, or away from it. */
export const Arrow = ({ relation, side }) => html`
  <span class="arrow" data-side=${side}>
    ${side === "head" && html`<span class="shaft" aria-hidden="true">\u2190\u00a0</span>`}<${Name}>${relation}<//>${
      side === "tail" && html`<span class="shaft" aria-hidden="true">\u00a0\u2192</span>`
    }
    <span class="unseen">${side === "tail" ? " to " : " from "}</span>
  </span>`;

/** A relation and where it leads. */
export const LinkTo = ({ relation, side, entity }) => html`
  <${Arrow} relation=${relation} side=${side} />${" "}<${EntityLink} name=${entity} />`;

export const Card = ({ id, title, note, tools, busy = false, children }) => html`
  <section class="card" id=${id} aria-labelledby=${`${id}-title`} aria-busy=${busy}>
    <header>
      <h2 id=${`${id}-title`}>${title}</h2>
      ${note && html`<span class="note">${note}</span>`}
      ${tools && html`<span class="tools">${tools}</span>`}
    </header>
    ${children}
  </section>`;

/** Names to choose from instead of one that is not there. */
export const Suggestions = ({ names, onPick }) =>
  names?.length > 0 &&
  html`<span class="suggestions">
    Did you mean
    ${names.map(
      (name) =>
        html` <button type="button" class="suggestion" onClick=${() => onPick(name)}><${Name}>${name}<//></button>`,
    )}?
  </span>`;

/** The library's own message. Names that it suggests are left out of it where they can be clicked. */
export function ProblemNote({ problem, onPick }) {
  if (!problem) return null;
  const clickable = onPick && problem.similar?.length > 0;
  const message = clickable ? problem.message.replace(/, did you mean .*/s, ".") : problem.message;
  return html`
    <p class="problem" role="alert">
      ${problem.title && problem.title !== message && html`<strong>${problem.title}.</strong> `}
      <span>${message}</span>${" "}
      ${clickable && html`<${Suggestions} names=${problem.similar} onPick=${onPick} />`}
    </p>`;
}

/** A probability as a bar, with the number beside it. */
export const Meter = ({ value, text }) => html`
  <span class="meter">
    <svg aria-hidden="true" width="100%" height="6">
      <rect class="track" width="100%" height="6" rx="3" />
      ${value !== null && value !== undefined && html`<rect class="fill" width=${`${Math.max(1, 100 * value)}%`}
        height="6" rx="3" />`}
    </svg>
    <span class="number">${text}</span>
  </span>`;

/** Drawn signs; their meaning is in the label of the button around them. */
const SIGNS = {
  add: "M8 3v10M3 8h10",
  remove: "M4 4l8 8M12 4l-8 8",
  right: "M2.5 8h10M9 4.5 12.5 8 9 11.5",
  left: "M13.5 8h-10M7 4.5 3.5 8 7 11.5",
  open: "M6 4l4 4-4 4",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4M10.2 10.2 13.4 13.4",
};

export const Sign = ({ name }) => html`
  <svg class="sign" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d=${SIGNS[name]} /></svg>`;

/** A button that is only a sign; its label says what it does. */
export const IconButton = ({ sign, label, title = label, kind = "", ...rest }) => html`
  <button type="button" class=${`icon ${kind}`} title=${title} aria-label=${label} ...${rest}>
    <${Sign} name=${sign} />
  </button>`;
