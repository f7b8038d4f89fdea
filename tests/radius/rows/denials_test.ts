// A rejected push: the history and the audit log have the actor who denied it, or the reason for its end.

import { assertEquals } from "@std/assert";
import { decodeLoginRecord, type LoginRecord } from "../../../radius/conversation/login_record.ts";
import { explainLogin } from "../../../console/api/conversations/explain_login.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { decide, giveDevice, otherThan } from "./people.ts";
import { becomes, jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";

/** Every login in the history. */
async function finishedLogins({ store }: InProcess): Promise<LoginRecord[]> {
  const finished: LoginRecord[] = [];
  for await (const { value } of store.list<unknown>(["history"])) {
    const login = decodeLoginRecord(value);
    if (login !== null) finished.push(login);
  }
  return finished;
}

/** The same, when there is at least one: an expiry is recorded after the deadline. */
async function oneFinished(world: InProcess): Promise<LoginRecord[]> {
  await becomes("a login ends", async () => (await finishedLogins(world)).length > 0);
  return await finishedLogins(world);
}

function reasonOf(login: LoginRecord) {
  return explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial })?.code;
}

/** The end of the only rejected login: its reason, its actor, and the entry in the audit log. */
async function ending(world: InProcess) {
  const finished = (await finishedLogins(world)).filter(({ outcome }) => outcome === "rejected");
  const audited: Record<string, unknown>[] = [];
  for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
    if (value?.action === "login.rejected") audited.push(value);
  }
  assertEquals([finished.length, audited.length], [1, 1]);
  const [login] = finished;
  if (login === undefined) throw new Error("No login ended");
  const explanation = explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial });
  return {
    reason: explanation?.code,
    by: explanation?.values.by,
    audited: [audited[0]?.because, audited[0]?.by],
  };
}

async function waitingRequest(world: InProcess): Promise<string> {
  const waiting = world.services.embedded?.admin.pendingApprovals() ?? [];
  assertEquals(waiting.length, 1);
  return await Promise.resolve(waiting[0]?.requestId ?? "");
}

Deno.test("denials: the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  await phone.deny();
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals(await ending(world), {
    reason: "denied_on_phone",
    by: undefined,
    audited: ["phone", undefined],
  });
});

Deno.test("denials: an administrator, by name, also while the client waits", async () => {
  for (const device of ["challenge", "hold"]) {
    await using world = await startInProcess({
      embedded: true,
      toml:
        `[[radius.client]]\nname = "vpn"\naddress = ["127.0.0.1"]\nsecret = "of-vpn"\ndevice = "${device}"`,
    });
    await pairPhone(world, "anna");
    const login = world.login({ user: "anna" });
    const secondFactorAdmin = world.services.embedded?.admin;
    const deny = async () => await secondFactorAdmin?.deny(await waitingRequest(world), { by: "root-owner" });
    if (device === "hold") {
      world.clock.after(2000, () => void deny());
      assertEquals((await login.start()).kind, "reject");
    } else {
      await login.start();
      await deny();
      assertEquals((await login.answer("")).kind, "reject");
    }
    assertEquals(await ending(world), {
      reason: "denied_by_administrator",
      by: "root-owner",
      audited: ["administrator", "root-owner"],
    }, device);
  }
});

Deno.test("denials: cancelled by an administrator", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  await world.services.embedded?.admin.cancel(await waitingRequest(world), { by: "root-owner" });
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals((await ending(world)).reason, "cancelled_by_administrator");
});

Deno.test("denials: a wrong number on the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const { message } = await login.start();
  await phone.approve(otherThan(/number (\d\d)/.exec(message)?.[1] ?? ""));
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals((await ending(world)).reason, "wrong_number");
});

Deno.test("denials: a passcode for a request that an administrator denied", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start("");
  await login.answer("D");
  await world.services.embedded?.admin.deny(await waitingRequest(world), { by: "root-owner" });
  assertEquals((await login.answer(await phone.passcode())).kind, "reject");
  assertEquals((await ending(world)).reason, "denied_by_administrator");
});

Deno.test("denials: a login that expires shows whether its push expired, or was denied before", async () => {
  for (const isDenied of [false, true]) {
    await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
    await pairPhone(world, "anna");
    await world.login({ user: "anna" }).start();
    if (isDenied) {
      await world.services.embedded?.admin.deny(await waitingRequest(world), { by: "root-owner" });
    }
    await jump(world.clock, 61_000);
    const [reason] = (await oneFinished(world)).map(reasonOf);
    assertEquals(reason, isDenied ? "denied_by_administrator" : "push_expired");
  }
});

Deno.test("denials: an approved login that did not continue did not expire on the phone", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: "[radius]\nconversation_ttl_s = 60\n[factors.device]\nnumber_matching = false",
  });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  await phone.approve(null);
  await jump(world.clock, 61_000);
  assertEquals((await oneFinished(world)).map(reasonOf), ["expired"]);
});

Deno.test("denials: an external service reports that the request is over, and not who ended it", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  decide(world, pairing, false);
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals(await ending(world), {
    reason: "denied_at_service",
    by: undefined,
    audited: ["service", undefined],
  });
});
