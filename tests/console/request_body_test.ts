// Request bodies: limits of size, time and total memory, before and after authentication.

import { assertEquals, assertRejects } from "@std/assert";
import { Refusal } from "../../console/api/errors.ts";
import {
  createRequestBodies,
  MAX_ANONYMOUS_BODY_OCTETS,
  MAX_BODY_OCTETS,
  type RequestBodyDeps,
} from "../../console/request_gate.ts";
import { createRequestLimit } from "../../platform/http/request_limit.ts";
import { createManualClock } from "../fakes/console_app.ts";

type Body = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

const post = (body: Body, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", { method: "POST", headers, body });
const bodiesWith = (deps: Partial<RequestBodyDeps> = {}) =>
  createRequestBodies({ clock: createManualClock(), ...deps });
const codeOf = async (read: Promise<unknown>) => (await assertRejects(() => read, Refusal)).code;
/** A body that never ends. */
const stuck = () => new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(new Uint8Array(3)) });
const nextTask = () => new Promise((resolve) => setTimeout(resolve, 0));

for (
  const [who, isAuthenticated, maxOctets] of [
    ["an unauthenticated sender", false, MAX_ANONYMOUS_BODY_OCTETS],
    ["an authenticated sender", true, MAX_BODY_OCTETS],
  ] as const
) {
  Deno.test(`createRequestBodies() reads exactly the limit of ${who} and refuses one octet more`, async () => {
    const open = (octets: number) => {
      const body = bodiesWith().open(post(new Blob([new Uint8Array(octets)]).stream()), "192.0.2.1");
      if (isAuthenticated) body.allowLarge();
      return body;
    };
    assertEquals((await open(maxOctets).read()).length, maxOctets);
    assertEquals(await codeOf(open(maxOctets + 1).read()), "body_too_large");
  });
}

Deno.test("createRequestBodies() returns an empty body for a request without one", async () => {
  const body = bodiesWith().open(new Request("http://localhost/"), "192.0.2.1");
  assertEquals(await body.read(), new Uint8Array());
});

Deno.test("createRequestBodies() reads a body once, however often it is requested", async () => {
  const body = bodiesWith().open(post(new Uint8Array(3)), "192.0.2.1");
  assertEquals(await body.read(), new Uint8Array(3));
  assertEquals(await body.read(), new Uint8Array(3));
});

Deno.test("createRequestBodies() refuses a declared length that is too large without reading", async () => {
  let isRead = false;
  const stream = new ReadableStream<Uint8Array>({ pull: () => void (isRead = true) }, { highWaterMark: 0 });
  const request = post(stream, { "content-length": String(MAX_ANONYMOUS_BODY_OCTETS + 1) });
  assertEquals(await codeOf(bodiesWith().open(request, "192.0.2.1").read()), "body_too_large");
  assertEquals(isRead, false);
});

Deno.test("createRequestBodies() waits 3 s for a body, and 10 s once the sender is authenticated", async () => {
  for (const [isAuthenticated, deadlineMs] of [[false, 3000], [true, 10_000]] as const) {
    const clock = createManualClock();
    const body = bodiesWith({ clock }).open(post(stuck()), "192.0.2.1");
    if (isAuthenticated) body.allowLarge();
    let ended = false;
    const refused = codeOf(body.read()).finally(() => ended = true);
    await nextTask();
    clock.advance(deadlineMs - 1);
    await nextTask();
    assertEquals(ended, false);
    clock.advance(1);
    assertEquals(await refused, "body_too_slow");
  }
});

Deno.test("createRequestBodies() refuses a body that breaks off", async () => {
  const broken = new ReadableStream<Uint8Array>({ pull: (to) => to.error(new Error("reset")) });
  assertEquals(await codeOf(bodiesWith().open(post(broken), "192.0.2.1").read()), "body_broken");
});

Deno.test("createRequestBodies() limits the total memory of all bodies, and frees it", async () => {
  const bodies = bodiesWith({ maxBufferedOctets: 100 });
  const send = () => bodies.open(post(new Uint8Array(60)), "192.0.2.1");
  const first = send();
  await first.read();
  assertEquals(await codeOf(send().read()), "overloaded");
  first.release();
  assertEquals((await send().read()).length, 60);
});

Deno.test("createRequestBodies() limits the pending unauthenticated bodies of each source", async () => {
  const clock = createManualClock();
  const bodyWaits = createRequestLimit({ maxRequests: 10, maxPerSource: 1, isProxy: () => false });
  const bodies = bodiesWith({ clock, bodyWaits });
  const waiting = codeOf(bodies.open(post(stuck()), "192.0.2.1").read());
  const another = bodies.open(post(new Uint8Array(1)), "192.0.2.1");
  const fault = await assertRejects(() => another.read(), Refusal);
  assertEquals([fault.code, fault.headers["connection"]], ["overloaded", "close"]);
  assertEquals((await bodies.open(post(new Uint8Array(1)), "192.0.2.2").read()).length, 1);
  const authenticated = bodies.open(post(new Uint8Array(1)), "192.0.2.1");
  authenticated.allowLarge();
  assertEquals((await authenticated.read()).length, 1);
  clock.advance(3000);
  assertEquals(await waiting, "body_too_slow");
  assertEquals((await bodies.open(post(new Uint8Array(1)), "192.0.2.1").read()).length, 1);
});
