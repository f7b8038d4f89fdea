// The Live page: a funnel of the current logins, their list with filters, the inspector beside it, and a drawer below.

import { type ReadonlySignal, signal, useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PageProps } from "../../app/app_context.ts";
import { countText, minuteText } from "../../app/format.ts";
import {
  findMomentNode,
  findNode,
  OUTCOME_NAMES,
  outcomeLabel,
  type OutcomeName,
  STEP_NAMES,
  stepLabel,
} from "../../app/login_state_labels.ts";
import { type Shortcut, useShortcuts } from "../../app/shortcuts.ts";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { Chip } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import { FilterChips } from "../../components/filter_chips.tsx";
import type { ListFilter } from "../../app/filters.ts";
import { SearchBox } from "../../components/search_box.tsx";
import { SignInLogTabs } from "../../components/page_layout.tsx";
import { readyValue, useInterval } from "../../app/resource.ts";
import {
  ConnectionBanner,
  droppedTotal,
  type LiveModels as Models,
  withLiveModels,
} from "./live_context.tsx";
import { ConversationList } from "./conversation_list.tsx";
import { LiveDrawer } from "./live_drawer.tsx";
import { NoticePanel } from "./notices.tsx";
import { OnboardingPanel } from "./onboarding.tsx";
import { countFunnel, FUNNEL_NAMES, type FunnelName } from "./live_counts.ts";

const InspectorPanel = lazy(async () => (await import("./login_inspector.tsx")).InspectorPanel);

export default function LivePage({ models: frame }: PageProps) {
  const models = withLiveModels(frame);
  const { live, board, router } = models;
  useEffect(() => {
    live.start();
    return live.stop;
  }, []);
  const chosenId = router.param("c");
  // Changes only with that login, not with every event.
  const chosen = useComputed(() => board.conversation(router.param("c"))).value;
  const path = ["start", ...chosen?.moments.map(({ step }) => findMomentNode(step)) ?? []];
  const close = () => {
    router.setParams({ c: "", t: "", tab: "" });
    // The inspector disappears with the focus.
    focusRow(chosenId);
  };
  return (
    <main class={`page live ${chosenId === "" ? "" : "with-inspector"}`}>
      <div class="live-main">
        <LiveBar models={models} />
        <ConnectionBanner models={models} />
        <NoticePanel models={frame} />
        <LiveKeys models={models} chosenId={chosenId} close={close} />
        {(models.session.firstSteps.value !== null || router.param("step") === "login") && (
          <div class="first-steps-room">
            <OnboardingPanel models={models} />
          </div>
        )}
        <Funnel models={models} path={chosen === null ? [] : path} />
        <FilterBar models={models} />
        <FilterChips models={models} filters={liveFilters()} />
        <ConversationList models={models} chosenId={chosenId} />
        <LiveDrawer models={models} />
      </div>
      {chosenId !== "" && (
        <InspectorPanel key={chosenId} models={models} id={chosenId} view={chosen} close={close} />
      )}
    </main>
  );
}

function LiveBar({ models: { live, board } }: { models: Models }) {
  const paused = board.paused.value;
  const resumeLabel = useComputed(() => {
    const held = board.heldBack.value;
    return held === 0 ? t("common.resume") : t("live.go_on_held", { count: held });
  });
  const rate = useComputed(() => t("live.rate", { count: live.rate.value }));
  return (
    <header class="page-bar">
      <h1 tabIndex={-1}>{t("shell.sign_in_log")}</h1>
      <SignInLogTabs current="live" />
      <Chip words={linkWords(live.connection.value.kind, paused)} />
      <Drops counters={live.counters} />
      <div class="end">
        <span class="quiet rate">{rate}</span>
        <button type="button" class="button" aria-pressed={paused} onClick={() => board.pause(!paused)}>
          <Icon name={paused ? "line-play" : "line-pause"} size={12} />
          {paused ? resumeLabel : t("common.pause")}
        </button>
      </div>
      <LiveSummary live={live} />
    </header>
  );
}

/** The number of dropped packets, with a link to the page that explains them. */
function Drops({ counters }: Pick<Models["live"], "counters">) {
  const total = useComputed(() => droppedTotal(counters.value)).value;
  if (total === 0) return null;
  return <a class="drops" href="/live/dropped">{t("live.dropped_count", { count: total })}</a>;
}

function linkWords(kind: "connecting" | "live" | "reconnecting", paused: boolean) {
  if (kind === "reconnecting") {
    return { label: t("common.reconnecting"), tone: "bad", shape: "cross" } as const;
  }
  if (kind === "connecting") {
    return { label: t("live.link_connecting"), tone: "idle", shape: "ring" } as const;
  }
  return paused
    ? { label: t("common.paused"), tone: "wait", shape: "clock" } as const
    : { label: t("live.link_live"), tone: "ok", shape: "check" } as const;
}

interface KeysProps {
  readonly models: Models;
  /** Empty while no login is chosen. */
  readonly chosenId: string;
  /** Closes the inspector. */
  readonly close: () => void;
}

/** Registers the shortcuts of the page. Renders nothing. */
function LiveKeys({ models: { board, router }, chosenId, close }: KeysProps) {
  /** Moves the focus into the inspector of the chosen login, or of the newest. */
  const choose = (also: Readonly<Record<string, string>>) => {
    const id = chosenId || board.rows.peek()[0]?.id;
    if (id === undefined) return;
    if (chosenId !== id) router.setParams({ c: id, ...also });
    focusInspector();
  };
  // With a chosen login, the inspector registers this key.
  const replay: Shortcut = {
    keys: "r",
    label: "live.key_replay",
    run: () => choose({ t: "0", tab: "steps" }),
  };
  useShortcuts([
    { keys: " ", label: "live.key_pause", run: () => board.pause(!board.paused.peek()) },
    { keys: "n", label: "live.key_newer", run: () => board.showNewer() },
    { keys: "j", label: "common.key_down", run: () => moveInList(1) },
    { keys: "k", label: "common.key_up", run: () => moveInList(-1) },
    { keys: "i", label: "live.key_inspector", run: () => choose({}) },
    ...(chosenId === "" ? [replay] : [{ keys: "Escape", label: "live.key_close", run: close } as const]),
  ]);
  return null;
}

const INSPECTOR = ".inspector .body";
const FOCUS_WITHIN_MS = 3000;

/** Focuses the inspector as soon as its code is loaded. */
function focusInspector(deadlineMs = performance.now() + FOCUS_WITHIN_MS): void {
  const element = document.querySelector<HTMLElement>(INSPECTOR);
  if (element !== null) element.focus();
  else if (performance.now() < deadlineMs) requestAnimationFrame(() => focusInspector(deadlineMs));
}

/** Focuses the row of a login; without one, the heading. */
function focusRow(id: string): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".rows .row a")];
  const link = links.find(({ href }) => href.endsWith(encodeURIComponent(id)));
  (link ?? document.querySelector("h1"))?.focus();
}

/** Moves the focus from row to row. Without a focused row, it moves to the first. */
function moveInList(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(".rows .row a")];
  const row = document.activeElement?.closest(".row") ?? null;
  const at = links.findIndex((link) => row?.contains(link) === true);
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
}

const ANNOUNCE_INTERVAL_MS = 10_000;

/** Tells screen readers how many sign-ins are in progress. Not each row, because rows change all the time. */
function LiveSummary({ live }: { live: Models["live"] }) {
  const said = useSignal("");
  const underWay = useComputed(() => Object.values(live.steps.value).reduce((sum, count) => sum + count, 0));
  useEffect(() => {
    const timer = setInterval(() => {
      const pending = live.approvals.peek()?.total ?? 0;
      const waiting = pending === 0 ? "" : ` ${t("live.waiting_count", { count: pending })}`;
      said.value = t("live.under_way", { count: underWay.peek() }) + waiting;
    }, ANNOUNCE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return <span class="unseen" role="status">{said}</span>;
}

function FilterBar({ models }: { models: Models }) {
  const { router, board } = models;
  const state = router.param("state");
  return (
    <div class="filters" role="search" aria-label={t("common.sign_ins")}>
      <SearchBox models={models} label={t("live.search")} placeholder={t("common.search")} />
      <select
        class="input"
        aria-label={t("common.state")}
        value={state}
        onChange={(event) => router.setParams({ state: event.currentTarget.value })}
      >
        <option value="">{t("live.every_state")}</option>
        <option value="live">{t("live.state_live")}</option>
        <option value="factor">{t("live.funnel_factor")}</option>
        <option value="waiting">{t("live.funnel_waiting")}</option>
        <optgroup label={t("common.step")}>
          {(["start", ...STEP_NAMES] as const).map((name) => (
            <option key={name} value={name}>{stepLabel(name)}</option>
          ))}
        </optgroup>
        <optgroup label={t("common.outcome")}>
          {OUTCOME_NAMES.map((name) => <option key={name} value={name}>{outcomeLabel(name).label}</option>)}
        </optgroup>
      </select>
      <Named router={router} name="client" names={board.clients.value} />
      <Named router={router} name="target" names={board.targets.value} />
      <Shown board={board} />
    </div>
  );
}

interface NamedProps extends Pick<Models, "router"> {
  readonly name: "client" | "target";
  readonly names: readonly string[];
}

function Named({ router, name, names }: NamedProps) {
  const chosen = router.param(name);
  return (
    <select
      class="input"
      aria-label={t(name === "client" ? "common.client" : "common.target")}
      value={chosen}
      onChange={(event) => router.setParams({ [name]: event.currentTarget.value })}
    >
      <option value="">{t(`live.every_${name}`)}</option>
      {withChosen(names, chosen).map((name) => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}

/** The number of shown logins. A separate component, because it changes with nearly every event. */
function Shown({ board }: { board: Models["board"] }) {
  const text = useComputed(() => {
    const [shown, total] = [board.rows.value.length, board.total.value];
    return shown === total
      ? t("common.sign_in_count", { count: total })
      : t("live.shown_some", { shown: countText(shown), count: total });
  });
  return <span class="shown">{text}</span>;
}

/** A link may contain a client without recent logins. */
function withChosen(names: readonly string[], chosen: string): readonly string[] {
  return chosen === "" || names.includes(chosen) ? names : [...names, chosen];
}

/** The filters in the address, for their chips. */
function liveFilters(): readonly ListFilter[] {
  return [
    { name: "q", label: t("common.search") },
    { name: "state", label: t("common.state"), text: stateFilterText },
    { name: "client", label: t("common.client") },
    { name: "target", label: t("common.target") },
  ];
}

/** A stage of the funnel, a step, or an outcome. */
function stateFilterText(name: string): string {
  if (name === "live") return t("live.state_live");
  const stage = FUNNEL_NAMES.find((one) => one === name);
  if (stage !== undefined) return t(`live.funnel_${stage}`);
  const outcome = OUTCOME_NAMES.find((one) => one === name);
  return outcome === undefined ? stepLabel(name) : outcomeLabel(outcome).label;
}

// The funnel of the Live page: how many sign-ins are in each stage, and the outcomes with their period. It unfolds into the
// diagram of all states.

const FlowDiagram = lazy(async () => (await import("./flow_diagram.tsx")).FlowDiagram);
const DIAGRAM_ID = "flow-states";

/** Whether the diagram is shown. Another visit of the page keeps it. */
const isUnfolded = signal(false);

const RECENT_EVERY_MS = 5000;

interface FunnelProps {
  readonly models: Models;
  /** The nodes of the chosen login, in order. */
  readonly path: readonly string[];
}

function Funnel({ models, path }: FunnelProps) {
  const { live, recent, countRecent } = models;
  // The test sign-in of the set-up is watched on the diagram.
  const isOpen = isUnfolded.value || models.router.param("step") === "login";
  useEffect(() => void countRecent(), []);
  useInterval(RECENT_EVERY_MS, countRecent);
  const nodes = useComputed(() => countNodes(live.steps.value, endsOf(models)));
  const counts = useComputed(() => countFunnel(nodes.value));
  const since = useComputed(() => {
    const counted = readyValue(recent.state.value);
    return counted === null ? "" : t("live.funnel_since", { time: minuteText(counted.fromMs) });
  });
  return (
    <section class="panel funnel" aria-label={t("live.where")}>
      <div class="funnel-bar">
        <ul>
          {FUNNEL_NAMES.map((name) => <Stage key={name} name={name} counts={counts} models={models} />)}
        </ul>
        <span class="funnel-since quiet small" title={t("live.funnel_since_why")}>{since}</span>
        <button
          type="button"
          class="button button-plain button-small"
          aria-expanded={isOpen}
          aria-controls={isOpen ? DIAGRAM_ID : undefined}
          onClick={() => isUnfolded.value = !isOpen}
        >
          <span class="funnel-more">{t("live.flow_states")}</span>
          <Icon name="chevron-down" size={14} />
        </button>
      </div>
      {isOpen && (
        <div class="flow-room" id={DIAGRAM_ID}>
          <FlowDiagram models={models} path={path} counts={nodes} />
        </div>
      )}
    </section>
  );
}

interface StageProps {
  readonly name: FunnelName;
  readonly counts: ReadonlySignal<ReadonlyMap<FunnelName, number>>;
  readonly models: Models;
}

/** The count is a signal, so an event of the stream updates only its text. */
function Stage({ name, counts, models: { router } }: StageProps) {
  const isChosen = router.param("state") === name;
  const count = useComputed(() => countText(counts.value.get(name) ?? 0));
  return (
    <li class={`stage-${name}`}>
      <button
        type="button"
        class="stage"
        aria-pressed={isChosen}
        onClick={() => router.setParams({ state: isChosen ? "" : name })}
      >
        {t(`live.funnel_${name}`)} <b>{count}</b>
      </button>
    </li>
  );
}

/** The outcomes of the last minutes: the counts of the server, and what ended since. */
function endsOf({ recent, board }: Models): Readonly<Partial<Record<OutcomeName, number>>> {
  const counted = readyValue(recent.state.value);
  const ends: Partial<Record<OutcomeName, number>> = { ...counted?.totals.outcomes };
  for (const { outcome, atMs } of board.newEnds.value) {
    if (atMs > (counted?.toMs ?? 0)) ends[outcome] = (ends[outcome] ?? 0) + 1;
  }
  return ends;
}

function countNodes(
  steps: Readonly<Record<string, number>>,
  ended: Readonly<Partial<Record<OutcomeName, number>>>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>(Object.entries(ended));
  for (const [step, count] of Object.entries(steps)) {
    const name = findNode(step);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}
