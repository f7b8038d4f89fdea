// The models of the live board: made when it is first opened, and kept while the console is open.

import { computed, effect } from "@preact/signals";
import { take } from "../api_client.ts";
import { createBoardModel } from "./board_model.ts";
import { createLiveModel } from "./live_model.ts";
import type { Models } from "./models.ts";
import type { EventChannel } from "./live_model.ts";

export type LiveModels = Models & ReturnType<typeof createLiveModels>;

const SHOW_EVERY_MS = 250;
const MEASURE_EVERY_MS = 3000;
let made: LiveModels | null = null;

/** The console's models and those of the board. */
export function withLive(models: Models): LiveModels {
  made ??= { ...models, ...createLiveModels(models) };
  return made;
}

function createLiveModels({ api, router, clock, session }: Models) {
  const filter = computed(() => ({
    text: router.param("q"),
    state: router.param("state"),
    client: router.param("client"),
    target: router.param("target"),
  }));
  const board = createBoardModel(filter);
  let openShared: ((after: string) => EventChannel) | null = null;
  const live = createLiveModel({
    board,
    async fetchSnapshot() {
      // What opens the stream comes beside the snapshot, which is always there first.
      const [snapshot, { sharedEventSource }] = await Promise.all([
        session.whileSignedIn(() => take(api.live.$get())),
        import("./shared_channel.ts"),
      ]);
      openShared ??= sharedEventSource(streamAddress);
      return snapshot;
    },
    openChannel: (after) => openShared?.(after) ?? new EventSource(streamAddress(after)),
    probe: session.probe,
    onServerTime: clock.adjust,
    localNowMs: Date.now,
    later(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
  });
  setInterval(live.show, SHOW_EVERY_MS);
  setInterval(() => {
    // Should its file not come, no step is said to be slow.
    import("./dwell.ts").then(
      ({ slowSteps }) => board.measure(clock.nowMs.peek(), slowSteps),
      () => undefined,
    );
  }, MEASURE_EVERY_MS);
  // A stream that was refused waits for the next sign-in.
  let wasInterrupted = false;
  effect(() => {
    const isInterrupted = session.interrupted.value;
    if (wasInterrupted && !isInterrupted) live.start();
    wasInterrupted = isInterrupted;
  });
  // Should its file not come, a hidden tab keeps its stream.
  import("./hidden_tab.ts").then(({ letGoWhileHidden }) => letGoWhileHidden(live, session), () => undefined);
  return { filter, board, live };
}

function streamAddress(after: string): string {
  return `/console/api/live/stream?after=${encodeURIComponent(after)}`;
}
