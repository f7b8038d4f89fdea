// Finding 23: guesses at an administrator's password were limited for each source only, so many sources had many
// guesses at one account.

import { assertEquals } from "@std/assert";
import { sendRaw } from "../fault_injection/identity_raw.ts";
import { CONSOLE, OWNER, startSecured } from "./console_caller.ts";

Deno.test("after 10 wrong passwords from many sources each further source has one guess, and the owner still signs in", async () => {
  await using site = await startSecured();
  const { httpUrl } = site.gateway;
  const signIn = async (from: string, password: string) => {
    const body = JSON.stringify({ name: OWNER.name, password });
    const head = `POST ${CONSOLE}/session HTTP/1.1\r\nOrigin: ${httpUrl}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return (await sendRaw({ httpUrl, head, body: [new TextEncoder().encode(body)], from, timeoutMs: 60_000 }))
      .status;
  };
  for (let at = 0; at < 10; at += 1) assertEquals(await signIn(`127.0.1.${at}`, `guess ${at}`), 401);
  // From now on each source has one wrong guess.
  assertEquals(await signIn("127.0.2.1", "guess"), 401);
  assertEquals(await signIn("127.0.2.1", "guess"), 429);
  assertEquals(await signIn("127.0.1.3", "guess"), 429);
  assertEquals(await signIn("127.0.2.2", OWNER.password), 200);
  // The owner signed in from 127.0.0.1 before: a typing error there costs no more than it did.
  assertEquals([await signIn("127.0.0.1", "typo"), await signIn("127.0.0.1", "typo")], [401, 401]);
  assertEquals(await signIn("127.0.0.1", OWNER.password), 200);
});
