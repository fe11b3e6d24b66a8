/* The server's interface: JSON there and back, problems as exceptions, a token if it wants one, and the stream of
   changes. Nothing else in the page knows addresses or headers. */

const BASE = new URL("../v1/", import.meta.url);
const TOKEN = "kgraft-token";

/** What the server refused (RFC 9457), or that it cannot be reached. */
export class Problem extends Error {
  constructor({ status = 0, title = "", detail = "", similar = [], parameter = "" }) {
    super(detail || title || `The server answered with status ${status}.`);
    this.status = status;
    this.title = title;
    this.similar = similar;
    this.parameter = parameter;
  }
}

/** Hears "denied" whenever the server wants a token that it was not given. */
export const access = new EventTarget();

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

async function readProblem(response) {
  try {
    return new Problem({ status: response.status, ...(await response.json()) });
  } catch {
    return new Problem({ status: response.status, title: response.statusText });
  }
}

/** Only what is not an abort by ourselves becomes a problem. */
async function request(address, options) {
  const headers = new Headers(options.headers);
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  let response;
  try {
    response = await fetch(address, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "No connection", detail: "The server cannot be reached." });
  }
  if (response.ok) return response;
  if (response.status === 401) access.dispatchEvent(new Event("denied"));
  throw await readProblem(response);
}

function address(path, query = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

async function get(path, query, signal) {
  return (await request(address(path, query), { signal })).json();
}

async function send(method, path, body, { signal, headers } = {}) {
  const options = {
    method,
    signal,
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  return (await request(address(path), options)).json();
}

const ALIAS = `new-${Math.random().toString(36).slice(2)}`;

/** Something new is asked about under an alias that no entity has. Answers follow from its facts alone, and the name that it is
    to have may be that of an entity: while it is typed, or because it is being stored. */
async function ask(path, question, signal) {
  if (!question.facts) return send("POST", path, question, { signal });
  const hide = (name) => (name === question.entity ? ALIAS : name);
  const facts = question.facts.map(([head, relation, tail]) => [hide(head), relation, hide(tail)]);
  const answer = await send("POST", path, { ...question, entity: ALIAS, facts }, { signal });
  return JSON.parse(JSON.stringify(answer), (_, value) => (value === ALIAS ? question.entity : value));
}

const entityPath = (name) => `entities/${encodeURIComponent(name)}`;

let model = null; // as the server described it last

export const getModel = async (signal) => (model = await get("model", {}, signal));

/** Whether the server takes it as a name. */
export const isName = (name) =>
  name !== "" &&
  !/[\0\t\n]/.test(name) &&
  name.isWellFormed() &&
  new TextEncoder().encode(name).length <= (model?.limits.name_bytes ?? Infinity);

/** URLs do not keep these as the end of a path, however they are written. */
export const isDots = (name) => name === "." || name === "..";

export const findEntities = async (prefix, limit, signal) =>
  prefix === "" || isName(prefix) ? get("entities", { prefix, limit }, signal) : { entities: [] };
export const getEntity = (name, offset, limit, signal) => get(entityPath(name), { offset, limit }, signal);
export const predict = (question, signal) => ask("predict", question, signal);
export const explain = (question, signal) => ask("explain", question, signal);
export const findMissing = (question, signal) => ask("missing", question, signal);
export const changeFacts = (add, remove) => send("POST", "facts", { add, remove });

/** Makes an entity that must not be there yet. */
export const createEntity = (name, facts) =>
  isDots(name)
    ? changeFacts(facts, [])
    : send("PUT", entityPath(name), { facts }, { headers: { "If-None-Match": "*" } });

/** Whether a name is in the graph, and with how many facts; `similar` has others, if it is not. A search is never a
    problem, as asking for an entity that is not there would be. Only of a name with very many longer ones the search may
    not get to it; then the answer is that of a batch, which has problems of its questions in it. */
export async function lookUp(name, signal) {
  const most = model.limits.completions;
  const { entities, similar = [] } = await findEntities(name, most, signal);
  const found = entities.find((entity) => entity.name === name);
  if (found) return { known: true, facts: found.facts, similar: [] };
  if (entities.length < most) {
    return { known: false, similar: similar.length ? similar : entities.slice(0, 5).map((entity) => entity.name) };
  }
  const question = { entity: name, relation: model.relations[0], side: "tail", k: 1 };
  const [{ problem, facts }] = (await predict({ requests: [question] }, signal)).results;
  return { known: !problem, facts, similar: problem?.similar ?? [] };
}

/** An event of a stream (server-sent events) as { event, id, data }; undefined for a comment. */
function parseEvent(block) {
  const found = { event: "message", id: "", data: [] };
  for (const line of block.split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") found.data.push(value);
    else if (name === "event" || name === "id") found[name] = value;
  }
  return found.data.length ? { ...found, data: JSON.parse(found.data.join("\n")) } : undefined;
}

/** The events of one connection, { event: "open" } first. By fetch, since EventSource cannot send a token. */
export async function* readChanges(since, signal) {
  const headers = { Accept: "text/event-stream" };
  const response = await request(address("changes", since === undefined ? {} : { since }), { signal, headers });
  yield { event: "open" };
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (waiting + value).split(/\r\n\r\n|\n\n/);
    waiting = blocks.pop();
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}
