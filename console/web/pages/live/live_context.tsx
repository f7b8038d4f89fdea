// The models of the Live page, and the banner of its connection. The models are created when the page is first opened and
// remain while the console is open.

import { batch, computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import type { ChartAnswer } from "../../../api/charts/chart_store.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { runLater } from "../../app/clock_model.ts";
import { closeWhileHidden, LiveStream } from "../../app/live_stream.ts";
import { eventSourceFactory } from "../../app/shared_event_source.ts";
import { createResource, readyValue } from "../../app/resource.ts";
import { countText, durationText } from "../../app/format.ts";
import { t } from "../../i18n/translate.ts";
import { Alert } from "../../components/alert.tsx";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { InlineIcon } from "../../components/inline_icon.tsx";
import { LoginList } from "./login_list.ts";

export type LiveModels = Models & ReturnType<typeof createLiveModels>;

/** The counts of the last minutes, with the window that they cover. They are those of the reports. */
type RecentCounts = ChartAnswer & { readonly fromMs: number; readonly toMs: number };

const RECENT_MINUTES = 15;
const SHOW_INTERVAL_MS = 250;
const MEASURE_INTERVAL_MS = 3000;
let made: LiveModels | null = null;

/** The models of the console with those of the Live page. */
export function withLiveModels(models: Models): LiveModels {
  made ??= { ...models, ...createLiveModels(models) };
  return made;
}

function createLiveModels({ api, router, clock, session }: Models) {
  // The list applies the search when it shows new events, so that a key does not draw all rows once more.
  const searchText = signal(router.param("q"));
  const filter = computed(() => ({
    text: searchText.value,
    state: router.param("state"),
    client: router.param("client"),
    target: router.param("target"),
  }));
  const board = new LoginList(filter);
  const live = new LiveStream({
    board,
    fetchSnapshot: () => session.whileSignedIn(() => take(api.live.$get())),
    openChannel: eventSourceFactory(streamAddress),
    checkSession: session.check,
    onServerTime: clock.adjust,
    localNowMs: Date.now,
    later: runLater,
  });
  setInterval(() =>
    batch(() => {
      searchText.value = router.param("q");
      live.show();
    }), SHOW_INTERVAL_MS);
  setInterval(() => board.measure(clock.nowMs.peek()), MEASURE_INTERVAL_MS);
  // After a refusal, the stream starts again with the next sign-in.
  let wasInterrupted = false;
  effect(() => {
    const isInterrupted = session.isInterrupted.value;
    if (wasInterrupted && !isInterrupted) live.start();
    wasInterrupted = isInterrupted;
  });
  closeWhileHidden(live, session);
  const recent = createResource<RecentCounts>({ session });
  const countRecent = async () => {
    await recent.load(() => take(api.charts.$get({ query: recentQuery(clock.nowMs.peek()) })));
    board.forgetEnds(readyValue(recent.state.peek())?.toMs ?? 0);
  };
  let newestMs = clock.nowMs.peek();
  /** The server's time for ages and countdowns. It stands still while the server is silent. */
  const dataClock = {
    nowMs: computed(() => {
      if (live.connection.value.kind !== "reconnecting") newestMs = clock.nowMs.value;
      return newestMs;
    }),
  };
  return { filter, board, live, dataClock, recent, countRecent };
}

/** The window of the counts: the current minute, and those before it. Reports count the same window in the same way. */
export function recentQuery(nowMs: number) {
  const fromMs = (Math.floor(nowMs / MINUTE_MS) - RECENT_MINUTES + 1) * MINUTE_MS;
  return { from: String(fromMs), to: String(Math.floor(nowMs)), client: "", target: "" };
}

function streamAddress(after: string): string {
  return `/console/api/live/stream?after=${encodeURIComponent(after)}`;
}

const DROPPED = "dropped_";

/** The number of packets that were dropped since the start of the gateway. */
export function droppedTotal(counters: Readonly<Record<string, number>>): number {
  return Object.entries(counters).reduce(
    (sum, [name, count]) => name.startsWith(DROPPED) ? sum + count : sum,
    0,
  );
}

const RESUMED_SHOWN_MS = 8000;

/** The age of the data while the server cannot be reached, and the missed changes after that. */
export function ConnectionBanner({ models: { live, clock } }: { models: LiveModels }) {
  const { connection, missed } = live;
  useEffect(() => {
    if (missed.value === null) return;
    const timer = setTimeout(live.clearMissed, RESUMED_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [missed.value]);
  if (connection.value.kind === "reconnecting") {
    // Reading the clock renders the age every second.
    clock.nowMs.value;
    return (
      <Alert tone="bad" role="status">
        <strong>{t("live.server_silent")}</strong>{" "}
        {t("live.server_silent_next", { age: durationText(Date.now() - connection.value.sinceMs) })}
      </Alert>
    );
  }
  if (missed.value === null) return null;
  return (
    <Alert tone="ok" icon="check" role="status">
      {t("live.resumed", { count: countText(missed.value) })}
    </Alert>
  );
}

/** A state with an inline icon: a sprite costs more in a list that changes all the time. */
export function LiveStatus({ words }: { words: StateLabel }) {
  return (
    <span class={`status tone-${words.tone}`}>
      <InlineIcon name={words.shape} />
      <span>{words.label}</span>
    </span>
  );
}
