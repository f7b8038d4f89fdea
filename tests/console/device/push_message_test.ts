// The messages of the push service, as the service worker reads them: foreign input, and what a notification shows.

import { assertEquals } from "@std/assert";
import { NotificationTexts, parsePushMessage } from "../../../console/device/worker/push_message.ts";
import { CATALOGUES } from "../../../console/build/build.ts";
import type { WorkerBuild } from "../../../console/device/worker/worker_scope.ts";

const REQUEST = {
  v: 1,
  kind: "request",
  requestId: "r1",
  userName: "ada",
  requesterName: "Example VPN",
  client: "vpn-1",
  place: "198.51.100.23",
  terminalName: "Company VPN",
  createdMs: 1000,
  deadlineMs: 61_000,
  asksNumber: true,
};
const textsIn = (language: "en" | "de") =>
  new NotificationTexts({
    ...{ version: "1", files: [], icon: "/assets/icon.png", badge: "/assets/badge.png" },
    texts: CATALOGUES as WorkerBuild["texts"],
  }, language);

Deno.test("parsePushMessage() reads each kind of message, and ignores other members", () => {
  const { v: _version, asksNumber: _number, ...request } = REQUEST;
  const rows: readonly (readonly [unknown, unknown])[] = [
    [REQUEST, { ...request, askedBy: "" }],
    [{ ...REQUEST, askedBy: "grace" }, { ...request, askedBy: "grace" }],
    [{ ...REQUEST, askedBy: "hanna" }, { ...request, askedBy: "hanna" }],
    [{ v: 1, kind: "ended", requestId: "r1", how: "expired" }, {
      kind: "ended",
      requestId: "r1",
      isCancelled: false,
    }],
    [{ v: 1, kind: "ended", requestId: "r1", how: "cancelled" }, {
      kind: "ended",
      requestId: "r1",
      isCancelled: true,
    }],
    [{ v: 1, kind: "pairing", pairingId: "p1", userName: "ada" }, { kind: "pairing", userName: "ada" }],
    [{ v: 1, kind: "test" }, { kind: "test" }],
  ];
  for (const [sent, read] of rows) assertEquals(parsePushMessage(JSON.stringify(sent)), read as never);
});

Deno.test("parsePushMessage() returns null for a message that it does not know", () => {
  const unknown = [
    "",
    "no json",
    "null",
    "[]",
    '"request"',
    "{}",
    JSON.stringify({ ...REQUEST, v: 2 }),
    JSON.stringify({ ...REQUEST, kind: "later" }),
    JSON.stringify({ ...REQUEST, requestId: 7 }),
    JSON.stringify({ ...REQUEST, requestId: "" }),
    '{"__proto__":{"v":1,"kind":"test"}}',
    JSON.stringify({ ...REQUEST, place: "x".repeat(5000) }),
  ];
  assertEquals(unknown.map(parsePushMessage), unknown.map(() => null));
});

Deno.test("parsePushMessage() limits texts, and replaces values of another type", () => {
  const read = parsePushMessage(
    JSON.stringify({ ...REQUEST, userName: "u".repeat(400), place: { a: 1 }, deadlineMs: "soon" }),
  );
  assertEquals(read?.kind === "request" && [read.userName.length, read.place, read.deadlineMs], [256, "", 0]);
});

Deno.test("a notification of a request shows user, application and place, offers Deny, and has no number", () => {
  const message = parsePushMessage(JSON.stringify(REQUEST));
  if (message?.kind !== "request") throw new Error("not a request");
  const { title, options } = textsIn("en").request(message);
  assertEquals(title, "Is this you signing in?");
  assertEquals(options, {
    body: "ada · Company VPN\nvpn-1 · 198.51.100.23",
    tag: "request:r1",
    data: { requestId: "r1", deadlineMs: 61_000 },
    timestamp: 1000,
    renotify: true,
    requireInteraction: true,
    vibrate: [200, 100, 200],
    actions: [{ action: "deny", title: "Deny" }],
    icon: "/assets/icon.png",
    badge: "/assets/badge.png",
    lang: "en",
  });
  const german = textsIn("de").request({ ...message, terminalName: "", client: "", place: "" });
  assertEquals([german.title, german.options.body], ["Melden Sie sich gerade an?", "ada · Example VPN"]);
  assertEquals(german.options.actions, [{ action: "deny", title: "Ablehnen" }]);
});

Deno.test("a notification of the help desk names who asks, not a sign-in", () => {
  const message = parsePushMessage(JSON.stringify({ ...REQUEST, askedBy: "grace" }));
  if (message?.kind !== "request") throw new Error("not a request");
  const { title, options } = textsIn("en").request(message);
  assertEquals([title === "Is this you signing in?", options.body?.includes("grace")], [false, true]);
});

Deno.test("each other notification has a text in both languages", () => {
  for (const language of ["en", "de"] as const) {
    const texts = textsIn(language);
    const shown = [
      texts.ended("r1", 1),
      texts.notDenied({ requestId: "r1", deadlineMs: 1 }),
      texts.pairing("ada"),
      texts.test(),
      texts.unknown(),
    ];
    for (const { title, options } of shown) {
      assertEquals(/device\.|\{/.test(`${title}${options.body ?? ""}`), false, title);
    }
  }
});

Deno.test("NotificationTexts.request() says that a question of the help desk is no sign-in", () => {
  const read = parsePushMessage(JSON.stringify({ ...REQUEST, askedBy: "hanna" }));
  if (read?.kind !== "request") throw new Error("It is a request");
  const { title, options } = textsIn("en").request(read);
  assertEquals([title, options.body], [
    "Are you on the phone with the help desk?",
    "hanna of the help desk asks. This is not a sign-in.",
  ]);
  assertEquals(options.actions?.map(({ action }) => action), ["deny"]);
});
