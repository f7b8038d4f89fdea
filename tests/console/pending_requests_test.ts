// Requests without an answer yet: dialogs stay open, polls do not overlap, and every request has a deadline.

import { assertEquals, assertRejects } from "@std/assert";
import { keepCurrent } from "../../console/account/account_models.ts";
import { canClose, createAction } from "../../console/web/app/action.ts";
import { ApiFailure, createBrowserFetch, take } from "../../console/web/app/api_client.ts";
import { skipWhilePending } from "../../console/web/app/resource.ts";
import { createManualClock } from "../fakes/console_app.ts";

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("canClose() refuses while an action runs, and allows it after 15 seconds without an answer", async () => {
  const clock = createManualClock();
  const action = createAction({ later: clock.after });
  const state = () => [action.busy.value, action.isSlow.value, canClose(action)];
  assertEquals(state(), [false, false, true]);
  const answer = Promise.withResolvers<void>();
  const done = action.run(() => answer.promise);
  clock.advance(14_999);
  assertEquals(state(), [true, false, false]);
  clock.advance(1);
  assertEquals(state(), [true, true, true]);
  answer.resolve();
  await done;
  assertEquals(state(), [false, false, true]);
});

Deno.test("createAction() restarts the 15 seconds with each run", async () => {
  const clock = createManualClock();
  const action = createAction({ later: clock.after });
  await action.run(() => Promise.reject(new ApiFailure("offline")));
  clock.advance(14_000);
  void action.run(() => new Promise(() => {}));
  clock.advance(14_000);
  assertEquals([action.isSlow.value, canClose(action)], [false, false]);
});

Deno.test("skipWhilePending() skips a tick until the previous run has ended, also with a failure", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const tick = skipWhilePending(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  tick();
  tick();
  assertEquals(runs.length, 1);
  runs[0]?.resolve();
  await settled();
  tick();
  assertEquals(runs.length, 2);
  runs[1]?.reject(new Error("away"));
  await settled();
  tick();
  assertEquals(runs.length, 3);
});

Deno.test("keepCurrent() sends no second poll while the first one is pending", async () => {
  const ticks: (() => void)[] = [];
  const original = { setInterval: globalThis.setInterval, clearInterval: globalThis.clearInterval };
  Object.assign(globalThis, {
    setInterval: (tick: () => void) => ticks.push(tick),
    clearInterval: () => undefined,
  });
  const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  const window = Object.assign(new EventTarget(), { document });
  let refreshes = 0;
  const answer = Promise.withResolvers<void>();
  const account = {
    refresh() {
      refreshes += 1;
      return refreshes === 1 ? Promise.resolve() : answer.promise;
    },
  };
  const session = { isInterrupted: { peek: () => false }, check: () => Promise.resolve() };
  type Given = Parameters<typeof keepCurrent>;
  try {
    const stop = keepCurrent(account as Given[0], { session, window } as unknown as Given[1]);
    ticks[0]?.();
    ticks[0]?.();
    assertEquals(refreshes, 2, "the first load, and one poll");
    answer.resolve();
    await settled();
    ticks[0]?.();
    assertEquals(refreshes, 3);
    stop();
  } finally {
    Object.assign(globalThis, original);
  }
});

Deno.test("createBrowserFetch() ends a read after 30 s and a write after 5 min, unless the caller passes a signal", async () => {
  const own = AbortSignal.abort();
  const seen: (number | AbortSignal | null | undefined)[] = [];
  const asked: number[] = [];
  const call = createBrowserFetch({
    fetch: (_address, init) => {
      seen.push(init?.signal === own ? own : asked.at(-1));
      return Promise.resolve(Response.json({}));
    },
    timeout: (ms) => {
      asked.push(ms);
      return new AbortController().signal;
    },
  });
  await call("/x", { method: "GET" });
  await call("/x", { method: "POST" });
  await call("/x", { method: "GET", signal: own });
  assertEquals(seen, [30_000, 300_000, own]);
});

Deno.test("take() reports a body that does not arrive as offline, and a body that is not JSON as nonsense", async () => {
  const codes: string[] = [];
  for (const fault of [new DOMException("", "TimeoutError"), new SyntaxError()]) {
    const response = { ok: true, status: 200, headers: new Headers(), json: () => Promise.reject(fault) };
    const failure = await assertRejects(() => take(Promise.resolve(response)), ApiFailure);
    codes.push(failure.code);
  }
  assertEquals(codes, ["offline", "nonsense"]);
});
