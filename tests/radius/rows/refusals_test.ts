// Valid packets that cannot be handled: each gets a Reject, a counter and a log line with the reason.

import { assert, assertEquals } from "@std/assert";
import type { Attribute, RequestParts } from "../../support/radius_packets.ts";
import { SECRET, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { becomes } from "./passing_time.ts";
import { openRecorder } from "./recorder.ts";
import { giveDevice } from "./people.ts";

/** The number of log lines of one reason before they are folded, and of requests in a flood. */
const [FOLDED_FROM, FLOOD] = [1000, 1200];
const octets = (text: string) => new TextEncoder().encode(text);
const attribute = (type: number, value: Uint8Array): Attribute => ({ type, value });
const [USER_PASSWORD, CHAP_PASSWORD, STATE, VENDOR, CHAP_CHALLENGE, EAP] = [2, 3, 24, 26, 60, 79];
const chap = attribute(CHAP_PASSWORD, new Uint8Array(17).fill(7));

/** The fault, its counter, and the message for the user. */
const REFUSED: readonly [title: string, parts: RequestParts, counter: string, message: string][] = [
  ["no User-Name", { userName: undefined }, "no_user_name", "Access denied."],
  ["an empty User-Name", { userName: "" }, "no_user_name", "Access denied."],
  ...["anna ", " anna", "an\u200bna", "anna\0", "\ufeffanna"].map((
    userName,
  ): [string, RequestParts, string, string] => [
    `the User-Name ${JSON.stringify(userName)}`,
    { userName },
    "refused_user_name",
    "Access denied.",
  ]),
  [
    "two States",
    { more: [attribute(STATE, octets("CHOOSE_WHICH_MULTIFACTOR")), attribute(STATE, octets("x"))] },
    "two_states",
    "Access denied.",
  ],
  [
    "two User-Passwords",
    { more: [attribute(USER_PASSWORD, new Uint8Array(16))] },
    "two_passwords",
    "Access denied.",
  ],
  ["a User-Password and a CHAP-Password", { more: [chap] }, "two_passwords", "Access denied."],
  [
    "CHAP",
    { password: undefined, more: [chap, attribute(CHAP_CHALLENGE, new Uint8Array(16))] },
    "chap",
    "This way of signing in is not supported here.",
  ],
  ...[1, 25].map((kind): [string, RequestParts, string, string] => [
    `an MS-CHAP response of kind ${kind}`,
    {
      password: undefined,
      more: [attribute(VENDOR, Uint8Array.of(0, 0, 1, 55, kind, 52, ...new Uint8Array(50)))],
    },
    "chap",
    "This way of signing in is not supported here.",
  ]),
  ...[1, 15, 17, 129, 144].map((length): [string, RequestParts, string, string] => [
    `a User-Password of ${length} octets`,
    { password: undefined, more: [attribute(USER_PASSWORD, new Uint8Array(length))] },
    "bad_password_length",
    "Access denied.",
  ]),
  [
    "a State that was never issued here",
    { state: octets("SOMETHING_ELSE") },
    "unknown_state",
    "This login is not known here. Start a new one.",
  ],
];

for (const [title, parts, counter, message] of REFUSED) {
  Deno.test(`refusal: ${title} is a Reject, and no service is called`, async () => {
    await using world = await startInProcess();
    await giveDevice(world, "anna");
    const login = world.login({ user: "anna" });
    const reply = await login.exchange(login.buildStart("pw", parts));
    assertEquals(brief(reply), ["reject", message]);
    assertEquals(world.radius.monitor.counters()[`refused_${counter}`], 1);
    assertEquals(world.secondFactor.requests.length, 0);
    assertEquals(world.radius.monitor.alive(), 0);
    const lines = await world.logLines();
    assert(lines.some((line) => line.includes("request refused") && line.includes(`reason=${counter}`)));
  });
}

Deno.test("refusal: a flood of refused requests is counted in one log line", async () => {
  await using world = await startInProcess({ toml: '[server]\nlog_level = "warn"' });
  const more = [attribute(STATE, octets("CHOOSE_WHICH_MULTIFACTOR")), attribute(STATE, octets("x"))];
  const refused = () => world.radius.monitor.counters().refused_two_states ?? 0;
  for (let sent = 0; sent < FLOOD;) {
    for (const end = sent + 50; sent < end; sent++) {
      await world.client.sendRaw(world.client.build({ userName: "anna", password: "pw", more }).bytes);
    }
    await becomes(`${sent} are refused`, () => refused() === sent);
  }
  world.clock.advance(1000);
  const lines = (await world.logLines()).filter((line) => line.includes("reason=two_states"));
  const counts = lines.map((line) => Number(/ folded=(\d+)/.exec(line)?.[1] ?? 1));
  assertEquals(counts.reduce((sum, count) => sum + count, 0), FLOOD);
  assertEquals(counts.filter((count) => count > 1), [FLOOD - FOLDED_FROM]);
});

Deno.test("refusal: EAP is rejected in one round trip, with EAP-Failure for the identifier of its message", async () => {
  await using world = await startInProcess();
  const identity = new Uint8Array([2, 77, 0, 9, 1, 97, 110, 110, 97]);
  const login = world.login({ user: "anna" });
  const packet = login.buildStart("", { password: undefined, more: [attribute(EAP, identity)] });
  const reply = await login.exchange(packet);
  assertEquals(reply.kind, "reject");
  assertEquals(reply.attributes.filter(({ type }) => type === EAP).map(({ value }) => [...value]), [
    [4, 77, 0, 4],
  ]);
});

Deno.test("refusal: passwords of EAP and CHAP are not in the log", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna" });
  await login.exchange(login.buildStart("", { password: undefined, more: [chap] }));
  const lines = (await world.logLines()).join("\n");
  assertEquals(lines.includes("07070707"), false);
});

Deno.test("a User-Password without octets is an empty password: a login reaches the menu, an answer continues", async () => {
  await using world = await startInProcess();
  const empty = { password: undefined, more: [attribute(USER_PASSWORD, new Uint8Array(0))] };
  const login = world.login({ user: "nobody-known" });
  assertEquals((await login.exchange(login.buildStart("", empty))).step, "CHOOSE_WHICH_MULTIFACTOR");
});

for (const length of [16, 32, 128]) {
  Deno.test(`refusal: a User-Password of ${length} octets is accepted`, async () => {
    await using world = await startInProcess();
    const reply = await world.login({ user: "anna" }).start("p".repeat(length));
    assertEquals(reply.kind, "challenge");
  });
}

/** Attributes that the decision does not need, with invalid sizes. */
for (
  const [title, more] of [
    ["a NAS-IP-Address of 3 octets", [attribute(4, new Uint8Array(3))]],
    ["a NAS-Port-Type of 2 octets", [attribute(61, new Uint8Array(2))]],
    ["a Framed-IP-Address of 0 octets", [attribute(8, new Uint8Array(0))]],
    ["a Vendor-Specific of 2 octets", [attribute(26, new Uint8Array(2))]],
    ["a Vendor-Specific whose inside runs over", [
      attribute(26, new Uint8Array([0, 0, 0, 9, 1, 200, 1])),
    ]],
    [
      "three Vendor-Specifics",
      [1, 2, 3].map((one) => attribute(26, new Uint8Array([0, 0, 0, 9, one, 3, 1]))),
    ],
    ["an attribute of a type that has no name", [attribute(253, octets("?"))]],
  ] as const
) {
  Deno.test(`refusal: ${title} is ignored, and the request is handled`, async () => {
    await using world = await startInProcess();
    const reply = await world.login({ user: "anna" }).start("", { more });
    assertEquals(reply.step, "CHOOSE_WHICH_MULTIFACTOR");
  });
}

Deno.test("refusal: a Reject is sent at least a second after its request, whatever the reason", async () => {
  await using world = await startInProcess();
  const replies = await Promise.all(
    REFUSED.map(([, parts]) => {
      const login = world.login({ user: "anna" });
      return login.exchange(login.buildStart("pw", parts));
    }),
  );
  for (const { tookMs } of replies) assert(tookMs >= 1000 && tookMs < 1400, `${tookMs} ms`);
});

Deno.test("refusal: a request with an EAP-Message and no Message-Authenticator gets no answer", async () => {
  await using world = await startInProcess();
  using recorder = openRecorder(world, SECRET);
  const login = world.login({ user: "anna" });
  await recorder.send(login.buildStart("", {
    messageAuthenticator: "none",
    more: [attribute(EAP, new Uint8Array([2, 1, 0, 4]))],
  }));
  assertEquals(await recorder.replies(), []);
  assertEquals(world.radius.monitor.counters()["dropped_unsigned_eap"], 1);
});

Deno.test("refusal: CHAP is logged as a warning once per client, and counted each time", async () => {
  await using world = await startInProcess();
  for (let count = 0; count < 3; count++) {
    const login = world.login({ user: "anna" });
    await login.exchange(login.buildStart("", { password: undefined, more: [chap] }));
  }
  const warned = (await world.logLines()).filter((line) => line.includes("set the client to PAP"));
  assertEquals(warned.length, 1);
  assertEquals(world.radius.monitor.counters()["refused_chap"], 3);
});
