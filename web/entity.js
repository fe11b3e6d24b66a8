/* An entity of the graph: its facts by relation, each of which can be withdrawn, and a row to add another. */

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { getEntity, isDots, lookUp } from "./api.js";
import { notThere } from "./check.js";
import { FactRow, isBlank, newRow, toFact } from "./fact_row.js";
import { formatCount, plural, sayFact, seenFrom } from "./format.js";
import { Arrow, Card, EntityLink, IconButton, Name, ProblemNote } from "./parts.js";
import { useAnswer } from "./state.js";

const PAGE = 100;

/** The first pages of an entity's facts, as one answer. Where no address can name the entity, they cannot be listed. */
export async function loadFacts(name, pages, signal) {
  const { known, facts, similar } = await lookUp(name, signal);
  if (!known) throw notThere(similar);
  if (isDots(name)) return { entity: name, known: true, facts, links: [], isUnlisted: true };
  const answers = [];
  for (let page = 0; page < pages; page++) answers.push(await getEntity(name, page * PAGE, PAGE, signal));
  return { ...answers[0], links: answers.flatMap((answer) => answer.links) };
}

/** Facts by relation and direction: [{ relation, side, links: [{ fact, other }] }], in the order of their first ones.
    A fact with the subject at both ends is listed twice by the server, and once here. */
export function groupFacts(subject, facts) {
  const groups = new Map();
  for (const fact of facts) {
    const { relation, side, other } = seenFrom(subject, fact);
    const key = `${side} ${relation}`;
    if (!groups.has(key)) groups.set(key, { relation, side, links: [] });
    const { links } = groups.get(key);
    if (other !== subject || !links.some((link) => link.other === subject)) links.push({ fact, other });
  }
  return [...groups.values()];
}

/** The facts of the entity, for all views of it: { value, problem, pending, more }. `value.version` is that of the graph, so
    that further questions can wait until it is known that the entity is there. */
export function useFacts(name, version) {
  const [pages, setPages] = useState(1);
  useEffect(() => setPages(1), [name]);
  const key = name ? JSON.stringify([name, pages, version]) : null;
  const load = async (signal) => ({ ...(await loadFacts(name, pages, signal)), version });
  const answer = useAnswer(load, key);
  return { ...answer, more: () => setPages(pages + 1) };
}

function FactGroup({ group, readOnly, onRemove }) {
  return html`
    <li class="fact-group">
      <${Arrow} relation=${group.relation} side=${group.side} />
      <ul>
        ${group.links.map(
          ({ fact, other }) => html`
            <li key=${other}>
              <${EntityLink} name=${other} />
              ${!readOnly &&
              html`<${IconButton} sign="remove" kind="faint" title="Withdraw this fact" label=${`Withdraw: ${sayFact(fact)}`}
                onClick=${() => onRemove(fact)} />`}
            </li>`,
        )}
      </ul>
    </li>`;
}

function AddFact({ subject, model, started, onAdd }) {
  const [row, setRow] = useState(newRow);
  useEffect(() => {
    if (started) setRow(newRow(started));
  }, [started]);
  const isReady = model.relations.includes(row.relation) && row.other !== "";
  return html`
    <form class="add" aria-label="Add a fact" onSubmit=${(event) => {
      event.preventDefault();
      if (isReady) onAdd(toFact(subject, row), () => setRow(newRow()));
    }}>
      <${FactRow} key=${row.id} subject=${subject} row=${row} relations=${model.relations} mayBeNew
        onChange=${(changes) => setRow((old) => ({ ...old, ...changes }))} />
      <button type="submit" disabled=${!isReady}>Add</button>
      <p class="quiet">
        ${isReady && row.known === false && html`<${Name}>${row.other}<//> is not in the graph; it comes with this fact.`}
        ${!isReady && !isBlank(row) && "A fact has a relation and another entity."}
      </p>
    </form>`;
}

const Summary = ({ value }) => html`
  ${plural(value.facts, "fact", "facts")}
  ${!value.known && html` \u00b7 <span class="badge">since training</span>`}`;

export function Entity({ model, name, facts, started, onChange, onPick }) {
  const { value, problem, pending, more } = facts;
  const shown = value?.links ?? [];
  const withdraw = (fact) => onChange([], [fact]);
  const add = (fact, done) => onChange([fact], [], done);
  const showGroup = (group) => html`
    <${FactGroup} key=${`${group.side} ${group.relation}`} group=${group} readOnly=${model.read_only} onRemove=${withdraw} />`;
  return html`
    <${Card} id="subject" title=${html`<${Name}>${name}<//>`} busy=${pending} note=${value && html`<${Summary} value=${value} />`}>
      <${ProblemNote} problem=${problem} onPick=${onPick} />
      <ul class="facts" hidden=${!value}>
        ${groupFacts(name, shown).map(showGroup)}
      </ul>
      ${value?.isUnlisted && html`<p class="quiet">They cannot be listed here: no web address can end in this name.</p>`}
      ${value &&
      !value.isUnlisted &&
      shown.length < value.facts &&
      html`<button type="button" class="more" onClick=${more}>Show more of ${formatCount(value.facts)} facts</button>`}
      ${value && !model.read_only && html`<${AddFact} subject=${name} model=${model} started=${started} onAdd=${add} />`}
    <//>`;
}
