// Live: the traffic, where it stands, and what waits for somebody.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { countText, durationText } from "../format.ts";
import { type LiveModels as Models, withLive } from "../models/live_models.ts";
import { ConversationList } from "../parts/conversation_list.tsx";
import { FilterBar } from "../parts/filter_bar.tsx";
import { FlowDiagram } from "../parts/flow_diagram.tsx";
import { Icon } from "../parts/icon.tsx";
import { LateInspector } from "../parts/late_inspector.tsx";
import { Note } from "../parts/note.tsx";
import type { PageProps } from "../routes.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Chip } from "../parts/status.tsx";
import { placeName } from "../words.ts";
import { t } from "../words/translate.ts";
import { late } from "../parts/late.tsx";

const Notices = late(async () => (await import("../parts/notices.tsx")).Notices);
const ApprovalsPanel = late(async () => (await import("../parts/waiting_panels.tsx")).ApprovalsPanel);
const OutboxPanel = late(async () => (await import("../parts/waiting_panels.tsx")).OutboxPanel);

const SUMMARY_EVERY_MS = 10_000;

export default function LivePage({ models: frame }: PageProps) {
  const models = withLive(frame);
  const { live, board, router } = models;
  useEffect(() => {
    live.start();
    return live.stop;
  }, []);
  useShortcuts([
    { keys: " ", does: "live.key_pause", run: () => board.pause(!board.paused.peek()) },
    { keys: "n", does: "live.key_newer", run: () => board.showNewer() },
  ]);
  const chosenId = router.param("c");
  const chosen = chosenId === "" ? null : board.conversation(chosenId);
  const path = ["start", ...chosen?.moments.map(({ step }) => placeName(step)) ?? []];
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
      <FilterBar models={models} />
      <div class={`board ${chosenId === "" ? "" : "with-inspector"}`}>
        <ConversationList models={models} chosenId={chosenId} />
        {chosenId !== "" && (
          <LateInspector
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

function LiveBar({ models: { live, board } }: { models: Models }) {
  const paused = board.paused.value;
  const held = board.heldBack.value;
  const goOn = held === 0 ? t("live.go_on") : t("live.go_on_held", { count: held });
  return (
    <header class="page-bar">
      <h1 tabIndex={-1}>{t("live.live")}</h1>
      <Chip words={linkWords(live.link.value.kind, paused)} />
      <div class="end">
        <Drops counters={live.counters.value} />
        <span class="quiet">{t("live.rate", { count: live.rate.value })}</span>
        <button type="button" class="button" aria-pressed={paused} onClick={() => board.pause(!paused)}>
          <Icon name={paused ? "play" : "pause"} size={12} />
          {paused ? goOn : t("live.pause")}
        </button>
      </div>
      <Summary live={live} />
    </header>
  );
}

const DROPPED = "dropped_";

/** How many packets got no answer since the start; each of the newest is explained on a page of its own. */
function Drops({ counters }: { counters: Readonly<Record<string, number>> }) {
  const total = Object.entries(counters).reduce(
    (sum, [name, count]) => name.startsWith(DROPPED) ? sum + count : sum,
    0,
  );
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

const RESUMED_SHOWN_MS = 8000;

/** While the server is away: how old the data is. When it is back: how much was missed. */
function ReconnectNote({ models: { live, clock } }: { models: Models }) {
  const { link, missed } = live;
  useEffect(() => {
    if (missed.value === null) return;
    const timer = setTimeout(live.forgetMissed, RESUMED_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [missed.value]);
  if (link.value.kind === "reconnecting") {
    // Reading the clock draws the age anew each second.
    clock.nowMs.value;
    return (
      <Note tone="bad" role="status">
        <strong>{t("live.server_silent")}</strong>{" "}
        {t("live.server_silent_next", { age: durationText(Date.now() - link.value.sinceMs) })}
      </Note>
    );
  }
  if (missed.value === null) return null;
  return (
    <Note tone="ok" icon="check" role="status">
      {t("live.resumed", { count: countText(missed.value) })}
    </Note>
  );
}
