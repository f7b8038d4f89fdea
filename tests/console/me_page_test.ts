// Models of the account page: the token of a link, the session's end and renewal, and messages for server errors.

import { DENIAL_CAUSES } from "../../radius/conversation/login_record.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ROW_REASONS } from "../../console/api/conversations/explain_login.ts";
import type { AccountInfo, AccountSessionAnswer } from "../../console/api/account/account_types.ts";
import { CATALOGUES } from "../../console/build/build.ts";
import { LANGUAGES } from "../../console/web/i18n/catalogue.ts";
import {
  type AccountCalls,
  AccountSessionModel,
  createAccount,
  parseLinkToken,
} from "../../console/account/account_models.ts";
import { ApiFailure } from "../../console/web/app/api_client.ts";
import { createClockModel } from "../../console/web/app/clock_model.ts";
import { createToasts } from "../../console/web/app/toasts.tsx";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { PAGE_POLICY } from "../../console/request_gate.ts";
import { startConsole } from "../fakes/console_app.ts";

const TOKEN = "Zm9vYmFyYmF6cXV4Zm9vYg";
const ADA: AccountInfo = { userName: "ada", displayName: null, via: "link", endsMs: 2_000_000 };
const GRACE: AccountInfo = { ...ADA, userName: "grace" };
const OUTSIDE: AccountSessionAnswer = { available: true, nowMs: 1_000_000, me: null, phoneUsers: [] };
const inside = (me: AccountInfo): AccountSessionAnswer => ({ ...OUTSIDE, me });
const over = () => Promise.reject(new ApiFailure("me_over"));

/** A session whose answers the test sets. */
function setUp(first: AccountSessionAnswer = OUTSIDE) {
  let answer: () => Promise<AccountSessionAnswer> = () => Promise.resolve(first);
  const call = () => answer();
  const calls = { session: call, stay: call, openLink: call, openPhone: call, signOut: call };
  const times: number[] = [];
  const session = new AccountSessionModel(calls, { onServerTime: (nowMs) => void times.push(nowMs) });
  return {
    session,
    times,
    answers: (next: AccountSessionAnswer) => answer = () => Promise.resolve(next),
    delays: (next: Promise<AccountSessionAnswer>) => answer = () => next,
    fails: (code: string) => answer = () => Promise.reject(new ApiFailure(code)),
  };
}

const meOf = ({ session }: ReturnType<typeof setUp>) => {
  const state = session.state.value;
  return state.kind === "ready" ? state.value.me?.userName ?? null : state.kind;
};

Deno.test("parseLinkToken() accepts a whole link or only its token, and nothing else", () => {
  assertEquals(
    [`https://gate.example.org/me#${TOKEN}`, `  #${TOKEN} `, TOKEN].map(parseLinkToken),
    [TOKEN, TOKEN, TOKEN],
  );
  const none = ["", "#", "hello", "https://gate.example.org/me", `${TOKEN}"><img>`, "a".repeat(200)];
  assertEquals(none.map(parseLinkToken), none.map(() => null));
});

Deno.test("AccountSessionModel opens a session with a link, forgets the link, and follows the server's time", async () => {
  const it = setUp();
  await it.session.load();
  it.session.setLink(TOKEN);
  assertEquals([meOf(it), it.session.link.value, it.times], [null, TOKEN, [1_000_000]]);
  it.answers(inside(ADA));
  assertEquals(await it.session.openLink(TOKEN), null);
  assertEquals([meOf(it), it.session.link.value], ["ada", ""]);
});

Deno.test("AccountSessionModel keeps the link when it could not be opened, and reports why", async () => {
  const it = setUp();
  await it.session.load();
  it.session.setLink(TOKEN);
  it.fails("bad_me_link");
  assertEquals(await it.session.openLink(TOKEN), "bad_me_link");
  assertEquals([meOf(it), it.session.link.value], [null, TOKEN]);
});

Deno.test("AccountSessionModel holds a call while the session is over, and sends it after the next sign-in", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  let tries = 0;
  const waiting = it.session.whileSignedIn(() => ++tries === 1 ? over() : Promise.resolve("done"));
  await Promise.resolve();
  await Promise.resolve();
  assertEquals([it.session.isInterrupted.value, meOf(it)], [true, "ada"], "the page stays as it is");
  await it.session.openPhone("ada");
  assertEquals([await waiting, tries, it.session.isInterrupted.value], ["done", 2, false]);
});

Deno.test("AccountSessionModel does not send a held call after another user signed in", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  let tries = 0;
  const waiting = it.session.whileSignedIn(() => {
    tries += 1;
    return over();
  });
  const refused = assertRejects(() => waiting, ApiFailure);
  await Promise.resolve();
  await Promise.resolve();
  it.answers(inside(GRACE));
  await it.session.openPhone("grace");
  await refused;
  assertEquals([tries, meOf(it)], [1, "grace"]);
});

Deno.test("AccountSessionModel gives up a call when the user leaves, and after too many attempts", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  const given = assertRejects(() => it.session.whileSignedIn(over), ApiFailure);
  await Promise.resolve();
  await Promise.resolve();
  it.session.cancelSignIn();
  await given;
  assertEquals([meOf(it), it.session.isInterrupted.value], [null, false]);
  let tries = 0;
  await it.session.load();
  const ended = assertRejects(() =>
    it.session.whileSignedIn(() => {
      tries += 1;
      queueMicrotask(() => queueMicrotask(() => void it.session.openPhone("ada")));
      return over();
    }), ApiFailure);
  await ended;
  assertEquals(tries, 4);
});

Deno.test("AccountSessionModel notices that the session ended, and whether it could be extended", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  it.answers(inside({ ...ADA, endsMs: ADA.endsMs + 1 }));
  assertEquals(await it.session.extend(), true);
  assertEquals(await it.session.extend(), false, "it ends when it ended before");
  it.fails("offline");
  await it.session.check();
  assertEquals([meOf(it), it.session.isInterrupted.value], ["ada", false], "a lost server ends nothing");
  it.answers({ ...OUTSIDE, phoneUsers: ["ada"] });
  await it.session.check();
  assertEquals([meOf(it), it.session.isInterrupted.value], ["ada", true]);
});

Deno.test("AccountSessionModel ignores an answer to a check that began before a sign-in or a sign-out", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  const late = Promise.withResolvers<AccountSessionAnswer>();
  it.delays(late.promise);
  const checks = [it.session.check(), it.session.extend()];
  it.answers(inside(ADA));
  await it.session.openPhone("ada");
  late.reject(new ApiFailure("me_over"));
  await Promise.all(checks);
  const ended = Promise.withResolvers<AccountSessionAnswer>();
  it.delays(ended.promise);
  const check = it.session.check();
  it.answers(inside(ADA));
  await it.session.openPhone("ada");
  ended.resolve(OUTSIDE);
  await check;
  assertEquals([meOf(it), it.session.isInterrupted.value], ["ada", false]);
  const present = Promise.withResolvers<AccountSessionAnswer>();
  it.delays(present.promise);
  const last = it.session.check();
  it.answers(OUTSIDE);
  await it.session.signOut();
  present.resolve(inside(ADA));
  await last;
  assertEquals([meOf(it), it.session.hasSignedOut.value], [null, true]);
});

Deno.test("whileSignedIn() repeats a call whose answer is older than the sign-in, but never for another user", async () => {
  for (const [who, expected] of [[ADA, "done"], [GRACE, "me_over"]] as const) {
    const it = setUp(inside(ADA));
    await it.session.load();
    const late = Promise.withResolvers<string>();
    let tries = 0;
    const result = it.session.whileSignedIn(() => ++tries === 1 ? late.promise : Promise.resolve("done"))
      .catch((fault: ApiFailure) => fault.code);
    it.answers(inside(who));
    await it.session.openPhone(who.userName);
    late.reject(new ApiFailure("me_over"));
    assertEquals([await result, it.session.isInterrupted.value], [expected, false]);
  }
});

Deno.test("AccountSessionModel is signed out even if the server ended the session earlier", async () => {
  for (const code of [null, "me_over"]) {
    const it = setUp(inside(ADA));
    await it.session.load();
    if (code !== null) it.fails(code);
    assertEquals(await it.session.signOut(), null);
    assertEquals([meOf(it), it.session.hasSignedOut.value], [null, true]);
  }
  const it = setUp(inside(ADA));
  await it.session.load();
  it.fails("offline");
  assertEquals([await it.session.signOut(), meOf(it)], ["offline", "ada"]);
});

Deno.test("createAccount() keeps the old values while the server is unreachable, and shows since when", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  let isAway = false;
  const value = <T>(given: T) => () =>
    isAway ? Promise.reject(new ApiFailure("offline")) : Promise.resolve(given);
  const calls = {
    factors: value({ devices: [] }),
    logins: value({ open: [], recent: [] }),
    notMe: value({ lockedUntilMs: 9, ended: 1, denied: 1 }),
  } as unknown as AccountCalls;
  const clock = createClockModel(() => 5000);
  const toasts = createToasts({ later: () => () => undefined });
  const account = createAccount({ calls, session: it.session, clock, toasts });
  await account.refresh();
  assertEquals([account.problem(), account.refreshedMs.value], [null, 5000]);
  isAway = true;
  await account.refresh();
  assertEquals([account.problem(), account.factors.state.value.kind], ["offline", "ready"]);
  assertEquals([await account.reportNotMe(null), account.lockdown.value], ["offline", null]);
  isAway = false;
  assertEquals([await account.reportNotMe(null), account.lockdown.value?.lockedUntilMs], [null, 9]);
});

Deno.test("the catalogues have a message for every reason for which a login ends, in both languages", () => {
  const denials = Object.values(DENIAL_CAUSES).map(({ reason }) => reason);
  for (const reason of new Set([...Object.values(ROW_REASONS), ...denials])) {
    const key = `account.reason_${reason}`;
    assert(key in en && key in de, key);
  }
});

Deno.test("the catalogues have a message for each error that only the account API returns", () => {
  const codes = ["me_over", "me_inactive", "bad_me_link", "not_this_phone", "last_own_factor", "wrong_totp"];
  for (const code of codes) {
    for (const language of LANGUAGES) {
      assert(`errors.${code}` in CATALOGUES[language], code);
    }
  }
});

Deno.test("/me is a page with the strict policy that preloads its messages in the preferred language", async () => {
  await using site = await startConsole();
  const answer = await site.call("/me", { headers: { "accept-language": "de-DE,en;q=0.5" } });
  assertEquals([answer.status, answer.headers.get("content-security-policy")], [200, PAGE_POLICY]);
  const html = await answer.text();
  assert(html.includes('as="fetch" crossorigin href="/assets/messages-me-de.json"'), html);
  const link = await site.call("/me?x=%22%3E%3Cscript%3E");
  assertEquals((await link.text()).includes("<script>"), false);
});
