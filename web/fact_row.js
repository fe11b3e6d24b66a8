/* A fact that is being typed: a relation, its direction, and the entity at the other end, each completed. The row knows
   the relation and looks the entity up; whoever has the row hears what changes, and whether the fact can be used. */

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { findEntities, lookUp } from "./api.js";
import { Combobox } from "./combobox.js";
import { formatCount, makeFact } from "./format.js";
import { IconButton, Suggestions } from "./parts.js";
import { useAnswer } from "./state.js";

let lastId = 0;

/** `side` is where the other end stands. `known` says whether that is in the graph; null while nobody knows. */
export const newRow = (changes = {}) => ({
  id: ++lastId,
  relation: "",
  side: "tail",
  other: "",
  known: null,
  ...changes,
});

export const isBlank = (row) => row.relation === "" && row.other === "";

export const toFact = (subject, row) => makeFact(subject, row.relation, row.side, row.other);

const loadRelations = (relations) => async (text) => {
  const wanted = text.toLowerCase();
  return relations.filter((name) => name.toLowerCase().includes(wanted)).map((name) => ({ name }));
};

/** Entities that begin so, those with the most facts first; but what is typed as a whole comes before all. */
export async function loadEntities(text, signal) {
  const { entities } = await findEntities(text, 100, signal);
  const isWhole = (entity) => entity.name === text;
  const ordered = [...entities.filter(isWhole), ...entities.filter((entity) => !isWhole(entity))];
  return ordered.slice(0, 20).map(({ name, facts }) => ({ name, note: formatCount(facts) }));
}

/** What is wrong with a row, once its field was left. */
function Hint({ id, text, similar, onPick }) {
  return html`<p class="hint" id=${id} role="status">${text} <${Suggestions} names=${similar} onPick=${onPick} /></p>`;
}

export function FactRow({ subject, row, relations, mayBeNew = false, onChange, onDone, onRemove, relationRef }) {
  const entityInput = useRef(null);
  const [left, setLeft] = useState({ relation: true, other: true });
  const found = useAnswer((signal) => lookUp(row.other, signal), row.other === "" ? null : row.other, 150);
  useEffect(() => {
    if (!found.pending && found.value && found.value.known !== row.known) onChange({ known: found.value.known });
  }, [found.value]);

  const edit = (field) => (text) => {
    setLeft({ ...left, [field]: false });
    onChange(field === "other" ? { other: text, known: null } : { relation: text });
  };
  const leave = (field) => () => setLeft((old) => ({ ...old, [field]: true }));
  const badRelation = left.relation && row.relation !== "" && !relations.includes(row.relation);
  const badEntity = left.other && row.known === false && !mayBeNew;
  const outgoing = row.side === "tail";
  const hint = `row-${row.id}-hint`;

  return html`
    <div class="fact-row" role="group" aria-label=${isBlank(row) ? "Another fact" : "A fact"}>
      <${Combobox}
        label="Relation"
        placeholder="relation"
        value=${row.relation}
        load=${loadRelations(relations)}
        delay=${0}
        invalid=${badRelation}
        describedBy=${badRelation ? hint : undefined}
        inputRef=${relationRef}
        onInput=${edit("relation")}
        onLeave=${leave("relation")}
        onPick=${(name) => {
          onChange({ relation: name });
          entityInput.current?.focus();
        }}
      />
      <${IconButton}
        sign=${outgoing ? "right" : "left"}
        kind="turn"
        title=${outgoing ? `${subject} \u2192 the other; turn around` : `the other \u2192 ${subject}; turn around`}
        label=${`Direction: ${outgoing ? "to" : "from"} the other entity. Turn around`}
        onClick=${() => onChange({ side: outgoing ? "head" : "tail" })}
      />
      <${Combobox}
        label="Entity"
        placeholder="entity"
        value=${row.other}
        load=${loadEntities}
        invalid=${badEntity}
        describedBy=${badEntity ? hint : undefined}
        inputRef=${entityInput}
        onInput=${edit("other")}
        onLeave=${leave("other")}
        onPick=${(name) => {
          onChange({ other: name, known: name === row.other ? row.known : null });
          onDone?.();
        }}
      />
      ${onRemove && html`<${IconButton} sign="remove" label="Remove this fact" disabled=${isBlank(row)} onClick=${onRemove} />`}
      ${badRelation &&
      html`<${Hint} id=${hint} text="The model does not know this relation." similar=${closest(relations, row.relation)}
        onPick=${(name) => onChange({ relation: name })} />`}
      ${!badRelation &&
      badEntity &&
      html`<${Hint} id=${hint} text="Not in the graph." similar=${found.value?.similar}
        onPick=${(name) => onChange({ other: name, known: null })} />`}
    </div>`;
}

/** The relations that share most pairs of letters with a text. */
function closest(relations, text) {
  const pairs = (name) =>
    new Set(Array.from({ length: name.length - 1 }, (_, i) => name.slice(i, i + 2).toLowerCase()));
  const wanted = pairs(text);
  const likeness = (name) => {
    const found = pairs(name);
    return [...found].filter((pair) => wanted.has(pair)).length / (found.size + wanted.size || 1);
  };
  return relations
    .map((name) => [likeness(name), name])
    .filter(([value]) => value > 0.2)
    .sort(([a], [b]) => b - a)
    .slice(0, 3)
    .map(([, name]) => name);
}
