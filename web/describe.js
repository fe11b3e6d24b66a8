/* Something new, described by facts whose other ends are in the graph. The rows are what is being typed; the facts in the
   address are those that are complete, and all questions are about these. */

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { createEntity, isName, lookUp } from "./api.js";
import { FactRow, isBlank, newRow, toFact } from "./fact_row.js";
import { plural, seenFrom } from "./format.js";
import { Card, EntityLink, ProblemNote } from "./parts.js";
import { UNNAMED, useAnswer } from "./state.js";

const readRows = (route) =>
  route.facts.map((fact) => newRow({ ...seenFrom(route.entity || UNNAMED, fact), known: true }));

const sameFacts = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The last row is always a blank one, to go on with. */
const withBlank = (rows) => (rows.length && isBlank(rows[rows.length - 1]) ? rows : [...rows, newRow()]);

export function Describe({ model, route, go, started, onStored }) {
  const [rows, setRows] = useState(() => withBlank(readRows(route)));
  const [problem, setProblem] = useState(null);
  const fields = useRef({});
  const subject = route.entity || UNNAMED;
  const isComplete = (row) => model.relations.includes(row.relation) && row.known === true && row.other !== subject;
  const factsOf = (list) => list.filter(isComplete).map((row) => toFact(subject, row));
  const taken = useAnswer((signal) => lookUp(route.entity, signal), route.entity || null, 200);
  const isTaken = !taken.pending && taken.value?.known === true;

  // What is typed changes the address.
  useEffect(() => {
    const facts = factsOf(rows);
    if (!sameFacts(facts, route.facts)) go({ facts, why: null }, { replace: true });
  }, [rows]);

  // And the other way round, where something else changed it: a link, the history, a prediction that was accepted.
  useEffect(() => {
    if (!sameFacts(factsOf(rows), route.facts)) {
      setRows((old) => withBlank([...readRows(route), ...old.filter((row) => !isBlank(row) && !isComplete(row))]));
    }
  }, [JSON.stringify(route.facts)]);

  // A row that something else began: a relation that is usually known.
  useEffect(() => {
    if (!started) return;
    const row = newRow(started);
    setRows((old) => withBlank([...old.filter((one) => !isBlank(one)), row]));
    setTimeout(() => fields.current[row.id]?.closest(".fact-row").querySelectorAll("input")[1].focus());
  }, [started]);

  const change = (id) => (changes) =>
    setRows((old) => withBlank(old.map((row) => (row.id === id ? { ...row, ...changes } : row))));
  const rename = (entity) => {
    const facts = rows.filter(isComplete).map((row) => toFact(entity || UNNAMED, row));
    go({ entity, facts, why: null }, { replace: true });
  };
  const store = async () => {
    try {
      await createEntity(route.entity, route.facts);
      onStored(route.entity, route.facts);
    } catch (error) {
      setProblem(error);
    }
  };

  const waiting = rows.filter((row) => !isBlank(row) && !isComplete(row)).length;
  const obstacle =
    (model.read_only && "The store is read-only.") ||
    (route.facts.length === 0 && "It needs a fact.") ||
    (!route.entity && "It needs a name to be stored.") ||
    (!isName(route.entity) && "The server does not take this name.") ||
    (isTaken && "There is one of this name.") ||
    "";

  return html`
    <${Card} id="subject" title="Something new" note=${plural(route.facts.length, "fact", "facts")}>
      <label class="field">
        <span>Name</span>
        <input type="text" dir="auto" autocomplete="off" spellcheck=${false} placeholder=${UNNAMED} value=${route.entity}
          aria-describedby=${isTaken ? "name-hint" : undefined} onInput=${(event) => rename(event.target.value)} />
      </label>
      <p class="hint" id="name-hint" role="status" hidden=${!isTaken}>
        ${isTaken && html`This is in the graph already: <${EntityLink} name=${route.entity} />`}
      </p>
      <div class="rows" role="group" aria-label="Facts">
        ${rows.map(
          (row, i) => html`
            <${FactRow}
              key=${row.id}
              subject=${subject}
              row=${row}
              relations=${model.relations}
              relationRef=${(input) => (fields.current[row.id] = input)}
              onChange=${change(row.id)}
              onDone=${() => setTimeout(() => fields.current[rows[i + 1]?.id]?.focus())}
              onRemove=${() => setRows((old) => withBlank(old.filter((one) => one.id !== row.id)))}
            />`,
        )}
      </div>
      ${waiting > 0 && html`<p class="quiet">${plural(waiting, "row is", "rows are")} not complete yet, and not used.</p>`}
      <${ProblemNote} problem=${problem} />
      <div class="actions">
        <button type="button" class="main" disabled=${obstacle !== ""} title=${obstacle} onClick=${store}>Store it</button>
        <button type="button" disabled=${rows.length === 1 && !route.entity} onClick=${() => {
          setRows([newRow()]);
          setProblem(null);
          go({ entity: "", facts: [], why: null, relation: "", side: "both" });
        }}>Start over</button>
        ${obstacle && html`<span class="quiet">${obstacle}</span>`}
      </div>
    <//>`;
}
