/* What the page shows is a function of its address: location.hash says which view, of what, and which questions are
   asked, so every view can be linked to, and the browser's history works. `useAnswer` turns a question into its answer. */

import { useEffect, useState } from "./vendor/htm-preact.js";

const DEFAULTS = { view: "new", entity: "", facts: [], relation: "", side: "both", k: 10, fresh: false, why: null };

/** What something new is called until it has a name. */
export const UNNAMED = "something new";

const isTriple = (value) =>
  Array.isArray(value) && value.length === 3 && value.every((name) => typeof name === "string");
const isFactOf = (subject) => (value) => isTriple(value) && (value[0] === subject || value[2] === subject);
const isLink = (value) => isTriple(value) && (value[1] === "head" || value[1] === "tail");

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whatever stands in an address is only a wish: what makes no sense is left at its default. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const found = new URLSearchParams(query);
  const facts = parseJson(found.get("facts") ?? "null");
  const why = parseJson(found.get("why") ?? "null");
  const k = Number(found.get("k"));
  return {
    view: path === "entity" && found.get("entity") ? "entity" : "new",
    entity: found.get("entity") ?? "",
    facts: Array.isArray(facts) ? facts.filter(isFactOf(found.get("entity") || UNNAMED)) : [],
    relation: found.get("relation") ?? "",
    side: ["head", "tail"].includes(found.get("side")) ? found.get("side") : "both",
    k: Number.isInteger(k) && k > 0 ? k : DEFAULTS.k,
    fresh: found.get("fresh") === "1",
    why: isLink(why) ? why : null,
  };
}

export function formatRoute(route) {
  const query = new URLSearchParams();
  if (route.entity) query.set("entity", route.entity);
  if (route.facts?.length) query.set("facts", JSON.stringify(route.facts));
  if (route.relation) query.set("relation", route.relation);
  if (route.side && route.side !== DEFAULTS.side) query.set("side", route.side);
  if (route.k && route.k !== DEFAULTS.k) query.set("k", route.k);
  if (route.fresh) query.set("fresh", "1");
  if (route.why) query.set("why", JSON.stringify(route.why));
  const text = query.toString();
  return `#/${route.view ?? "new"}${text ? `?${text}` : ""}`;
}

export const entityAddress = (name) => formatRoute({ view: "entity", entity: name });

/** The route, and a function that changes parts of it; `replace` leaves no entry in the history. */
export function useRoute() {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const go = (changes, { replace = false } = {}) => {
    const hash = formatRoute({ ...parseRoute(location.hash), ...changes });
    if (replace) {
      history.replaceState(null, "", hash);
      setRoute(parseRoute(hash));
    } else {
      location.hash = hash;
    }
  };
  return [route, go];
}

/** The answer to a question, asked again whenever `key` changes, after `delay` milliseconds of quiet; nothing is asked
    while it is null. Answers to older questions are dropped, but the last one stays until there is another.
    Returns { value, problem, pending }. */
export function useAnswer(ask, key, delay = 0) {
  const [state, setState] = useState({ pending: key !== null });
  useEffect(() => {
    if (key === null) {
      setState({ pending: false });
      return undefined;
    }
    const controller = new AbortController();
    setState((old) => ({ ...old, pending: true }));
    const timer = setTimeout(async () => {
      let next;
      try {
        next = { value: await ask(controller.signal), pending: false };
      } catch (problem) {
        next = { problem, pending: false };
      }
      if (!controller.signal.aborted) setState(next);
    }, delay);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key]);
  return state;
}
