// Live: the logins, their steps, and what waits for a person.

import { useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { droppedTotal } from "../models/dropped_total.ts";
import { type LiveModels as Models, withLive } from "../models/live_models.ts";
import { ConversationList } from "../parts/live/conversation_list.tsx";
import { FilterBar } from "../parts/filter_bar.tsx";
import { FlowDiagram } from "../parts/live/flow_diagram.tsx";
import type { PageProps } from "../page_loader.ts";
import { Chip } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { timeText } from "../format.ts";
import { placeName } from "../words.ts";
import { t } from "../i18n/translate.ts";
import { late } from "../parts/late.tsx";

const Notices = late(async () => (await import("../parts/live/notices.tsx")).Notices);
const ApprovalsPanel = late(async () => (await import("../parts/live/waiting_panels.tsx")).ApprovalsPanel);
const InspectorPanel = late(async () => (await import("../parts/live/inspector_panel.tsx")).InspectorPanel);
const LiveKeys = late(async () => (await import("../parts/live/live_keys.tsx")).LiveKeys);
const LiveSummary = late(async () => (await import("../parts/live/live_summary.tsx")).LiveSummary);
const ReconnectNote = late(async () => (await import("../parts/live/reconnect_note.tsx")).ReconnectNote);
const FirstSteps = late(async () => (await import("../parts/live/first_steps.tsx")).FirstSteps);
const SessionsPanel = late(async () => (await import("../parts/live/sessions_panel.tsx")).SessionsPanel);
const OutboxPanel = late(async () => (await import("../parts/live/waiting_panels.tsx")).OutboxPanel);

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
  const path = ["start", ...chosen?.moments.map(({ step }) => placeName(step)) ?? []];
  // Known before the lists are, so that their place is kept and nothing moves when they come.
  const { approvals, outbox } = models.session.features.value;
  const below = Number(approvals) + Number(outbox);
  return (
    <main class="page live">
      <LiveBar models={models} />
      <ReconnectNote models={models} />
      <Notices models={frame} />
      <LiveKeys models={models} chosenId={chosenId} />
      <div class="flow-room">
        <FlowDiagram models={models} path={chosen === null ? [] : path} />
      </div>
      {(models.session.firstSteps.value !== null || router.param("step") === "login") && (
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
      <SessionsPanel models={models} />
    </main>
  );
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
        <Since board={board} />
        <span class="quiet">{rate}</span>
        <button type="button" class="button" aria-pressed={paused} onClick={() => board.pause(!paused)}>
          <Symbol name={paused ? "line-play" : "line-pause"} size={12} />
          {paused ? goOn : t("live.pause")}
        </button>
      </div>
      <LiveSummary live={live} />
    </header>
  );
}

/** The period that the counts of the outcomes cover: from the oldest login of the list on. */
function Since({ board: { sinceMs } }: Pick<Models, "board">) {
  const text = useComputed(() =>
    sinceMs.value === null ? "" : t("live.outcomes_since", { time: timeText(sinceMs.value) })
  );
  return <span class="quiet">{text}</span>;
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
