/* What is usually known of such things and missing here: relations that similar entities have. Each can be asked for, or
   filled in. */

import { html } from "./vendor/htm-preact.js";
import { findMissing } from "./api.js";
import { findProblem } from "./check.js";
import { plural } from "./format.js";
import { Arrow, Card, EntityLink, IconButton, Meter, ProblemNote } from "./parts.js";
import { useAnswer } from "./state.js";

export function Missing({ model, subject, version, onAsk, onFill }) {
  const question = subject && !findProblem(subject, model) ? { ...subject, k: 6 } : null;
  const key = question && JSON.stringify([question, version]);
  const { value, problem, pending } = useAnswer((signal) => findMissing(question, signal), key, 250);
  const missing = value?.missing ?? [];
  const empty = value ? "Nothing that similar entities have is missing." : "What similar entities have appears here.";
  return html`
    <${Card} id="missing" title="Usually known" note="and missing here" busy=${pending}>
      <${ProblemNote} problem=${problem} />
      ${!missing.length && html`<p class="empty">${empty}</p>`}
      <ul class="missing">
        ${missing.map(
          ({ relation, side, share, similar, examples }) => html`
          <li key=${`${side} ${relation}`}>
            <div class="line">
              <button type="button" class="plain" title="Ask what it could be" onClick=${() => onAsk(relation, side)}>
                <${Arrow} relation=${relation} side=${side} /> ?
              </button>
              <${Meter} value=${share} text=${`${Math.round(100 * share)} %`} />
              ${onFill && html`<${IconButton} sign="add" label=${`Fill in ${relation}`} onClick=${() => onFill(relation, side)} />`}
            </div>
            <p class="quiet">
              of ${plural(similar, "similar entity", "similar entities")}, such as${" "}
              ${examples.map((name, i) => html`${i ? ", " : ""}<${EntityLink} name=${name} />`)}
            </p>
          </li>`,
        )}
      </ul>
    <//>`;
}
