// Attack: typing another user's number until that user receives no texts any more.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { CODES } from "../support/radius_packets.ts";

const NUMBER = "+15005550010";
const PATIENCE = { timeoutMs: 10_000, tries: 1 };

Deno.test("numbers that are refused to a stranger still work for their owner", async () => {
  await using world = await startProgramWithServices({
    pairings: [["bob", { kind: "sms", number: NUMBER }]],
  });
  const { gateway, telephony } = world;
  {
    using attacker = gateway.client();
    const login = { userName: "stranger", nasPort: 10 };
    let reply = await attacker.ask({ ...login, password: "" }, PATIENCE);
    reply = await attacker.ask({ ...login, password: "T", state: reply.state ?? undefined }, PATIENCE);
    for (let tries = 0; tries < 6; tries++) {
      reply = await attacker.ask({ ...login, password: NUMBER, state: reply.state ?? undefined }, PATIENCE);
      assertEquals(new TextDecoder().decode(reply.state ?? undefined), "GET_SMS_PHONE_NUMBER");
    }
  }
  const line = await gateway.logged("not sent: text");
  assertStringIncludes(line, "reason=number_not_allowed");
  assertEquals(telephony.requests.length, 0);
  using client = gateway.client();
  const reply = await client.ask({ userName: "bob", password: "x", nasPort: 1 }, PATIENCE);
  assertEquals(reply.code, CODES.accessChallenge);
  assertEquals(new TextDecoder().decode(reply.state ?? undefined), "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(telephony.requests.map(({ form }) => form.get("To")), [NUMBER]);
});
