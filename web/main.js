/* The page as a whole: what it is about (an entity of the graph, or something new), the questions that this leads to, and
   the cards that show their answers. */

import { html, render, useCallback, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { access, changeFacts, getModel, setToken } from "./api.js";
import { Changes, useChanges } from "./changes.js";
import { useNewSubject } from "./check.js";
import { Combobox } from "./combobox.js";
import { Describe } from "./describe.js";
import { Entity, useFacts } from "./entity.js";
import { loadEntities } from "./fact_row.js";
import { formatCount, makeFact, plural, sayFact } from "./format.js";
import { Missing } from "./missing.js";
import { IconButton, Name, ProblemNote, Sign } from "./parts.js";
import { Predictions, usePredictions } from "./predictions.js";
import { formatRoute, UNNAMED, useAnswer, useRoute } from "./state.js";
import { Surroundings } from "./surroundings.js";

const HOME = { view: "new", entity: "", facts: [], why: null };

function Search({ onPick }) {
  const [text, setText] = useState("");
  return html`
    <div class="search" role="search">
      <${Sign} name="search" />
      <${Combobox} label="Go to an entity" placeholder="Go to an entity" value=${text} load=${loadEntities}
        onInput=${setText}
        onPick=${(name) => {
          if (name === "") return;
          setText("");
          onPick(name);
        }} />
    </div>`;
}

function Header({ model, stream, onPick }) {
  return html`
    <header class="top">
      <a class="brand" href=${formatRoute(HOME)}>kgraft</a>
      <${Search} onPick=${onPick} />
      <a class="button" href=${formatRoute(HOME)}><${Sign} name="add" /> New entity</a>
      ${
        model &&
        html`<dl class="state">
        <div><dt class="unseen">Store</dt><dd><${Name}>${model.name}<//></dd></div>
        <div class="count"><dt>entities</dt><dd>${formatCount(model.entities)}</dd></div>
        <div class="count"><dt>facts</dt><dd>${formatCount(model.facts)}</dd></div>
        <div><dt>generation</dt><dd id="generation">${stream.generation}</dd></div>
        <div><dt>change</dt><dd id="log">${formatCount(stream.log)}</dd></div>
        <div class=${stream.connected ? "pulse on" : "pulse"}><dt
          class="unseen">Connection</dt><dd>${stream.connected ? "live" : "offline"}</dd></div>
      </dl>`
      }
    </header>`;
}

/** Asks for the token that the server wants, and again if it was another one. Where somebody closes it, a note on the page
    opens it again. */
function TokenDialog({ open, onToken }) {
  const dialog = useRef(null);
  const input = useRef(null);
  const [tried, setTried] = useState(false);
  const show = () => dialog.current.open || dialog.current.showModal();
  useEffect(() => {
    if (open) show();
  }, [open]);
  const send = () => {
    onToken(input.current.value.trim());
    input.current.value = "";
    setTried(true);
  };
  return html`
    ${
      open &&
      html`<p class="problem" role="alert">
        This server wants a token. <button type="button" onClick=${show}>Enter a token</button>
      </p>`
    }
    <dialog ref=${dialog} aria-labelledby="token-title">
      <form method="dialog" onSubmit=${send}>
        <h2 id="token-title">${tried ? "The server wants another token" : "This server wants a token"}</h2>
        <label class="field"><span>Token</span><input ref=${input} type="password" autocomplete="off" required /></label>
        <p class="quiet">It is kept until this tab is closed.</p>
        <div class="actions"><button type="submit" class="main">Go on</button></div>
      </form>
    </dialog>`;
}

/** What was just done, and the way back. */
function Toast({ toast, onClose }) {
  useEffect(() => {
    if (!toast) return undefined;
    const timer = setTimeout(onClose, 12000);
    return () => clearTimeout(timer);
  }, [toast]);
  return html`
    <div class="toast" role="status" hidden=${!toast}>
      ${
        toast &&
        html`<span>${toast.text} <${Name}>${toast.detail}<//></span>
        ${toast.undo && html`<button type="button" onClick=${toast.undo}>Undo</button>`}
        <${IconButton} sign="remove" label="Close" onClick=${onClose} />`
      }
    </div>`;
}

/** An entity as questions are about it, in the words of the interface; null while it is not known to be there. */
const makeSubject = (name, facts) => (facts.value?.entity === name && !facts.problem ? { entity: name } : null);

/** The view of one subject. All that changes the graph goes through `change`, which can be undone. */
function Subject({ model, route, go, version, stream, change, notify }) {
  const [started, setStarted] = useState(null);
  const isNew = route.view === "new";
  const name = route.entity || UNNAMED;
  const facts = useFacts(isNew ? "" : name, version);
  const newSubject = useNewSubject(name, isNew ? route.facts : [], model);
  const subject = isNew ? newSubject : makeSubject(name, facts);
  const asOf = isNew ? version : facts.value?.version;
  const predictions = usePredictions(subject, route, model, asOf);
  const accept = (answer) => {
    const fact = makeFact(name, answer.relation, answer.side, answer.entity);
    if (isNew) go({ facts: [...route.facts, fact], why: null }, { replace: true });
    else change([fact], []);
  };
  const onAccept = !isNew && model.read_only ? undefined : accept;
  const goTo = (entity) => go({ ...HOME, view: "entity", entity });
  const onStored = (entity, stored) => {
    notify({ text: "Stored:", detail: entity, undo: () => change([], stored) });
    goTo(entity);
  };
  const accepting = isNew ? "Take as a fact" : "Accept";
  const known = isNew ? route.facts : (facts.value?.links ?? []);
  return html`
    <main>
      ${isNew
        ? html`<${Describe} model=${model} route=${route} go=${go} started=${started} onStored=${onStored} />`
        : html`<${Entity} model=${model} name=${name} facts=${facts} started=${started} onChange=${change} onPick=${goTo} />`}
      <div class="answers">
        <${Predictions} model=${model} subject=${subject} version=${asOf} route=${route} go=${go}
          predictions=${predictions} accepting=${accepting}
          onAccept=${onAccept} onPick=${goTo} />
        <${Surroundings} subject=${name} facts=${known} predictions=${predictions} accepting=${accepting}
          onAccept=${onAccept} />
      </div>
      <div class="aside">
        <${Missing} model=${model} subject=${subject} version=${asOf} onAsk=${(relation, side) => go({ relation, side, why: null })}
          onFill=${!isNew && model.read_only ? undefined : (relation, side) => setStarted({ relation, side })} />
        <${Changes} stream=${stream} />
      </div>
    </main>`;
}

/** A number that grows after `recount()`, but not more often than twice a second, however many changes come. */
function useRecounts() {
  const [recounts, setRecounts] = useState(0);
  const timer = useRef(null);
  const recount = () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      setRecounts((old) => old + 1);
    }, 500);
  };
  return [recounts, recount];
}

function App() {
  const [route, go] = useRoute();
  const [version, setVersion] = useState(0);
  const [denied, setDenied] = useState(false);
  const [toast, setToast] = useState(null);
  const [problem, setProblem] = useState(null);
  const [recounts, recount] = useRecounts();
  const { value: newest, problem: modelProblem } = useAnswer(getModel, `${version} ${recounts}`);
  const latest = useRef(newest);
  const model = (latest.current = newest ?? latest.current); // what was known stays while the server is away
  const shown = useRef(route);
  shown.current = route;
  const refresh = useCallback(() => setVersion((old) => old + 1), []);

  useEffect(() => {
    const ask = () => setDenied(true);
    access.addEventListener("denied", ask);
    return () => access.removeEventListener("denied", ask);
  }, []);
  useEffect(() => {
    document.title = route.entity ? `${route.entity} \u00b7 kgraft` : "kgraft";
    setProblem(null);
  }, [route.entity]);

  const stream = useChanges(model, ({ change, generation }) => {
    if (generation || change.fact.includes(shown.current.entity)) refresh();
    else recount();
  });

  const change = async (add, remove, done) => {
    try {
      const commit = await changeFacts(add, remove);
      const isNothing = commit.added + commit.removed === 0;
      setProblem(null);
      setToast({
        text: isNothing ? "Nothing has changed:" : add.length ? "Added:" : "Withdrawn:",
        detail:
          add.length + remove.length === 1
            ? sayFact(add[0] ?? remove[0])
            : plural(add.length + remove.length, "fact", "facts"),
        undo: isNothing ? undefined : () => change(remove, add),
      });
      done?.();
      refresh();
    } catch (error) {
      setProblem(error);
    }
  };

  return html`
    <${Header} model=${model} stream=${stream} onPick=${(entity) => go({ ...HOME, view: "entity", entity })} />
    <${ProblemNote} problem=${problem ?? (denied ? null : modelProblem)} />
    ${
      model &&
      html`<${Subject} key=${route.view === "new" ? "" : route.entity} model=${model} route=${route} go=${go}
        version=${version}
      stream=${stream} change=${change} notify=${setToast} />`
    }
    <${Toast} toast=${toast} onClose=${() => setToast(null)} />
    <${TokenDialog} open=${denied} onToken=${(token) => {
      setToken(token);
      setDenied(false);
      refresh();
    }} />`;
}

render(html`<${App} />`, document.getElementById("page"));
