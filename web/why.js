/* Why a link is predicted: bars that begin where the one before ended, so that they visibly sum to the score. A bar is
   what a fact contributes, by terms; what no single fact accounts for has bars of its own. Beside each fact stands the
   rank that the answer would have without it. */

import { html } from "./vendor/htm-preact.js";
import { explain } from "./api.js";
import { askChecked } from "./check.js";
import { formatCount, formatProbability, formatRank, formatScore, formatSigned, plural, seenFrom } from "./format.js";
import { LinkTo, ProblemNote } from "./parts.js";
import { Paths } from "./paths.js";
import { useAnswer } from "./state.js";

const MOST_FACTS = 10;
const NAMES = { embedding: "embedding", echo: "echo", propagation: "learned paths" };
const MEANINGS = {
  embedding: "how well its vector, made from its facts, fits the answer's",
  echo: "a fact already leads to the answer, by another relation or direction",
  propagation: "paths through the graph that lead to the answer",
};

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The steps to the score: facts with the largest parts, all others as one, and the rests of terms.
    Each has `parts`, by term; together they are the score. */
function makeSteps(value) {
  const terms = value.terms.map((term) => term.term);
  const partsOf = (share) => Object.fromEntries(terms.map((term) => [term, share[term] ?? 0]));
  const shares = [...value.shares].sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
  const steps = shares.slice(0, MOST_FACTS).map((share) => ({
    fact: [share.head, share.relation, share.tail],
    parts: partsOf(share),
    rankWithout: share.rank_without,
  }));
  const others = shares.slice(MOST_FACTS);
  if (others.length) {
    const parts = Object.fromEntries(terms.map((term) => [term, sum(others.map((share) => share[term] ?? 0))]));
    steps.push({ text: `${plural(others.length, "other fact", "other facts")}`, parts });
  }
  for (const { term, rest } of value.terms) {
    if (Math.abs(rest) > 0.005)
      steps.push({ text: `${NAMES[term] ?? term}: by no single fact`, parts: { [term]: rest } });
  }
  let end = 0;
  return steps.map((step) => {
    const part = sum(Object.values(step.parts));
    const begin = end;
    end += part;
    return { ...step, part, begin, end };
  });
}

/** Pieces of a bar: what adds goes right from where it begins, what takes away goes left again from there. */
function makePieces({ begin, parts }) {
  let place = begin;
  const ordered = Object.entries(parts)
    .filter(([, part]) => part !== 0)
    .sort(([, a], [, b]) => b - a);
  return ordered.map(([term, part]) => {
    const from = Math.min(place, place + part);
    place += part;
    return { term, part, from, width: Math.abs(part) };
  });
}

/** The range that all bars fall into, as a function from scores to percents of the width. */
function makeScale(steps, score) {
  const ends = steps.flatMap((step) => makePieces(step).flatMap(({ from, width }) => [from, from + width]));
  const low = Math.min(0, score, ...ends);
  const high = Math.max(0, score, ...ends);
  const range = high - low || 1;
  return { at: (value) => `${(100 * (value - low)) / range}%`, length: (value) => `${(100 * value) / range}%` };
}

function Bar({ scale, pieces, begin, end }) {
  const both = pieces.some((piece) => piece.part > 0) && pieces.some((piece) => piece.part < 0);
  return html`
    <svg class="bar" width="100%" height="22" aria-hidden="true">
      <line class="zero" x1=${scale.at(0)} x2=${scale.at(0)} y1="0" y2="22" />
      <line class="carry" x1=${scale.at(begin)} x2=${scale.at(begin)} y1="0" y2="11" />
      <line class="carry" x1=${scale.at(end)} x2=${scale.at(end)} y1="11" y2="22" />
      ${pieces.map(
        ({ term, part, from, width }) => html`
        <rect class=${part < 0 ? "piece against" : "piece"} data-term=${term} x=${scale.at(from)}
          width=${scale.length(width)}
          y=${both && part < 0 ? 11 : 5} height=${both ? 6 : 12}
            rx="1.5"><title>${NAMES[term] ?? term} ${formatSigned(part)}</title></rect>`,
      )}
    </svg>`;
}

function Step({ subject, step, scale, rank }) {
  const { fact, text, part, parts, rankWithout } = step;
  const seen = fact && seenFrom(subject, fact);
  const words = Object.entries(parts)
    .filter(([, value]) => value !== 0)
    .map(([term, value]) => `${NAMES[term] ?? term} ${formatSigned(value)}`);
  const isTested = typeof rankWithout === "number";
  const moved = isTested && rankWithout !== rank;
  return html`
    <tr>
      <th scope="row">${seen ? html`<${LinkTo} ...${seen} entity=${seen.other} />` : text}</th>
      <td class="drawn"><${Bar} scale=${scale} pieces=${makePieces(step)} begin=${step.begin} end=${step.end} /></td>
      <td class="number" data-part=${part}>${formatSigned(part)}<span class="unseen"> (${words.join(", ")})</span></td>
      <td class=${moved ? "number moved" : "number"}>${isTested ? formatRank(rankWithout) : "\u2013"}</td>
    </tr>`;
}

function Sum({ value, steps }) {
  const scale = makeScale(steps, value.score);
  const last = { term: "score", part: value.score, from: Math.min(0, value.score), width: Math.abs(value.score) };
  return html`
    <table class="sum">
      <caption class="unseen">What the score is made of</caption>
      <thead>
        <tr>
          <th scope="col">because of</th>
          <th scope="col" class="drawn"><span class="unseen">drawn</span></th>
          <th scope="col" class="number">part</th>
          <th scope="col" class="number">rank without</th>
        </tr>
      </thead>
      <tbody>
        ${steps.map((step) => html`<${Step} subject=${value.entity} step=${step} scale=${scale} rank=${value.rank} />`)}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">score, the sum</th>
          <td class="drawn"><${Bar} scale=${scale} pieces=${[last]} begin=${value.score} end=${value.score} /></td>
          <td class="number" data-score=${value.score}>${formatScore(value.score)}</td>
          <td class="number">${formatRank(value.rank)}</td>
        </tr>
      </tfoot>
    </table>`;
}

const Legend = ({ terms }) => html`
  <ul class="legend" aria-label="Terms of the score">
    ${terms.map(
      ({ term, part }) => html`
        <li data-term=${term} title=${MEANINGS[term] ?? ""}>
          ${NAMES[term] ?? term} <span class="number">${formatSigned(part)}</span>
        </li>`,
    )}
  </ul>`;

/** `isGuess` says that the link comes from an address, and its names may be anything. */
export function Why({ model, subject, version, link, isGuess = false, onPick }) {
  const [relation, side, answer] = link;
  const question = { ...subject, relation, side, answer };
  const { value, problem, pending } = useAnswer(
    (signal) => askChecked(explain, question, model, signal, isGuess ? answer : undefined),
    JSON.stringify([question, version]),
  );
  if (problem) return html`<${ProblemNote} problem=${problem} onPick=${onPick} />`;
  if (!value) return html`<p class="empty">Looking for reasons ...</p>`;
  const steps = makeSteps(value);
  const untested = sum(value.terms.map((term) => term.untested_facts ?? 0));
  return html`
    <div class="why" aria-busy=${pending}>
      <p class="verdict">
        Rank <strong>${formatRank(value.rank)}</strong> among all entities,${" "}
        ${value.probability !== null && html`probability <strong>${formatProbability(value.probability)}</strong>, `}
        score <strong>${formatScore(value.score)}</strong>.
        ${value.given ? " This is one of its facts; all is as if it were not." : ""}
      </p>
      <${Legend} terms=${value.terms.filter((term) => term.part !== 0)} />
      <${Sum} value=${value} steps=${steps} />
      ${untested > 0 && html`<p class="quiet">${formatCount(untested)} facts were not tested one by one: there are many.</p>`}
      <${Paths} subject=${value.entity} terms=${value.terms} />
    </div>`;
}
