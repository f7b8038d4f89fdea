// The key pair and the subscriptions of push messages survive a restart, and a backup that is restored.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { startPushService } from "../fakes/push_service.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";

const REDIRECT = new URL("../fakes/redirect_push.ts", import.meta.url).pathname;
const DELIVERED = { delivered: true, problem: null };

async function send(
  { httpUrl }: RunningProgram,
  path: string,
  { json, cookie = "" }: { json?: unknown; cookie?: string },
): Promise<{ body: Record<string, unknown>; cookie: string }> {
  const post = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
  const headers = { origin: httpUrl, cookie, "content-type": "application/json" };
  const response = await fetch(`${httpUrl}/device/api${path}`, { ...post, headers });
  const given = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return { body: await response.json(), cookie: given };
}

Deno.test("a phone receives messages after a restart, and after the restore of a backup", async () => {
  await using service = startPushService();
  const env = { TEST_PUSH_SERVICE: service.address };
  await using program = await startProgram({ preload: REDIRECT, env });
  const { stdout } = await program.pair("ada", "--invite");
  const invitation = /#invite=(\S+)/.exec(stdout)?.[1] ?? "";
  const { cookie } = await send(program, "/invitation/accept", { json: { invitation, name: "" } });
  const { body: before } = await send(program, "/push", { cookie });
  const subscription = service.subscribe({ serverKey: String(before.publicKey) });
  assertEquals((await send(program, "/push", { cookie, json: subscription })).body, { done: true });
  const test = async () => (await send(program, "/push/test", { cookie, json: {} })).body;
  assertEquals(await test(), DELIVERED);

  await program.restart();
  assertEquals((await send(program, "/push", { cookie })).body, { ...before, subscribed: true });
  assertEquals(await test(), DELIVERED);

  const file = `${program.dataDir}/push.backup`;
  const done = await program.command("cli/backup.ts", file);
  assertEquals([done.code, done.stderr], [0, ""]);
  await program.stop();
  await Deno.remove(`${program.dataDir}/countersign.kv`);
  assertStringIncludes((await program.command("cli/restore.ts", file, "--force")).stdout, "Restored");
  await program.restart();
  assertEquals((await send(program, "/push", { cookie })).body, { ...before, subscribed: true });
  assertEquals(await test(), DELIVERED);
  assertEquals(service.refused, []);
});
