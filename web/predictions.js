/* What else is likely to be true of the subject, most likely first: filtered by relation and side, each with its
   probability, to be accepted or to be asked why. */

import { html } from "./vendor/htm-preact.js";
import { predict } from "./api.js";
import { askChecked } from "./check.js";
import { formatProbability, formatScore, sayFact } from "./format.js";
import { Card, IconButton, LinkTo, Meter, ProblemNote } from "./parts.js";
import { useAnswer } from "./state.js";
import { Why } from "./why.js";

const COUNTS = [5, 10, 20, 50];
const INVITATION =
  "Tell two or three things about it. What else is likely to be true appears here while you type.";
const SIDES = [
  ["both", "either end"],
  ["tail", "as the tail"],
  ["head", "as the head"],
];

/** The question that a route asks about a subject. Without calibration, scores of different queries cannot be compared,
    so one relation and side are asked for. */
function makeQuestion(subject, route, model) {
  const relation = route.relation || (model.calibrated ? "" : model.relations[0]);
  const side = !model.calibrated && route.side === "both" ? "tail" : route.side;
  return { ...subject, k: route.k, side, no_echo: route.fresh, ...(relation && { relation }) };
}

/** The answers for all views of them. While somebody types, it waits for a moment of quiet. */
export function usePredictions(subject, route, model, version) {
  const question = subject && makeQuestion(subject, route, model);
  const key = question && JSON.stringify([question, version]);
  return useAnswer((signal) => askChecked(predict, question, model, signal), key, 120);
}

const linkOf = (answer) => [answer.relation, answer.side, answer.entity];
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function Controls({ model, route, go }) {
  const isChosen = (name, value) => String(route[name]) === String(value);
  const select = (label, name, options, parse = String) => html`
    <label class="choice"><span>${label}</span>
      <select value=${String(route[name])}
        onChange=${(event) => go({ [name]: parse(event.target.value), why: null }, { replace: true })}>
        ${options.map(([value, text]) => html`<option value=${value} selected=${isChosen(name, value)}>${text}</option>`)}
      </select>
    </label>`;
  const relations = model.relations.map((name) => [name, name]);
  const counts = [...new Set([...COUNTS, route.k])].sort((a, b) => a - b).map((k) => [k, k]);
  return html`
    <div class="controls" role="group" aria-label="Which predictions">
      ${select("Relation", "relation", model.calibrated ? [["", "all"], ...relations] : relations)}
      ${select("Answer", "side", model.calibrated ? SIDES : SIDES.slice(1))}
      ${select("How many", "k", counts, Number)}
      <label class="check">
        <input type="checkbox" checked=${route.fresh}
          onChange=${(event) => go({ fresh: event.target.checked, why: null }, { replace: true })} />
        <span>only entities it has no link with</span>
      </label>
    </div>`;
}

function Row({ model, answer, subject, version, isOpen, accepting, onWhy, onAccept }) {
  const { head, relation, tail, side, entity, score, probability } = answer;
  const words = sayFact([head, relation, tail]);
  const panel = `why-${answer.rank}`;
  return html`
    <li class=${isOpen ? "prediction open" : "prediction"}>
      <div class="line">
        <span class="rank">${answer.rank}</span>
        <span class="link"><${LinkTo} relation=${relation} side=${side} entity=${entity} /></span>
        <${Meter} value=${probability} text=${probability === null ? formatScore(score) : formatProbability(probability)} />
        <span class="actions">
          <button type="button" class="why-button" aria-expanded=${isOpen ? "true" : "false"} aria-controls=${panel}
            aria-label=${`Why: ${words}`} onClick=${onWhy}>Why</button>
          ${onAccept &&
          html`<${IconButton} sign="add" title=${accepting} label=${`${accepting}: ${words}`}
            onClick=${() => onAccept(answer)} />`}
        </span>
      </div>
      <div id=${panel} hidden=${!isOpen}>
        ${isOpen && html`<${Why} model=${model} subject=${subject} version=${version} link=${linkOf(answer)} />`}
      </div>
    </li>`;
}

/** A link that is explained without being among the answers. */
function Asked({ model, subject, version, link, onPick, onClose }) {
  const [relation, side, entity] = link;
  return html`
    <div class="prediction open">
      <div class="line">
        <span class="link"><${LinkTo} relation=${relation} side=${side} entity=${entity} /></span>
        <span class="actions"><button type="button" onClick=${onClose}>Close</button></span>
      </div>
      <${Why} model=${model} subject=${subject} version=${version} link=${link} isGuess onPick=${onPick} />
    </div>`;
}

function announce(answers) {
  if (answers.length === 0) return "";
  const { relation, entity, probability } = answers[0];
  return `${answers.length} predictions. The first: ${relation} ${entity}, ${formatProbability(probability)}.`;
}

export function Predictions({ model, subject, version, route, go, predictions, accepting, onAccept, onPick }) {
  const { value, problem, pending } = predictions;
  const answers = value?.answers ?? [];
  const asked = route.why && subject && !answers.some((answer) => isSame(linkOf(answer), route.why));
  const close = () => go({ why: null }, { replace: true });
  return html`
    <${Card} id="predictions" title="Predictions" note=${value && !model.calibrated ? "scores, not calibrated" : ""}
      busy=${pending}>
      <${Controls} model=${model} route=${route} go=${go} />
      <${ProblemNote} problem=${problem} onPick=${onPick} />
      ${!subject && route.view === "new" && html`<p class="empty">${INVITATION}</p>`}
      ${value && !answers.length && html`<p class="empty">Nothing is predicted for these settings.</p>`}
      <ol class="predictions">
        ${answers.map((answer) => {
          const isOpen = isSame(linkOf(answer), route.why);
          const onWhy = () => go({ why: isOpen ? null : linkOf(answer) }, { replace: true });
          return html`<${Row} key=${linkOf(answer).join("\u0000")} model=${model} answer=${answer} subject=${subject}
            version=${version} isOpen=${isOpen} accepting=${accepting} onWhy=${onWhy} onAccept=${onAccept} />`;
        })}
      </ol>
      ${
        asked &&
        value &&
        html`<${Asked} model=${model} subject=${subject} version=${version} link=${route.why} onClose=${close}
          onPick=${(name) => go({ why: [...route.why.slice(0, 2), name] }, { replace: true })} />`
      }
      <p class="unseen" role="status">${pending ? "" : announce(answers)}</p>
    <//>`;
}
