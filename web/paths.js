/* The paths that learned propagation followed from the subject to the answer, each drawn as a chain, its arrows as thick
   as the share of the answer's score that came along it. */

import { html } from "./vendor/htm-preact.js";
import { formatProbability, plural, seenFrom } from "./format.js";
import { EntityLink, Name } from "./parts.js";

/** The facts of a path as steps from entity to entity. */
function walk(subject, path) {
  let at = subject;
  return path.map(({ head, relation, tail }) => {
    const step = seenFrom(at, [head, relation, tail]);
    at = step.other;
    return step;
  });
}

/** An arrow over the whole width of its box, pointing from head to tail. */
function Edge({ relation, side, share }) {
  const width = 1 + 5 * share;
  return html`
    <span class="edge">
      <${Name}>${relation}<//>
      <span class="drawn-edge" data-side=${side}>
        <svg width="100%" height="10" aria-hidden="true"><line x1="0" x2="100%" y1="5" y2="5"
          stroke-width=${width.toFixed(2)} /></svg>
      </span>
      <span class="unseen">${side === "tail" ? "to" : "from"}</span>
    </span>`;
}

function Path({ subject, reason }) {
  return html`
    <li class="path">
      <span class="number">${formatProbability(reason.share)}</span>
      <span class="chain">
        <span class="node known"><${Name}>${subject}<//></span>
        ${walk(subject, reason.path).map(
          (step) => html`
            <span class="hop">
              <${Edge} ...${step} share=${reason.share} />
              <span class="node known"><${EntityLink} name=${step.other} /></span>
            </span>`,
        )}
      </span>
    </li>`;
}

export function Paths({ subject, terms }) {
  const withReasons = terms.filter((term) => term.reasons?.length);
  return withReasons.map(({ term, reasons, reason_count: count }) => {
    const note = reasons.length < count ? `the largest ${reasons.length} of ${plural(count, "path", "paths")}` : "";
    return html`
      <section class="paths" key=${term}>
        <h3>Paths to the answer <span class="note">${note}</span></h3>
        <ol>
          ${reasons.map((reason) => html`<${Path} subject=${subject} reason=${reason} />`)}
        </ol>
      </section>`;
  });
}
