// Limits of one person: changes on the account page and on the phone page, account sessions, live streams and downloads.

import { assertEquals, assertMatch } from "@std/assert";
import { Hono } from "hono";
import { Refusal, refusalResponse } from "../../console/api/errors.ts";
import { createDownloadLimit, fileHeaders, streamLines } from "../../console/api/file_export.ts";
import type { HttpEnv } from "../../console/api/hono_env.ts";
import type { AccountFactors } from "../../console/api/account/account_types.ts";
import type { CallOptions } from "../fakes/console_app.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import type { PeopleConsole } from "../fakes/console_people.ts";
import { enteredByLink, pairPhone, PHONE_COOKIE, post, startWithAda, visitor } from "./account_visitor.ts";

const put = (json: unknown): CallOptions => ({ method: "PUT", json });

/** The statuses of calls that are made one after another. */
async function statusesOf(count: number, call: (at: number) => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const response = await call(at);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  return statuses;
}

/** The headers of a viewer's API token of the owner. */
async function tokenHeaders(site: Pick<TestConsole, "call">, cookie: string): Promise<CallOptions> {
  const json = { name: "ci", role: "viewer", days: 1 };
  const made = await site.call("/console/api/tokens", { ...post(json), cookie });
  const { token } = await made.json() as { token: string };
  return { headers: { authorization: `Bearer ${token}` } };
}

const recordsOf = async (site: PeopleConsole, action: string) =>
  (await site.audits()).filter((record) => record.action === action);

/** Changes that one user can repeat without end, with their limit a minute. */
const CHANGES: Readonly<
  Record<string, { path: string; options: (at: number) => CallOptions; limit: number }>
> = {
  "the preferred factor": {
    path: "/me/api/preference",
    options: (at) => put({ factor: at % 2 === 0 ? "device" : "totp" }),
    limit: 60,
  },
  "the name of a phone": {
    path: "/me/api/devices/p1",
    options: (at) => put({ name: `Phone ${at}` }),
    limit: 60,
  },
  "a stay": { path: "/me/api/session/stay", options: () => post({}), limit: 60 },
  "a report": { path: "/me/api/not-me", options: () => post({ conversationId: null }), limit: 20 },
  "the name on the phone page": {
    path: "/device/api/name",
    options: (at) => post({ name: `Phone ${at}` }),
    limit: 60,
  },
};

for (const [what, { path, options, limit }] of Object.entries(CHANGES)) {
  Deno.test(`one user makes at most ${limit} changes a minute: ${what}`, async () => {
    await using site = await startWithAda();
    await pairPhone(site);
    const browser = await enteredByLink(site, "ada");
    const cookie = `${browser.cookie()}; ${PHONE_COOKIE}`;
    const statuses = await statusesOf(limit + 40, (at) => site.call(path, { ...options(at), cookie }));
    const changed = statuses.filter((status) => status === 200).length;
    assertEquals(statuses.slice(-20), Array(20).fill(429));
    assertEquals(changed <= limit && changed >= limit - 1, true, `${changed}`);
    const refused = await site.call(path, { ...options(0), cookie });
    assertMatch(refused.headers.get("retry-after") ?? "", /^[1-9][0-9]?$/);
    await refused.body?.cancel();
    // Reading, and the report of a user whose changes are used up, still work.
    assertEquals(
      (await site.call("/me/api/factors", { cookie }).then((answer) => answer.json())).nowMs > 0,
      true,
    );
    if (limit === 60) await browser.ask("/not-me", post({ conversationId: null }));
  });
}

Deno.test("a change that changes nothing leaves no record, and repeated sign-ins and reports are one record a minute", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const browser = visitor(site, PHONE_COOKIE);
  for (let at = 0; at < 5; at += 1) await browser.ask("/session", post({ phone: true }));
  for (let at = 0; at < 5; at += 1) {
    await browser.ask("/preference", put({ factor: "device" }));
    await browser.ask("/devices/p1", put({ name: "Pixel" }));
    await browser.ask("/not-me", post({ conversationId: null }));
    await (await site.call("/device/api/name", { ...post({ name: "Pixel" }), cookie: PHONE_COOKIE })).body
      ?.cancel();
  }
  const counts = await Promise.all(
    ["user.me_entered", "preference.set", "pairing.rename", "user.not_me"].map(async (action) =>
      (await recordsOf(site, action)).map(({ count = 1 }) => count)
    ),
  );
  assertEquals(counts, [[5], [1], [1], [5]]);
});

Deno.test("a user has at most 20 account sessions, and a further one ends the oldest", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const browsers = Array.from({ length: 24 }, () => visitor(site, PHONE_COOKIE));
  await Promise.all(browsers.map((browser) => browser.send("/session", post({ phone: true }))));
  const last = await enteredByLink(site, "ada");
  const statuses = await Promise.all(browsers.map(async (browser) => {
    const response = await browser.send("/factors");
    await response.body?.cancel();
    return response.status;
  }));
  assertEquals(statuses.filter((status) => status === 200).length, 19);
  assertEquals((await last.ask<AccountFactors>("/factors")).devices.length, 1);
});

Deno.test("a sign-out frees its place, so that one browser does not end the sessions of another", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const other = await enteredByLink(site, "ada");
  const browser = visitor(site, PHONE_COOKIE);
  for (let at = 0; at < 25; at += 1) await browser.ask("/session", post({ phone: true }));
  await other.ask("/factors");
});

Deno.test("This was not me ends all other sessions, and no later one", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const mine = await enteredByLink(site, "ada");
  const others = await Promise.all(Array.from({ length: 18 }, async () => {
    const browser = visitor(site, PHONE_COOKIE);
    await browser.ask("/session", post({ phone: true }));
    return browser;
  }));
  await mine.ask("/not-me", post({ conversationId: null }));
  for (const other of others) assertEquals(await other.refused("/factors"), [401, "me_over"]);
  await mine.ask("/factors");
  const later = visitor(site, PHONE_COOKIE);
  await later.ask("/session", post({ phone: true }));
  await later.ask("/factors");
});

Deno.test("live streams are limited for each administrator over all sessions and tokens, and owners have places of their own", async () => {
  await using site = await startConsole();
  const owner = await site.signIn("owner");
  const authorization = await tokenHeaders(site, owner);
  const open: Response[] = [];
  const stream = async (options: CallOptions): Promise<number> => {
    const response = await site.call("/console/api/live/stream", options);
    open.push(response);
    return response.status;
  };
  const countOf = async (options: () => Promise<CallOptions>, tries: number) => {
    const statuses: number[] = [];
    for (let at = 0; at < tries; at += 1) statuses.push(await stream(await options()));
    return statuses.filter((status) => status === 200).length;
  };
  // Each stream is of a new session.
  assertEquals(await countOf(async () => ({ cookie: await site.signIn("viewer") }), 16), 12);
  for (const role of ["operator", "user_manager", "help_desk"]) {
    assertEquals(await countOf(async () => ({ cookie: await site.signIn(role) }), 14), 12, role);
  }
  // 48 of 64 places are taken; the others are for owners.
  assertEquals(await countOf(() => Promise.resolve(authorization), 2), 0);
  assertEquals(await countOf(() => Promise.resolve({ cookie: owner }), 14), 12);
  for (const response of open) await response.body?.cancel();
});

Deno.test("the streams of an API token count for its creator", async () => {
  await using site = await startConsole();
  const owner = await site.signIn("owner");
  const authorization = await tokenHeaders(site, owner);
  const open: Response[] = [];
  const statuses: number[] = [];
  for (let at = 0; at < 14; at += 1) {
    const caller = at % 2 === 0 ? { cookie: owner } : authorization;
    const response = await site.call("/console/api/live/stream", caller);
    open.push(response);
    statuses.push(response.status);
  }
  assertEquals(statuses, [...Array(12).fill(200), 503, 503]);
  for (const response of open) await response.body?.cancel();
});

Deno.test("one administrator has at most four downloads in progress, and a finished one frees its place", async () => {
  const app = new Hono<HttpEnv>()
    .onError((fault) => fault instanceof Refusal ? refusalResponse(fault) : Promise.reject(fault))
    .use(async (c, next) => {
      c.set("session", { personId: c.req.query("person") ?? "" } as HttpEnv["Variables"]["session"]);
      await next();
    }, createDownloadLimit())
    .get("/", (c) => {
      const lines = streamLines((async function* () {
        for (let at = 0; at < 1000; at += 1) yield await Promise.resolve(`${at}\n`);
      })());
      return c.body(lines, 200, fileHeaders("text/csv", "a.csv"));
    });
  const download = async (person = "ada") => await app.request(`/?person=${person}`);
  const open = [await download(), await download(), await download(), await download()];
  assertEquals(open.map(({ status }) => status), [200, 200, 200, 200]);
  const refused = await download();
  assertEquals([refused.status, (await refused.json()).error.code], [503, "too_many_streams"]);
  const other = await download("bert");
  assertEquals(other.status, 200);
  assertEquals((await open[0]?.text())?.split("\n").length, 1001);
  await open[1]?.body?.cancel();
  const again = [await download(), await download(), await download()];
  assertEquals(again.map(({ status }) => status), [200, 200, 503]);
  for (const { body } of [...open.slice(2), ...again, other]) await body?.cancel();
});
