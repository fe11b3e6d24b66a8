/* The stream of changes: whoever changes the graph, it is seen here at once. A connection that breaks is made again, and
   goes on after the last change that was seen. So does one that was given up because nobody looked: browsers allow few
   connections to a server, and those of pages in the background would keep others waiting. */

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { readChanges } from "./api.js";
import { formatCount, formatTime } from "./format.js";
import { Card, EntityLink, Name } from "./parts.js";

const MOST = 50;
const SHOWN_AT_START = 20;
const SHORTEST_WAIT = 500; // milliseconds before a broken connection is made again
const LONGEST_WAIT = 15000;
const KEYED = "idempotency:"; // a source that is the key of a request, and tells nothing

/** Settles after a time, or when `signal` says no more. */
const wait = (time, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()));
  });

const isSeen = () => document.visibilityState === "visible";

/** Settles when the page is looked at, or when `signal` says no more. */
const waitToBeSeen = (signal) =>
  new Promise((resolve) => {
    const look = () => {
      if (isSeen() || signal.aborted) resolve();
      else document.addEventListener("visibilitychange", look, { once: true });
    };
    signal.addEventListener("abort", resolve);
    look();
  });

/** A signal that also says no more when the page is not looked at any longer. */
function whileSeen(signal) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  signal.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", () => isSeen() || stop(), { signal: controller.signal });
  return controller.signal;
}

/** Reads until `signal` says no more. `on` hears { change } and { generation }, and { connected } when that changes. */
async function follow(since, on, signal) {
  let last = since;
  let pause = SHORTEST_WAIT;
  while (!signal.aborted) {
    await waitToBeSeen(signal);
    const seen = whileSeen(signal);
    try {
      for await (const { event, data } of readChanges(last, seen)) {
        if (event === "open") on({ connected: true });
        if (event === "change") on({ change: data });
        if (event === "generation") on({ generation: data });
        last = event === "change" ? data.number : last;
        pause = SHORTEST_WAIT;
      }
    } catch (problem) {
      // It broke, or was given up; either way it is made again. A log that ends before the last change that was seen is
      // that of another store, restored from a backup: its changes are followed from now on.
      if (problem.status === 422) last = undefined;
    }
    if (seen.aborted) continue;
    on({ connected: false });
    await wait(pause, signal);
    pause = Math.min(2 * pause, LONGEST_WAIT);
  }
}

/** What has come since: { changes (latest first), generation, log, connected }. `onChange` hears each one that is later
    than the model that the page was opened with. */
export function useChanges(model, onChange) {
  const [state, setState] = useState({ changes: [], connected: false });
  useEffect(() => {
    if (!model) return undefined;
    const controller = new AbortController();
    const on = ({ change, generation, connected }) => {
      if (connected !== undefined) setState((old) => ({ ...old, connected }));
      if (generation) setState((old) => ({ ...old, ...generation }));
      if (change) setState((old) => ({ ...old, log: change.number, changes: [change, ...old.changes].slice(0, MOST) }));
      if ((change && change.number > model.log) || (generation && generation.generation !== model.generation))
        onChange({ change, generation });
    };
    follow(Math.max(0, model.log - SHOWN_AT_START), on, controller.signal);
    return () => controller.abort();
  }, [model !== undefined]);
  return { generation: model?.generation, log: model?.log, ...state };
}

function Change({ change: { number, time, operation, fact, source } }) {
  const [head, relation, tail] = fact;
  const added = operation === "A";
  return html`
    <li class=${added ? "change added" : "change removed"}>
      <span class="operation" aria-hidden="true">${added ? "+" : "\u2212"}</span>
      <span class="unseen">${added ? "added" : "withdrawn"}: </span>
      <span class="fact"><${EntityLink} name=${head} /> <${Name}>${relation}<//> <${EntityLink} name=${tail} /></span>
      <span class="note">
        ${formatTime(time)}<span class="unseen">, change ${number}</span>
        ${source && !source.startsWith(KEYED) ? html` \u00b7 <${Name}>${source}<//>` : ""}
      </span>
    </li>`;
}

export const Changes = ({ stream }) => html`
  <${Card} id="changes" title="Changes" note=${stream.log === undefined ? "" : `${formatCount(stream.log)} so far`}>
    ${stream.changes.length === 0 && html`<p class="empty">What anybody adds or withdraws appears here.</p>`}
    <ol class="changes" role="log" aria-label="Changes, latest first">
      ${stream.changes.map((change) => html`<${Change} key=${change.number} change=${change} />`)}
    </ol>
  <//>`;
