// The state of the phone page: the stream and its silence, answered questions, and answers out of order.

import { assertEquals } from "@std/assert";
import { PhoneModel } from "../../console/device/phone_model.ts";
import { createClockModel } from "../../console/web/app/clock_model.ts";
import type { EventSourceLike } from "../../console/web/app/live_stream.ts";
import { readyValue } from "../../console/web/app/resource.ts";
import type { PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { phoneRequest } from "../fakes/console_phone.ts";

interface FakeStream extends EventSourceLike {
  readyState: number;
  closed: boolean;
  say(type: string, data?: unknown): void;
  fail(readyState: number): void;
}

const ENABLED = { pairingId: "p1", userName: "ada", requesterName: "Example VPN", createdMs: 0 } as const;

function viewOf(...requestIds: readonly string[]): PhoneView {
  return {
    nowMs: 0,
    phrase: null,
    pairings: [{ ...ENABLED, status: "enabled" }],
    requests: requestIds.map((id) => phoneRequest(id)),
  };
}

const asking: PhoneView = { ...viewOf(), pairings: [{ ...ENABLED, status: "asks_approval" }] };

function setUp() {
  const clock = createManualClock();
  let sleptMs = 0;
  const streams: FakeStream[] = [];
  const calls: string[] = [];
  const bodies: string[] = [];
  /** Answers to calls, in order. A call without an answer fails like a lost network. */
  const answers: (() => Promise<Response>)[] = [];
  const model = new PhoneModel({
    clock: createClockModel(clock.nowMs),
    fetch: (input, init) => {
      calls.push(String(input));
      if (typeof init?.body === "string") bodies.push(init.body);
      const aborted = new Promise<never>((_resolve, reject) =>
        init?.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")))
      );
      const answer = answers.shift()?.() ?? Promise.reject(new TypeError("no network"));
      return Promise.race([answer, aborted]);
    },
    openStream() {
      const listeners = new Map<string, (event: MessageEvent<string>) => void>();
      const stream: FakeStream = {
        readyState: 1,
        closed: false,
        onerror: null,
        addEventListener: (type, listener) => void listeners.set(type, listener),
        close() {
          stream.closed = true;
        },
        say: (type, data = {}) =>
          listeners.get(type)?.(new MessageEvent(type, { data: JSON.stringify(data) })),
        fail(readyState) {
          stream.readyState = readyState;
          stream.onerror?.(new Event("error"));
        },
      };
      streams.push(stream);
      return stream;
    },
    localNowMs: () => clock.nowMs() + sleptMs,
    later: clock.after,
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  const json = (body: unknown, status = 200) => () => Promise.resolve(Response.json(body, { status }));
  const answerView = (view: PhoneView | null) => json({ available: true, nowMs: 0, view, notices: [] });
  return {
    clock,
    /** Advances the time without running timers. */
    sleep(ms: number) {
      sleptMs += ms;
    },
    model,
    streams,
    calls,
    bodies,
    settle,
    answers,
    answerView,
    refuse: (code: string) => json({ error: { code, message: code } }, 409),
    say: (view: PhoneView) => streams.at(-1)?.say("view", { nowMs: 0, view }),
    async load(view: PhoneView) {
      answers.push(answerView(view));
      await model.load();
    },
    requests: () => readyValue(model.view.value)?.requests.map(({ requestId }) => requestId) ?? null,
  };
}

Deno.test("PhoneModel is online only after it received an event of the stream", async () => {
  const { model, streams, load } = setUp();
  assertEquals(model.online.value, false);
  await load(viewOf());
  assertEquals([model.online.value, streams.length], [false, 1]);
  streams[0]?.say("open");
  assertEquals(model.online.value, true);
  streams[0]?.fail(0);
  assertEquals(model.online.value, false);
  streams[0]?.say("beat");
  assertEquals(model.online.value, true);
});

Deno.test("PhoneModel reopens the stream after 12 seconds of silence, within 15", async () => {
  const { model, streams, clock, load, answers, answerView, settle } = setUp();
  await load(viewOf());
  streams[0]?.say("open");
  clock.advance(11_000);
  streams[0]?.say("beat");
  clock.advance(11_000);
  assertEquals([model.online.value, streams[0]?.closed], [true, false]);
  answers.push(answerView(viewOf()));
  clock.advance(4000);
  assertEquals([model.online.value, streams[0]?.closed], [false, true]);
  clock.advance(3000);
  await settle();
  assertEquals([model.online.value, streams.length], [false, 2]);
  streams[1]?.say("open");
  assertEquals(model.online.value, true);
});

Deno.test("PhoneModel reopens a silent stream at once when the phone wakes up", async () => {
  const { model, streams, sleep, load, answers, answerView, settle, calls } = setUp();
  await load(viewOf());
  streams[0]?.say("open");
  model.wake();
  assertEquals(calls.length, 1, "a stream that is alive stays open");
  answers.push(answerView(viewOf()));
  sleep(60_000);
  model.wake();
  await settle();
  assertEquals([calls.length, streams[0]?.closed, streams.length], [2, true, 2]);
});

Deno.test("PhoneModel gives up a call without an answer, and sends it again", async () => {
  const { clock, load, settle, streams, calls, answers, answerView } = setUp();
  await load(viewOf());
  answers.push(() => new Promise(() => undefined), answerView(viewOf()));
  streams[0]?.fail(2);
  clock.advance(3000);
  assertEquals(calls.length, 2);
  clock.advance(15_000);
  await settle();
  clock.advance(3000);
  await settle();
  assertEquals([calls.length, streams.length], [3, 2]);
});

Deno.test("PhoneModel removes an approved request from the page before the stream reports it", async () => {
  const { model, load, answers, answerView, requests, say } = setUp();
  await load(viewOf("r1", "r2"));
  answers.push(answerView(null));
  await model.decide("r1", { approve: true, number: "47" });
  assertEquals([requests(), model.result.value?.good], [["r2"], true]);
  say(viewOf("r1", "r2"));
  assertEquals(requests(), ["r2"], "a view from before the decision does not bring it back");
});

Deno.test("PhoneModel removes a request from the page when a refusal ended it", async () => {
  const { model, load, answers, refuse, requests } = setUp();
  await load(viewOf("r1", "r2"));
  answers.push(refuse("wrong_number"), refuse("too_many_tries"));
  await model.decide("r1", { approve: true, number: "99" });
  assertEquals([requests(), model.result.value?.good], [["r2"], false]);
  await model.decide("r2", { approve: true, number: "99" });
  assertEquals(requests(), ["r2"], "this refusal leaves the request open");
});

Deno.test("PhoneModel shows a confirmed pairing as enabled before the stream reports it", async () => {
  const { model, load, answers, answerView } = setUp();
  await load(asking);
  answers.push(answerView(null));
  await model.decidePairing("p1", { approve: true, name: "" });
  assertEquals(readyValue(model.view.value)?.pairings.map(({ status }) => status), ["enabled"]);
});

Deno.test("PhoneModel removes the last outcome when another question appears", async () => {
  const { model, load, answers, answerView, say } = setUp();
  await load(viewOf("r1"));
  answers.push(answerView(null));
  await model.decide("r1", { approve: true, number: "47" });
  say(viewOf());
  assertEquals(model.result.value?.good, true, "it stays while nothing is asked");
  say(viewOf("r2"));
  assertEquals(model.result.value, null);
});

Deno.test("PhoneModel ignores an answer that is older than the stream's newest view", async () => {
  const { model, load, answers, answerView, say, requests, settle } = setUp();
  await load(viewOf());
  const late = Promise.withResolvers<Response>();
  answers.push(() => late.promise);
  const loading = model.load();
  await settle();
  say(viewOf("r1"));
  late.resolve(await answerView(viewOf())());
  await loading;
  assertEquals(requests(), ["r1"]);
});

Deno.test("PhoneModel.pushed() loads what a late stream does not show, and nothing else", async () => {
  const { model, calls, load, answers, answerView, settle } = setUp();
  await load(viewOf("r1"));
  const before = calls.length;
  model.pushed({ requestId: "r1", asks: true });
  model.pushed({ requestId: "r9", asks: false });
  assertEquals(calls.length, before, "the page shows the same");
  answers.push(answerView(viewOf("r1", "r2")));
  model.pushed({ requestId: "r2", asks: true });
  await settle();
  assertEquals(readyValue(model.view.peek())?.requests.map(({ requestId }) => requestId), ["r1", "r2"]);
  answers.push(answerView(viewOf("r2")));
  model.pushed({ requestId: "r1", asks: false });
  await settle();
  assertEquals(readyValue(model.view.peek())?.requests.map(({ requestId }) => requestId), ["r2"]);
  answers.push(answerView(asking));
  model.pushed({ requestId: "", asks: true });
  await settle();
  assertEquals(readyValue(model.view.peek())?.pairings[0]?.status, "asks_approval");
});

Deno.test("PhoneModel tells the server about the notification of the request that the user decides", async () => {
  const { model, load, answers, bodies, answerView } = setUp();
  await load(viewOf("r1", "r2", "r3"));
  const done = () => Promise.resolve(Response.json({ done: true }));
  model.pushed({ requestId: "r1", asks: true });
  answers.push(answerView(viewOf("r1", "r2", "r3")));
  await model.openRequest("r2");
  for (const id of ["r1", "r2", "r3"]) {
    answers.push(done);
    await model.decide(id, { approve: false, number: null });
  }
  answers.push(done);
  await model.answerCaller("r1", { answer: "not_me" });
  assertEquals(bodies.map((text) => JSON.parse(text).isNotified), [true, true, false, true]);
});

Deno.test("PhoneModel says that the pairing was ended elsewhere, not that the user ended it here", async () => {
  const revoked = setUp();
  await revoked.load(viewOf());
  revoked.streams[0]?.say("view", { nowMs: 0, view: null });
  assertEquals(revoked.model.result.value?.good, false);
  const own = setUp();
  await own.load(viewOf());
  own.answers.push(() => Promise.resolve(Response.json({ done: true })), own.answerView(null));
  await own.model.unpair("p1");
  assertEquals([own.model.view.value, own.model.result.value?.good], [{ kind: "ready", value: null }, true]);
  const stranger = setUp();
  stranger.answers.push(stranger.answerView(null));
  await stranger.model.load();
  assertEquals(stranger.model.result.value, null);
});

Deno.test("PhoneModel asks after Deny whether the sign-in was the user's, and reports it with one call", async () => {
  const { model, load, answers, answerView, calls, settle, clock } = setUp();
  await load(viewOf("r1", "r2"));
  const deny = async (id: string) => {
    answers.push(answerView(null));
    await model.decide(id, { approve: false, number: null });
    await settle();
  };
  await deny("r1");
  assertEquals([model.denied.value, model.result.value?.text], ["r1", "device.did_denied"]);
  await model.reportDenied("r1");
  assertEquals([model.denied.value, model.result.value?.good], ["r1", false], "asked again after a failure");
  answers.push(answerView(null));
  await model.reportDenied("r1");
  assertEquals([model.denied.value, model.result.value?.text], ["", "device.did_reported"]);
  assertEquals(calls.at(-1), "/device/api/requests/r1/not-me");
  await deny("r2");
  model.keepDenied();
  assertEquals([model.denied.value, model.result.value], ["", null]);
  answers.push(answerView(null));
  await model.decide("r3", { approve: true, number: null });
  assertEquals([model.denied.value, model.result.value?.text], ["", "device.did_approved"]);
  clock.advance(60_000);
  assertEquals(model.result.value, null, "a result is not shown for longer than a minute");
});
