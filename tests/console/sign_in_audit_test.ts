// Audit records of sign-ins: user, source and method of sign-ins and sign-outs, and grouped refusals.

import { assert, assertEquals } from "@std/assert";
import { createRejectedSignIns, UNKNOWN_NAME } from "../../console/api/auth/sign_in.ts";
import { UNKNOWN_ACTOR } from "../../platform/audit.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";

const SESSION = "/console/api/session";
type AuditRecord = Readonly<Record<string, unknown>>;

async function records(site: Pick<TestConsole, "store">): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const { value } of site.store.list<AuditRecord>(["audit"])) {
    if (value !== null) found.push(value);
  }
  return found;
}

/** The content of the records, without time and random ids. */
const told = async (site: Pick<TestConsole, "store">) =>
  (await records(site)).map(({ actor, action, object, by }) =>
    [actor, action, object, by].filter((part) => part !== undefined).join(" ")
  );

const OWN = "administrator:owner";

async function tryAs(site: TestConsole, { name = "owner", password = "wrong", source = "192.0.2.1" }: {
  name?: string;
  password?: string;
  source?: string;
} = {}): Promise<number> {
  const request = new Request(site.origin + SESSION, {
    method: "POST",
    headers: { origin: site.origin, host: new URL(site.origin).host, "content-type": "application/json" },
    body: JSON.stringify({ name, password }),
  });
  const response = await site.app(request, { remoteAddress: source });
  await response.body?.cancel();
  return response.status;
}

Deno.test("Sessions records the user, method and source of a sign-in, and the sign-out, once", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  for (let round = 0; round < 2; round += 1) {
    await (await site.call(SESSION, { method: "DELETE", cookie })).body?.cancel();
  }
  assertEquals(await told(site), [
    `owner administrator.sign_in ${OWN} password`,
    `owner administrator.sign_out ${OWN}`,
  ]);
  assertEquals((await records(site)).map(({ source }) => source), ["127.0.0.1", "127.0.0.1"]);
});

Deno.test("Sessions records that a sign-in of the same browser replaced a session", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const json = { name: "viewer", password: PASSWORD };
  await (await site.call(SESSION, { method: "POST", json, cookie })).body?.cancel();
  assertEquals((await told(site)).slice(1).toSorted(), [
    `owner session.replace ${OWN}`,
    "viewer administrator.sign_in administrator:viewer password",
  ]);
});

Deno.test("Sessions records an expired session once, with the time of its end", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock, idleMs: 60_000 });
  const cookie = await site.signIn("owner");
  const untilMs = clock.nowMs() + 60_000;
  clock.advance(90_000);
  for (let round = 0; round < 2; round += 1) {
    await (await site.call("/console/api/live", { cookie })).body?.cancel();
  }
  assertEquals((await told(site)).slice(1), [`owner session.run_out ${OWN}`]);
  assertEquals((await records(site)).at(-1)?.deadlineMs, untilMs);
});

Deno.test("createSignIn() records the first owner's sign-in by the one-time link", async () => {
  await using site = await startConsole({ admins: [] });
  const token = new URL(await site.admins.setupLink() ?? "").hash.slice(1);
  const json = { token, name: "grace", password: PASSWORD };
  await (await site.call("/console/api/setup", { method: "POST", json })).body?.cancel();
  assertEquals(await told(site), [
    "grace administrator.create administrator:grace",
    "grace administrator.sign_in administrator:grace link",
  ]);
});

Deno.test("createRejectedSignIns() groups the refusals of a name in one minute, with their number and source", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  for (let at = 1; at <= 7; at += 1) assertEquals(await tryAs(site, { source: `192.0.2.${at}` }), 401);
  const [record, ...more] = await records(site);
  assertEquals(more, []);
  const { actor, action, object, count, because, source, sources } = record ?? {};
  assertEquals([actor, action, object], [UNKNOWN_ACTOR, "administrator.refused", OWN]);
  assertEquals([count, because, source], [7, ["wrong_sign_in"], "192.0.2.1"]);
  assertEquals(sources, [1, 2, 3, 4, 5].map((at) => `192.0.2.${at}`));
  clock.advance(60_000);
  await tryAs(site);
  assertEquals((await records(site)).length, 2);
});

Deno.test("createRejectedSignIns() records no unknown name, because it may be a password", async () => {
  await using site = await startConsole();
  const typed = ["planted-password-1", "planted-password-2", '"><img src=x onerror=alert(1)>'];
  for (const name of typed) await tryAs(site, { name });
  assertEquals(await told(site), [`${UNKNOWN_ACTOR} administrator.refused ${UNKNOWN_NAME}`]);
  assertEquals((await records(site))[0]?.count, 3);
  for await (const { key, value } of site.store.list([])) {
    const kept = JSON.stringify(
      [key, value],
      (_name, part) => typeof part === "bigint" ? String(part) : part,
    );
    for (const name of typed) assertEquals(kept.includes(name), false);
  }
});

Deno.test("createRejectedSignIns() records nothing for an address that is rate limited", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const statuses: number[] = [];
  for (let round = 0; round < 8; round += 1) statuses.push(await tryAs(site));
  assertEquals(statuses.slice(-3), [429, 429, 429]);
  assertEquals((await records(site)).map(({ count }) => count), [5]);
});

Deno.test("createRejectedSignIns() counts many refusals at once, and continues after a failure of the store", async () => {
  await using site = await startConsole();
  const lines: string[] = [];
  const log = createLog({
    format: "text",
    level: "error",
    clock: systemClock,
    write: (octets) => void lines.push(new TextDecoder().decode(octets)),
  });
  let isFailing = true;
  const store = {
    ...site.store,
    commit: (given: Parameters<typeof site.store.commit>[0]) =>
      isFailing ? Promise.reject(new Error("The disk is full")) : site.store.commit(given),
  };
  const refused = createRejectedSignIns({
    ...{ store, log, admins: site.admins },
    ...{ clock: createManualClock(), random: createSystemRandom() },
  });
  const note = () => refused.note({ name: "OWNER", source: "192.0.2.1", because: "wrong_code" });
  await note();
  await log.flush();
  assert(lines.join("").includes("not in the audit"));
  isFailing = false;
  await Promise.all(Array.from({ length: 20 }, note));
  assertEquals((await records(site)).map(({ object, count }) => [object, count]), [[OWN, 21]]);
});

Deno.test("isAdminName() reserves the actor name of refused sign-ins", async () => {
  await using site = await startConsole();
  const json = { name: "nobody", role: "viewer" };
  const cookie = await site.signIn("owner");
  const response = await site.call("/console/api/administrators", { method: "POST", json, cookie });
  assertEquals((await response.json()).error.code, "bad_name");
});
