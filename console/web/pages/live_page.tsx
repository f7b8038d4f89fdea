// Live: the traffic, where it stands, and what waits for somebody.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type * as Focus from "../live_focus.ts";
import { droppedTotal } from "../models/dropped_total.ts";
import { type LiveModels as Models, withLive } from "../models/live_models.ts";
import { ConversationList } from "../parts/live/conversation_list.tsx";
import { FilterBar } from "../parts/filter_bar.tsx";
import { FlowDiagram } from "../parts/live/flow_diagram.tsx";
import type { PageProps } from "../routes.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Chip } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { placeName } from "../words.ts";
import { loadWords, t } from "../words/translate.ts";
import { late } from "../parts/late.tsx";

const Notices = late(async () => (await import("../parts/live/notices.tsx")).Notices);
const ApprovalsPanel = late(async () => (await import("../parts/live/waiting_panels.tsx")).ApprovalsPanel);
const InspectorPanel = late(async () => {
  const [{ InspectorPanel }] = await Promise.all([
    import("../parts/live/inspector_panel.tsx"),
    loadWords(["explain"]),
  ]);
  return InspectorPanel;
});
const ReconnectNote = late(async () => (await import("../parts/live/reconnect_note.tsx")).ReconnectNote);
const FirstSteps = late(async () => (await import("../parts/live/first_steps.tsx")).FirstSteps);
const OutboxPanel = late(async () => (await import("../parts/live/waiting_panels.tsx")).OutboxPanel);

const SUMMARY_EVERY_MS = 10_000;

export default function LivePage({ models: frame }: PageProps) {
  const models = withLive(frame);
  const { live, board, router } = models;
  useEffect(() => {
    live.start();
    return live.stop;
  }, []);
  const chosenId = router.param("c");
  // Another one only when that login changed, not with every event.
  const chosen = useComputed(() => board.conversation(router.param("c"))).value;
  /** Goes into the inspector: of the chosen login, or of the newest. */
  const choose = (also: Readonly<Record<string, string>>) => {
    const id = chosenId || board.rows.peek()[0]?.id;
    if (id === undefined) return;
    if (chosenId !== id) router.setParams({ c: id, ...also });
    focusing(({ focusInspector }) => focusInspector());
  };
  const path = ["start", ...chosen?.moments.map(({ step }) => placeName(step)) ?? []];
  useShortcuts([
    { keys: " ", does: "live.key_pause", run: () => board.pause(!board.paused.peek()) },
    { keys: "n", does: "live.key_newer", run: () => board.showNewer() },
    { keys: "j", does: "frame.key_down", run: () => focusing(({ moveInList }) => moveInList(1)) },
    { keys: "k", does: "frame.key_up", run: () => focusing(({ moveInList }) => moveInList(-1)) },
    { keys: "i", does: "live.key_inspector", run: () => choose({}) },
    // The inspector of a chosen login brings the key itself, and plays.
    ...(chosenId === ""
      ? [{ keys: "r", does: "live.key_replay", run: () => choose({ t: "0" }) } as const]
      : []),
  ]);
  // Known before the lists are, so that their place is kept and nothing moves when they come.
  const { approvals, outbox } = models.session.features.value;
  const below = Number(approvals) + Number(outbox);
  return (
    <main class="page live">
      <LiveBar models={models} />
      <ReconnectNote models={models} />
      <Notices models={frame} />
      <div class="flow-room">
        <FlowDiagram models={models} path={chosen === null ? [] : path} />
      </div>
      {models.session.firstSteps.value !== null && (
        <div class="first-steps-room">
          <FirstSteps models={models} />
        </div>
      )}
      <FilterBar models={models} />
      <div class={`board ${chosenId === "" ? "" : "with-inspector"}`}>
        <ConversationList models={models} chosenId={chosenId} />
        {chosenId !== "" && (
          <InspectorPanel
            key={chosenId}
            models={models}
            id={chosenId}
            view={chosen}
            close={() => router.setParams({ c: "", t: "" })}
          />
        )}
      </div>
      {below > 0 && (
        <div class={`below ${below === 1 ? "single" : ""}`}>
          <ApprovalsPanel models={models} />
          <OutboxPanel models={models} />
        </div>
      )}
    </main>
  );
}

/** Where the focus goes is worked out in a file that comes after the board; without it a key does nothing. */
function focusing(act: (focus: typeof Focus) => void): void {
  import("../live_focus.ts").then(act, () => undefined);
}

function LiveBar({ models: { live, board } }: { models: Models }) {
  const paused = board.paused.value;
  const goOn = useComputed(() => {
    const held = board.heldBack.value;
    return held === 0 ? t("live.go_on") : t("live.go_on_held", { count: held });
  });
  const rate = useComputed(() => t("live.rate", { count: live.rate.value }));
  return (
    <header class="page-bar">
      <h1 tabIndex={-1}>{t("live.live")}</h1>
      <Chip words={linkWords(live.link.value.kind, paused)} />
      <div class="end">
        <Drops counters={live.counters} />
        <span class="quiet">{rate}</span>
        <button type="button" class="button" aria-pressed={paused} onClick={() => board.pause(!paused)}>
          <Symbol name={paused ? "line-play" : "line-pause"} size={12} />
          {paused ? goOn : t("live.pause")}
        </button>
      </div>
      <Summary live={live} />
    </header>
  );
}

/** How many packets got no answer since the start; each of the newest is explained on a page of its own. */
function Drops({ counters }: Pick<Models["live"], "counters">) {
  const total = useComputed(() => droppedTotal(counters.value)).value;
  if (total === 0) return null;
  return <a class="drops" href="/live/dropped">{t("live.dropped_count", { count: total })}</a>;
}

function linkWords(kind: "connecting" | "live" | "reconnecting", paused: boolean) {
  if (kind === "reconnecting") {
    return { label: t("live.link_reconnecting"), tone: "bad", shape: "cross" } as const;
  }
  if (kind === "connecting") {
    return { label: t("live.link_connecting"), tone: "idle", shape: "ring" } as const;
  }
  return paused
    ? { label: t("live.link_paused"), tone: "wait", shape: "clock" } as const
    : { label: t("live.link_live"), tone: "ok", shape: "check" } as const;
}

/** What screen readers hear: how many are under way, at most every ten seconds, never each row. */
function Summary({ live }: { live: Models["live"] }) {
  const said = useSignal("");
  const underWay = useComputed(() => Object.values(live.steps.value).reduce((sum, count) => sum + count, 0));
  useEffect(() => {
    const timer = setInterval(() => {
      said.value = t("live.under_way", { count: underWay.peek() });
    }, SUMMARY_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return <span class="unseen" role="status">{said}</span>;
}
