// The embedded outbox: what it takes, what it refuses, how long it keeps it, and that it keeps it sealed.

import { assertEquals, assertMatch } from "@std/assert";
import { createOutbox } from "../../../upstream/embedded/outbox.ts";
import { encodeForm, type Parameters } from "../../../upstream/percent_encoding.ts";
import { createManualClock } from "../manual_clock.ts";
import { clientOfOutbox, openGround, right } from "../worlds.ts";

const NUMBER = "+15551234567";

async function openOutbox() {
  const clock = createManualClock();
  const ground = await openGround(clock);
  const outbox = createOutbox(ground);
  await outbox.load();
  return {
    clock,
    ground,
    outbox,
    client: clientOfOutbox(outbox, ground),
    [Symbol.asyncDispose]: () => ground.store.close(),
  };
}

Deno.test("OutboxDesk lists newest first without bodies, and reveals on demand", async () => {
  await using world = await openOutbox();
  const { desk } = world.outbox;
  const text = right(
    await world.client.text({ to: NUMBER, body: "Your passcode is 402913.", validitySeconds: 60 }),
  );
  world.clock.advance(1000);
  const call = right(await world.client.call({ to: NUMBER, intro: "For ada & VPN 7.", digits: "0471" }));
  const nowMs = world.clock.nowMs();
  assertEquals(desk.items(), [
    { id: call.id, kind: "call", to: NUMBER, createdMs: nowMs, deadlineMs: nowMs + 300_000 },
    { id: text.id, kind: "text", to: NUMBER, createdMs: nowMs - 1000, deadlineMs: nowMs - 1000 + 60_000 },
  ]);
  assertEquals(await desk.reveal(text.id), "Your passcode is 402913.");
  assertEquals(await desk.reveal(call.id), "0471");
});

Deno.test("OutboxDesk shows nothing any more when the passcode is over", async () => {
  await using world = await openOutbox();
  const { desk } = world.outbox;
  const { id } = right(await world.client.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  world.clock.advance(60_000);
  assertEquals([desk.items(), await desk.reveal(id)], [[], null]);
});

Deno.test("OutboxDesk.reveal() knows no other identifiers", async () => {
  await using world = await openOutbox();
  const { id } = right(await world.client.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  for (const other of ["", "SM", `CA${id.slice(2)}`, id.slice(2), "__proto__"]) {
    assertEquals(await world.outbox.desk.reveal(other), null);
  }
});

Deno.test("The outbox keeps 200 messages; the oldest make room, also when many come at once", async () => {
  await using world = await openOutbox();
  const send = (at: number) => world.client.text({ to: NUMBER, body: `Message ${at}`, validitySeconds: 600 });
  await Promise.all(Array.from({ length: 150 }, (_, at) => send(at)));
  world.clock.advance(1);
  await Promise.all(Array.from({ length: 60 }, (_, at) => send(150 + at)));
  const { desk } = world.outbox;
  assertEquals(desk.items().length, 200);
  const newest = await Promise.all(desk.items().slice(0, 60).map(({ id }) => desk.reveal(id)));
  assertEquals(newest.every((text) => Number(text?.split(" ")[1]) >= 150), true);
});

Deno.test("OutboxDesk.onChange() tells of each message, and not after the stop", async () => {
  await using world = await openOutbox();
  let changes = 0;
  const stop = world.outbox.desk.onChange(() => changes++);
  right(await world.client.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  stop();
  right(await world.client.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  assertEquals(changes, 1);
});

Deno.test("The outbox survives a restart, and holds no passcode in clear", async () => {
  await using world = await openOutbox();
  const { id } = right(await world.client.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  const again = createOutbox(world.ground);
  await again.load();
  assertEquals(await again.desk.reveal(id), "402913");
  let kept = "";
  for await (const { value } of world.ground.store.list<Record<string, unknown>>(["embedded", "outbox"])) {
    for (const part of Object.values(value ?? {})) {
      kept += part instanceof Uint8Array ? new TextDecoder().decode(part) : String(part);
    }
  }
  assertEquals([kept.includes(NUMBER), kept.includes("402913")], [true, false]);
});

interface Refused {
  readonly name: string;
  readonly resource: string;
  readonly form: Parameters;
  readonly authorization?: string;
  readonly status: number;
  readonly code: number;
}

const CALL: Parameters = [["From", "+15550000000"], ["Twiml", "<Response/>"]];
const TEXT: Parameters = [["From", "+15550000000"], ["Body", "402913"]];

const REFUSED: readonly Refused[] = [
  {
    name: "a call to an invalid number",
    resource: "Calls",
    form: [...CALL, ["To", "555"]],
    status: 400,
    code: 13223,
  },
  { name: "a call without To", resource: "Calls", form: CALL, status: 400, code: 21201 },
  {
    name: "a call without From",
    resource: "Calls",
    form: [["To", NUMBER], ["Twiml", "<Response/>"]],
    status: 400,
    code: 21213,
  },
  {
    name: "a call without markup",
    resource: "Calls",
    form: [["To", NUMBER], ["From", NUMBER]],
    status: 400,
    code: 21205,
  },
  {
    name: "a call whose Url is none",
    resource: "Calls",
    form: [["To", NUMBER], ["From", NUMBER], ["Url", "nowhere"]],
    status: 400,
    code: 21205,
  },
  {
    name: "a text to an invalid number",
    resource: "Messages",
    form: [...TEXT, ["To", "+0123"]],
    status: 400,
    code: 21211,
  },
  { name: "a text without To", resource: "Messages", form: TEXT, status: 400, code: 21604 },
  {
    name: "a text without a body",
    resource: "Messages",
    form: [["To", NUMBER], ["From", NUMBER]],
    status: 400,
    code: 21602,
  },
  {
    name: "a text of 1,601 characters",
    resource: "Messages",
    form: [["To", NUMBER], ["From", NUMBER], ["Body", "x".repeat(1601)]],
    status: 400,
    code: 21617,
  },
  {
    name: "wrong credentials",
    resource: "Calls",
    form: [],
    authorization: "Basic eDp5",
    status: 401,
    code: 20003,
  },
  { name: "an unknown resource", resource: "Faxes", form: [], status: 404, code: 20404 },
];
for (const { name, resource, form, authorization, status, code } of REFUSED) {
  Deno.test(`The outbox refuses ${name} with ${code} in the documented error body`, async () => {
    await using world = await openOutbox();
    const { url, accountId, authToken } = world.outbox.clientSettings;
    const response = await world.outbox.handler(
      new Request(`${url}/2010-04-01/Accounts/${accountId}/${resource}.json`, {
        method: "POST",
        headers: {
          "Authorization": authorization ?? `Basic ${btoa(`${accountId}:${authToken}`)}`,
          "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
        },
        body: encodeForm(form),
      }),
    );
    const body = await response.json();
    assertEquals([response.status, body.status, body.code], [status, status, code]);
    assertEquals(Object.keys(body).sort(), ["code", "message", "more_info", "status"]);
    assertMatch(body.more_info, /^https:\/\//);
    assertEquals(world.outbox.desk.items(), []);
  });
}
