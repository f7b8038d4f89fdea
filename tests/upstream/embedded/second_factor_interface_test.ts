// The HTTP interface of the embedded service, called as a stranger would: signatures, statuses, records.

import { assertEquals, assertMatch } from "@std/assert";
import { encodeForm, type Parameters } from "../../../upstream/percent_encoding.ts";
import { authorizationHeader, createNonce } from "../../../upstream/oauth1.ts";
import { createEmbeddedSecondFactor } from "../../../upstream/embedded/second_factor.ts";
import type { Store } from "../../../store.ts";
import { clientOf, CONTEXT, openGround, right } from "../worlds.ts";
import { openStage, type Stage } from "./stage.ts";

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly form?: Parameters;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly secret?: string;
}

async function call({ embedded, ground, clock }: Stage, options: Call) {
  const { method = "POST", path, form = [] } = options;
  const { url: base, consumerKey, consumerSecret } = embedded.clientSettings;
  const url = base + path;
  const authorization = authorizationHeader({ method, url, form }, {
    keys: { consumerKey, consumerSecret: options.secret ?? consumerSecret },
    timestampSeconds: clock.nowMs() / 1000,
    nonce: createNonce(ground.random),
  });
  const response = await embedded.handler(
    new Request(url, {
      method,
      headers: {
        "Authorization": authorization,
        ...(method === "POST" && { "Content-Type": "application/x-www-form-urlencoded" }),
        ...options.headers,
      },
      body: method === "POST" ? options.body ?? encodeForm(form) : undefined,
    }),
  );
  assertEquals(response.headers.get("content-type"), "application/json; charset=utf-8");
  return { status: response.status, body: await response.json(), headers: response.headers };
}

const initiate = (pairingId: string): Call => ({
  path: "/v1/authentication_requests/initiate",
  form: [["pairing_id", pairingId], ["terminal_name", "VPN"]],
});

const REFUSED: readonly { name: string; call: (pairingId: string) => Call; status: number }[] = [
  {
    name: "another secret",
    call: (pairingId) => ({ ...initiate(pairingId), secret: "guessed" }),
    status: 401,
  },
  {
    name: "no signature",
    call: (pairingId) => ({ ...initiate(pairingId), headers: { Authorization: "" } }),
    status: 401,
  },
  {
    name: "a form other than the signed one",
    call: (pairingId) => ({ ...initiate(pairingId), body: `pairing_id=${pairingId}&terminal_name=else` }),
    status: 401,
  },
  { name: "an unknown path", call: () => ({ path: "/v1/else" }), status: 404 },
  {
    name: "an unknown method",
    call: () => ({ path: "/v1/authentication_requests/null", method: "DELETE" }),
    status: 404,
  },
  {
    name: "the literal null",
    call: () => ({ path: "/v1/authentication_requests/null", method: "GET" }),
    status: 404,
  },
  { name: "an unknown pairing", call: () => initiate("nobody"), status: 404 },
  {
    name: "no terminal name",
    call: (pairingId) => ({ ...initiate(pairingId), form: [["pairing_id", pairingId]] }),
    status: 400,
  },
  {
    name: "two pairing ids",
    call: (pairingId) => ({
      ...initiate(pairingId),
      form: [["pairing_id", pairingId], ["pairing_id", "x"], ["terminal_name", "VPN"]],
    }),
    status: 400,
  },
  {
    name: "an endless terminal name",
    call: (pairingId) => ({
      ...initiate(pairingId),
      form: [["pairing_id", pairingId], ["terminal_name", "x".repeat(257)]],
    }),
    status: 400,
  },
  {
    name: "a body over 16 KiB",
    call: (pairingId) => ({
      ...initiate(pairingId),
      form: [["pairing_id", pairingId], ["terminal_name", "x".repeat(17_000)]],
    }),
    status: 400,
  },
  {
    name: "JSON",
    call: (pairingId) => ({
      ...initiate(pairingId),
      headers: { "Content-Type": "application/json" },
      body: "{}",
    }),
    status: 400,
  },
];
for (const { name, call: callOf, status } of REFUSED) {
  Deno.test(`The second-factor interface answers ${status} to ${name}, with both error members`, async () => {
    await using stage = await openStage();
    const answer = await call(stage, callOf(stage.pairingId));
    assertEquals([answer.status, answer.body.error_code], [status, status]);
    assertEquals(typeof answer.body.error_message, "string");
    assertEquals(Object.keys(answer.body).length, 2);
  });
}

/** The documented members, with the type of each value; nested objects by name. */
const RECORDS = {
  requester: { id: "uuid", name: "string", created: "time", modified: "time", consumer: "consumer" },
  consumer: { key: "string" },
  user: { id: "uuid", name: "string", created: "time", modified: "time", requester: "requester" },
  terminal: {
    id: "uuid",
    name: "string",
    name_extra: "string",
    created: "time",
    modified: "time",
    user: "user",
  },
  authenticator: { id: "uuid", name: "string", created: "time", modified: "time", consumer: "consumer" },
  action: { id: "uuid", name: "string", created: "time", modified: "time", requester: "requester" },
  pairing: {
    id: "uuid",
    authenticator_type: "string",
    totp_length: "integer",
    created: "time",
    created_seconds_since_epoch: "integer",
    modified: "time",
    deactivated: "boolean",
    enabled: "boolean",
    pending: "boolean",
    handleable: "boolean",
    reason: "string",
    reason_code: "integer",
    minimum_version: "integer",
    authenticator: "authenticator",
    user: "user",
  },
  request: {
    id: "uuid",
    created: "time",
    modified: "time",
    created_seconds_since_epoch: "integer",
    granted: "boolean",
    pending: "boolean",
    cancelled: "boolean",
    automated: "boolean",
    automation_requested: "boolean",
    automation_allowed: "boolean",
    challenge_required: "boolean",
    handleable: "boolean",
    totp_valid: "boolean",
    reason: "string",
    reason_code: "integer",
    minimum_version: "integer",
    terminal: "terminal",
    pairing: "pairing",
    authenticator: "authenticator",
    action: "action",
  },
} as const;

const RECORD_NAMES: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(Object.entries(RECORDS));

function assertShape(record: Record<string, unknown>, name: string): void {
  const shape = RECORD_NAMES.get(name) ?? {};
  assertEquals(Object.keys(record).sort(), Object.keys(shape).sort());
  for (const [member, type] of Object.entries(shape)) assertMember(record[member], type);
}

function assertMember(value: unknown, type: string): void {
  switch (type) {
    case "uuid":
      return assertMatch(String(value), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    case "time":
      return assertMatch(String(value), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    case "integer":
      return assertEquals(Number.isSafeInteger(value), true);
    case "string":
    case "boolean":
      return assertEquals(typeof value, type);
    default:
      return assertShape({ ...Object(value) }, type);
  }
}

Deno.test("An authentication request record has exactly the documented members, before and after the decision", async () => {
  await using stage = await openStage();
  const asked = await call(stage, initiate(stage.pairingId));
  assertEquals(asked.status, 200);
  assertShape(asked.body, "request");
  const { created, created_seconds_since_epoch, terminal, pairing, modified } = asked.body;
  assertEquals([created, created_seconds_since_epoch, terminal.name, terminal.user.name, pairing.user.name], [
    "2027-01-15 08:00:00",
    1_800_000_000,
    "VPN",
    "ada",
    "ada",
  ]);
  assertEquals(modified, created);
  stage.clock.advance(2000);
  right(await stage.embedded.phone.decide(stage.token, asked.body.id, { approve: true, number: null }));
  const path = `/v1/authentication_requests/${asked.body.id}`;
  const { body } = await call(stage, { method: "GET", path });
  assertShape(body, "request");
  assertEquals([body.granted, body.pending, body.modified, body.totp_valid], [
    true,
    false,
    "2027-01-15 08:00:02",
    false,
  ]);
});

Deno.test("A pairing record has exactly the documented members, and things keep their identifiers", async () => {
  await using stage = await openStage();
  const path = `/v1/pairings/${stage.pairingId}`;
  const { body } = await call(stage, { method: "GET", path });
  assertShape(body, "pairing");
  const again = await call(stage, initiate(stage.pairingId));
  assertEquals(again.body.pairing.user.id, body.user.id);
  assertEquals(again.body.authenticator.id, body.authenticator.id);
});

Deno.test("The consumer secret is in no answer of the second-factor interface", async () => {
  await using stage = await openStage();
  const { body } = await call(stage, initiate(stage.pairingId));
  assertEquals(JSON.stringify(body).includes(stage.embedded.clientSettings.consumerSecret), false);
  assertEquals(JSON.stringify(body).includes(stage.token), false);
});

Deno.test("The second-factor interface answers 500 when the store fails, and says inside what it was", async () => {
  const ground = await openGround();
  const bugs: unknown[] = [];
  const broken: Store = { ...ground.store, commit: () => Promise.reject(new Error("disk full")) };
  const embedded = createEmbeddedSecondFactor({
    ...ground,
    store: broken,
    totp: { at: () => "", match: () => null },
    findUserRecord: ground.userRecords.find,
    settings: { requesterName: "Countersign", numberMatching: true, requestTtlMs: 1000 },
    onBug: (fault) => bugs.push(fault),
  });
  await ground.store.commit({
    mutations: [{
      type: "set",
      key: ["embedded", "pairing", "p-1"],
      value: {
        id: "p-1",
        userName: "ada",
        phone: "x",
        state: "enabled",
        sealedSeed: null,
        lastStep: -1,
        createdMs: 0,
        modifiedMs: 0,
      },
    }],
  });
  await embedded.load();
  const asked = await clientOf(embedded, ground).initiate({
    pairingId: "p-1",
    terminalName: "VPN",
    context: CONTEXT,
  });
  assertEquals(!asked.ok && asked.fault.kind === "failed" && asked.fault.status, 500);
  assertEquals(JSON.stringify(asked).includes("disk full"), false);
  assertEquals(bugs.length, 1);
  await embedded.link.cancel("p-1");
  await embedded.close();
  await ground.store.close();
});
