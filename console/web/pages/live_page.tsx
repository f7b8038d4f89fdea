// Live: the traffic, where it stands, and what waits for somebody.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { countdownText, countText, durationText } from "../format.ts";
import { type LiveModels as Models, withLive } from "../models/live_models.ts";
import { ApprovalsPanel } from "../parts/approvals_panel.tsx";
import { ConversationList } from "../parts/conversation_list.tsx";
import { FilterBar } from "../parts/filter_bar.tsx";
import { Icon } from "../parts/icon.tsx";
import { Inspector } from "../parts/inspector.tsx";
import { Note } from "../parts/note.tsx";
import { OutboxPanel } from "../parts/outbox_panel.tsx";
import { valueOf } from "../remote.ts";
import type { PageProps } from "../routes.ts";
import { Chip } from "../parts/status.tsx";
import { StepStrip } from "../parts/step_strip.tsx";
import { nodeOf, OUTCOMES, readable } from "../words.ts";

const SUMMARY_EVERY_MS = 10_000;
const ANNOUNCE_END_MS = 120_000;

export default function LivePage({ models: frame }: PageProps) {
  const models = withLive(frame);
  const { live, board, router, clock } = models;
  useEffect(() => {
    live.start();
    return live.stop;
  }, []);
  const chosenId = router.param("c");
  const chosen = chosenId === "" ? null : board.conversation(chosenId);
  const path = new Set(chosen?.moments.map(({ step }) => placeName(step)) ?? []);
  const below = [live.approvals.value, live.outbox.value].filter((list) => list !== null).length;
  return (
    <main class="page live">
      <LiveBar models={models} />
      <ReconnectNote models={models} />
      <SessionNote models={models} />
      <StepStrip models={models} path={path} />
      <FilterBar models={models} />
      <div class={`board ${chosenId === "" ? "" : "with-inspector"}`}>
        <ConversationList models={models} chosenId={chosenId} />
        {chosenId !== "" && (
          <Inspector
            view={chosen}
            nowMs={clock.nowMs.value}
            close={() => router.setParams({ c: "" })}
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

function placeName(step: string): string {
  return step in OUTCOMES ? step : nodeOf(step);
}

function LiveBar({ models: { live, board } }: { models: Models }) {
  const paused = board.paused.value;
  return (
    <header class="page-bar">
      <h1 tabIndex={-1}>Live</h1>
      <Chip words={linkWords(live.link.value.kind, paused)} />
      <div class="end">
        <Drops counters={live.counters.value} />
        <span class="quiet">{`${countText(live.rate.value)} changes/s`}</span>
        <button type="button" class="button" aria-pressed={paused} onClick={() => board.pause(!paused)}>
          <Icon name={paused ? "play" : "pause"} size={12} />
          {paused ? "Go on" : "Pause"}
        </button>
      </div>
      <Summary live={live} />
    </header>
  );
}

const DROPPED = "dropped_";

/** Packets that got no answer, since the start: how many, and on demand why. */
function Drops({ counters }: { counters: Readonly<Record<string, number>> }) {
  const reasons = Object.entries(counters).filter(([name, count]) => name.startsWith(DROPPED) && count > 0);
  if (reasons.length === 0) return null;
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  return (
    <details class="drops">
      <summary>{`${countText(total)} ${total === 1 ? "packet" : "packets"} dropped`}</summary>
      <dl>
        {reasons.sort(([, a], [, b]) => b - a).map(([name, count]) => (
          <div key={name}>
            <dt>{readable(name.slice(DROPPED.length))}</dt>
            <dd class="number">{countText(count)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function linkWords(kind: "connecting" | "live" | "reconnecting", paused: boolean) {
  if (kind === "reconnecting") return { label: "Reconnecting", tone: "bad", shape: "cross" } as const;
  if (kind === "connecting") return { label: "Connecting", tone: "idle", shape: "ring" } as const;
  return paused
    ? { label: "Paused", tone: "wait", shape: "clock" } as const
    : { label: "Live", tone: "ok", shape: "check" } as const;
}

/** What screen readers hear: how many are under way, at most every ten seconds, never each row. */
function Summary({ live }: { live: Models["live"] }) {
  const said = useSignal("");
  const underWay = useComputed(() => Object.values(live.steps.value).reduce((sum, count) => sum + count, 0));
  useEffect(() => {
    const timer = setInterval(() => {
      said.value = `${underWay.peek()} logins under way`;
    }, SUMMARY_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return <span class="unseen" role="status">{said}</span>;
}

function ReconnectNote({ models: { live, clock } }: { models: Models }) {
  const link = live.link.value;
  if (link.kind !== "reconnecting") return null;
  clock.nowMs.value;
  return (
    <Note tone="bad" role="status">
      <strong>The server does not answer.</strong>{" "}
      {`What you see is ${
        durationText(Date.now() - link.sinceMs)
      } old. It is brought up to date as soon as the server is back.`}
    </Note>
  );
}

/** The absolute end of a session is announced; use does not move it. */
function SessionNote({ models: { session, clock } }: { models: Models }) {
  const deadlineMs = valueOf(session.session.value)?.deadlineMs ?? Infinity;
  const leftMs = deadlineMs - clock.nowMs.value;
  if (leftMs > ANNOUNCE_END_MS || session.interrupted.value) return null;
  return (
    <Note tone="wait" icon="clock">
      {`Your session ends in ${countdownText(leftMs)}. `}
      <button type="button" class="button button-small" onClick={session.signInAgain}>
        Sign in again now
      </button>
    </Note>
  );
}
