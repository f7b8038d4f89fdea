// The records of the fake second-factor service have exactly the documented members, so that the client is tested
// against what a real service answers.

import { assertEquals, assertMatch } from "@std/assert";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { openHttpClient } from "../../platform/fetch_with_deadline.ts";
import {
  authorizationHeader,
  createNonce,
  encodeForm,
  type FormParameters,
} from "../../upstream/http/oauth1.ts";
import { startFakeSecondFactor } from "../fakes/second_factor_server.ts";

async function openFake() {
  const fake = await startFakeSecondFactor({ acceptAnyPairing: false });
  const pool = openHttpClient();
  const pairing = fake.pair({ userName: "ada" });
  return {
    fake,
    pairing,
    async call({ method, path, form = [] }: { method: "GET" | "POST"; path: string; form?: FormParameters }) {
      const url = fake.url + path;
      const authorization = authorizationHeader({ method, url, form }, {
        keys: fake,
        timestampSeconds: systemClock.nowMs() / 1000,
        nonce: createNonce(createSystemRandom()),
      });
      const response = await pool.fetch(url, {
        method,
        headers: { "Authorization": authorization, "Content-Type": "application/x-www-form-urlencoded" },
        ...(method === "POST" && { body: encodeForm(form) }),
      });
      assertEquals(response.headers.get("content-type"), "application/json; charset=utf-8");
      return { status: response.status, body: await response.json() };
    },
    async [Symbol.asyncDispose]() {
      pool.close();
      await fake.close();
    },
  };
}

const initiate = (pairingId: string) => ({
  method: "POST",
  path: "/v1/authentication_requests/initiate",
  form: [["pairing_id", pairingId], ["terminal_name", "VPN"]],
} as const);

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

Deno.test("The fake's authentication request record has exactly the documented members, before and after the decision", async () => {
  await using world = await openFake();
  const asked = await world.call(initiate(world.pairing.id));
  assertEquals(asked.status, 200);
  assertShape(asked.body, "request");
  const { granted, pending, terminal, pairing } = asked.body;
  assertEquals([granted, pending, terminal.name, terminal.user.name, pairing.user.name], [
    false,
    true,
    "VPN",
    "ada",
    "ada",
  ]);
  world.fake.decide(asked.body.id, { granted: true });
  const { body } = await world.call({ method: "GET", path: `/v1/authentication_requests/${asked.body.id}` });
  assertShape(body, "request");
  assertEquals([body.granted, body.pending], [true, false]);
});

Deno.test("The fake's pairing record has exactly the documented members", async () => {
  await using world = await openFake();
  const { body } = await world.call({ method: "GET", path: `/v1/pairings/${world.pairing.id}` });
  assertShape(body, "pairing");
});

Deno.test("The fake answers an unknown request with both error members", async () => {
  await using world = await openFake();
  const { status, body } = await world.call({ method: "GET", path: "/v1/authentication_requests/null" });
  assertEquals([status, body.error_code, typeof body.error_message], [404, 404, "string"]);
  assertEquals(Object.keys(body).length, 2);
});
