/* Addresses may ask anything. Questions that must fail are not sent: relations and limits are those of the model, and names
   are looked up. */

import { isName, lookUp, Problem } from "./api.js";
import { formatCount, seenFrom } from "./format.js";
import { useAnswer } from "./state.js";
import { useRef } from "./vendor/htm-preact.js";

/** What is wrong with a question about something that is there; null if it can be sent. */
export function findProblem({ k, relation, facts = [] }, { limits, relations }) {
  if (k > limits.k) {
    const detail = `${formatCount(k)} are asked for, and the server gives at most ${formatCount(limits.k)}.`;
    return new Problem({ title: "Too many predictions", detail });
  }
  if (facts.length > limits.subject_facts) {
    const detail = `There are ${formatCount(facts.length)}, and the server takes at most ${formatCount(limits.subject_facts)}.`;
    return new Problem({ title: "Too many facts", detail });
  }
  if (relation !== undefined && !relations.includes(relation)) {
    return new Problem({ title: "Unknown relation", detail: `The model does not know ${relation}.` });
  }
  return null;
}

/** The problem of a name that is not in the graph. */
export const notThere = (similar) =>
  new Problem({ status: 404, title: "Not found", detail: "The graph has no entity of this name.", similar });

/** Asks `send(question)` where it can be sent. `named` is an entity that must be there for that. */
export async function askChecked(send, question, model, signal, named) {
  const problem = findProblem(question, model);
  if (problem) throw problem;
  if (named !== undefined) {
    const { known, similar } = await lookUp(named, signal);
    if (!known) throw notThere(similar);
  }
  return send(question, signal);
}

const seen = new Set(); // names that were in the graph when they were looked up

/** The other ends of facts that are not in the graph. */
async function findUnknown(others, signal) {
  const isUnknown = async (name) => {
    if (!seen.has(name) && (await lookUp(name, signal)).known) seen.add(name);
    return !seen.has(name);
  };
  const unknown = await Promise.all(others.map(isUnknown));
  return { others, unknown: others.filter((_, i) => unknown[i]) };
}

/** Something new as questions are about it, with the facts that can be used: the model has the relation, and the graph the
    other end. While names are looked up, it is what it was before; null, if there is no such fact. */
export function useNewSubject(subject, facts, model) {
  const last = useRef(null);
  const isUsable = ([head, relation, tail]) => model.relations.includes(relation) && head !== tail;
  const usable = isName(subject) ? facts.filter(isUsable) : [];
  const others = [...new Set(usable.map((fact) => seenFrom(subject, fact).other))];
  const { value, problem } = useAnswer((signal) => findUnknown(others, signal), JSON.stringify(others));
  const isChecked = problem !== undefined || others.every((name) => value?.others.includes(name));
  const unknown = value?.unknown ?? [];
  if (isChecked) {
    const known = usable.filter((fact) => !unknown.includes(seenFrom(subject, fact).other));
    last.current = known.length ? { entity: subject, facts: known } : null;
  }
  return last.current;
}
