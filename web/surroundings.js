/* The subject among what it is linked with. Links that lead to it stand on its left, those that lead away on its right, so
   all arrows point to the right; what is known is solid, what is predicted dashed and as wide as it is probable. The two
   sides are lists, which keyboards and screen readers go through as such; the curves are drawn between them. Rows have
   one height, so that no position needs to be measured, and nothing jumps. */

import { html } from "./vendor/htm-preact.js";
import { groupFacts } from "./entity.js";
import { formatCount, formatProbability, makeFact, sayFact } from "./format.js";
import { Card, EntityLink, IconButton, Name } from "./parts.js";

const ROW = 28; // as --row in page.css
const MOST_KNOWN = 6; // of a relation
const KNOWN_WIDTH = 1.8;

/** The groups of one side: known links first, then predicted ones of the same relation. */
function makeSide(side, subject, facts, answers) {
  const groups = new Map();
  const groupOf = (relation) => {
    if (!groups.has(relation)) groups.set(relation, { relation, links: [], more: 0 });
    return groups.get(relation);
  };
  for (const group of groupFacts(subject, facts).filter((one) => one.side === side)) {
    const links = group.links.map(({ other }) => ({ other, width: KNOWN_WIDTH }));
    Object.assign(groupOf(group.relation), {
      links: links.slice(0, MOST_KNOWN),
      more: Math.max(0, links.length - MOST_KNOWN),
    });
  }
  for (const answer of answers.filter((one) => one.side === side)) {
    const width = 1 + 6 * (answer.probability ?? 0);
    groupOf(answer.relation).links.push({ other: answer.entity, answer, width });
  }
  return [...groups.values()];
}

/** Where each link of a side stands, in pixels, and how high the side is. A group has a row for its relation. */
function placeLinks(groups) {
  const places = [];
  let row = 0;
  for (const group of groups) {
    row += 1;
    for (const link of group.links) places.push({ ...link, y: (row++ + 0.5) * ROW });
    row += group.more ? 1 : 0;
  }
  return { places, height: row * ROW };
}

/** The curves of a side, from its subject to each row, stretched to whatever width there is. */
function Fan({ side, groups }) {
  const { places, height } = placeLinks(groups);
  const middle = height / 2;
  const curve = (y) =>
    side === "tail" ? `M0 ${middle}C55 ${middle} 45 ${y} 100 ${y}` : `M0 ${y}C55 ${y} 45 ${middle} 100 ${middle}`;
  return html`
    <svg class="fan" aria-hidden="true" height=${height} viewBox=${`0 0 100 ${height || 1}`} preserveAspectRatio="none">
      ${places.map(({ answer, width, y }) => {
        const kind = answer ? "predicted" : "known";
        return html`<path class=${kind} d=${curve(y)} stroke-width=${width.toFixed(2)} />`;
      })}
    </svg>`;
}

function Link({ subject, relation, side, link, accepting, onAccept }) {
  const { answer, other } = link;
  if (!answer) return html`<li class="node known"><${EntityLink} name=${other} /></li>`;
  const words = sayFact(makeFact(subject, relation, side, other));
  return html`
    <li class="node predicted">
      <${EntityLink} name=${other} />
      <span class="note">
        ${answer.probability === null ? "" : formatProbability(answer.probability)}<span class="unseen">predicted</span>
      </span>
      ${onAccept && html`<${IconButton} sign="add" label=${`${accepting}: ${words}`} onClick=${() => onAccept(answer)} />`}
    </li>`;
}

const Side = ({ side, groups, label, ...rest }) => html`
  <ul class="side" data-side=${side} aria-label=${label}>
    ${groups.map(
      (group) => html`
        <li key=${group.relation}>
          <span class="relation"><${Name}>${group.relation}<//></span>
          <ul>
            ${group.links.map((link) => html`<${Link} key=${link.other} side=${side} relation=${group.relation}
              link=${link} ...${rest} />`)}
            ${group.more > 0 && html`<li class="node quiet">and ${formatCount(group.more)} more</li>`}
          </ul>
        </li>`,
    )}
  </ul>`;

export function Surroundings({ subject, facts, predictions, accepting, onAccept }) {
  const answers = predictions.value?.answers ?? [];
  const heads = makeSide("head", subject, facts, answers);
  const tails = makeSide("tail", subject, facts, answers);
  const rest = { subject, accepting, onAccept };
  return html`
    <${Card} id="surroundings" title="Surroundings" busy=${predictions.pending}
      note=${html`<span class="key known">known</span> <span class="key predicted">predicted</span>`}>
      ${
        heads.length + tails.length === 0
          ? html`<p class="empty">No links yet.</p>`
          : html`
          <div class="surroundings">
            <${Side} side="head" groups=${heads} label="Links that lead here" ...${rest} />
            <${Fan} side="head" groups=${heads} />
            <span class="center"><${Name}>${subject}<//></span>
            <${Fan} side="tail" groups=${tails} />
            <${Side} side="tail" groups=${tails} label="Links that lead away" ...${rest} />
          </div>`
      }
    <//>`;
}
