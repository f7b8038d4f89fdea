// The account page's own machinery: the link's token, the session that ends and comes back, words for what the server says.

import { DENIAL_CAUSES } from "../../radius/flow/denial_causes.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ROW_REASONS } from "../../console/api/conversations/explain_login.ts";
import type { MeInfo, MeSessionAnswer } from "../../console/api/account/account_types.ts";
import { REFUSALS } from "../../console/api/errors.ts";
import { createAccount } from "../../console/me/account.ts";
import type { MeCalls } from "../../console/me/me_calls.ts";
import { createMeSession, tokenIn } from "../../console/me/me_session.ts";
import { ApiFailure } from "../../console/web/api_client.ts";
import { createClockModel } from "../../console/web/models/clock_model.ts";
import { createToasts } from "../../console/web/models/toasts_model.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { PAGE_POLICY } from "../../console/security_headers.ts";
import { startConsole } from "../fakes/console_app.ts";

const TOKEN = "Zm9vYmFyYmF6cXV4Zm9vYg";
const ADA: MeInfo = { userName: "ada", displayName: null, via: "link", endsMs: 2_000_000 };
const GRACE: MeInfo = { ...ADA, userName: "grace" };
const OUTSIDE: MeSessionAnswer = { available: true, nowMs: 1_000_000, me: null, phoneUsers: [] };
const inside = (me: MeInfo): MeSessionAnswer => ({ ...OUTSIDE, me });
const over = () => Promise.reject(new ApiFailure("me_over"));

/** A session over answers that a test puts. */
function setUp(first: MeSessionAnswer = OUTSIDE) {
  let answer: () => Promise<MeSessionAnswer> = () => Promise.resolve(first);
  const call = () => answer();
  const calls = { session: call, stay: call, openLink: call, openPhone: call, signOut: call };
  const times: number[] = [];
  const session = createMeSession(calls, { onServerTime: (nowMs) => void times.push(nowMs) });
  return {
    session,
    times,
    answers: (next: MeSessionAnswer) => answer = () => Promise.resolve(next),
    fails: (code: string) => answer = () => Promise.reject(new ApiFailure(code)),
  };
}

const meOf = ({ session }: ReturnType<typeof setUp>) => {
  const state = session.state.value;
  return state.kind === "ready" ? state.value.me?.userName ?? null : state.kind;
};

Deno.test("tokenIn() takes the token of a whole link or the token itself, and nothing else", () => {
  assertEquals(
    [`https://gate.example.org/me#${TOKEN}`, `  #${TOKEN} `, TOKEN].map(tokenIn),
    [TOKEN, TOKEN, TOKEN],
  );
  const none = ["", "#", "hello", "https://gate.example.org/me", `${TOKEN}"><img>`, "a".repeat(200)];
  assertEquals(none.map(tokenIn), none.map(() => null));
});

Deno.test("createMeSession() opens with a link, forgets it, and follows the server's time", async () => {
  const it = setUp();
  await it.session.load();
  it.session.bring(TOKEN);
  assertEquals([meOf(it), it.session.link.value, it.times], [null, TOKEN, [1_000_000]]);
  it.answers(inside(ADA));
  assertEquals(await it.session.openLink(TOKEN), null);
  assertEquals([meOf(it), it.session.link.value], ["ada", ""]);
});

Deno.test("createMeSession() keeps the link when opening it failed, and says why", async () => {
  const it = setUp();
  await it.session.load();
  it.session.bring(TOKEN);
  it.fails("bad_me_link");
  assertEquals(await it.session.openLink(TOKEN), "bad_me_link");
  assertEquals([meOf(it), it.session.link.value], [null, TOKEN]);
});

Deno.test("createMeSession() waits with a call while the session is over, and makes it again after", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  let tries = 0;
  const waiting = it.session.whileSignedIn(() => ++tries === 1 ? over() : Promise.resolve("done"));
  await Promise.resolve();
  await Promise.resolve();
  assertEquals([it.session.interrupted.value, meOf(it)], [true, "ada"], "the page stays as it is");
  await it.session.openPhone("ada");
  assertEquals([await waiting, tries, it.session.interrupted.value], ["done", 2, false]);
});

Deno.test("createMeSession() does not make a waiting call for another user who came in", async () => {
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

Deno.test("createMeSession() gives a call up when the user leaves, and after too many tries", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  const given = assertRejects(() => it.session.whileSignedIn(over), ApiFailure);
  await Promise.resolve();
  await Promise.resolve();
  it.session.giveUp();
  await given;
  assertEquals([meOf(it), it.session.interrupted.value], [null, false]);
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

Deno.test("createMeSession() notices by itself that the session ended, and says whether it could be made longer", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  it.answers(inside({ ...ADA, endsMs: ADA.endsMs + 1 }));
  assertEquals(await it.session.stay(), true);
  assertEquals(await it.session.stay(), false, "it ends when it ended before");
  it.fails("offline");
  await it.session.probe();
  assertEquals([meOf(it), it.session.interrupted.value], ["ada", false], "a lost server ends nothing");
  it.answers({ ...OUTSIDE, phoneUsers: ["ada"] });
  await it.session.probe();
  assertEquals([meOf(it), it.session.interrupted.value], ["ada", true]);
});

Deno.test("createMeSession() is signed out also when the server had ended the session before", async () => {
  for (const code of [null, "me_over"]) {
    const it = setUp(inside(ADA));
    await it.session.load();
    if (code !== null) it.fails(code);
    assertEquals(await it.session.signOut(), null);
    assertEquals([meOf(it), it.session.left.value], [null, true]);
  }
  const it = setUp(inside(ADA));
  await it.session.load();
  it.fails("offline");
  assertEquals([await it.session.signOut(), meOf(it)], ["offline", "ada"]);
});

Deno.test("createAccount() keeps the old values while the server is away, and says since when", async () => {
  const it = setUp(inside(ADA));
  await it.session.load();
  let isAway = false;
  const value = <T>(given: T) => () =>
    isAway ? Promise.reject(new ApiFailure("offline")) : Promise.resolve(given);
  const calls = {
    factors: value({ devices: [] }),
    logins: value({ open: [], recent: [] }),
    notMe: value({ lockedUntilMs: 9, ended: 1, denied: 1 }),
  } as unknown as MeCalls;
  const clock = createClockModel(() => 5000);
  const toasts = createToasts({ later: () => () => undefined });
  const account = createAccount({ calls, session: it.session, clock, toasts });
  await account.refresh();
  assertEquals([account.problem(), account.freshMs.value], [null, 5000]);
  isAway = true;
  await account.refresh();
  assertEquals([account.problem(), account.factors.state.value.kind], ["offline", "ready"]);
  assertEquals([await account.notMe(null), account.stopped.value], ["offline", null]);
  isAway = false;
  assertEquals([await account.notMe(null), account.stopped.value?.lockedUntilMs], [null, 9]);
});

Deno.test("the catalogues have a message for every reason that a login ends for, in both languages", () => {
  const denials = Object.values(DENIAL_CAUSES).map(({ reason }) => reason);
  for (const reason of new Set([...Object.values(ROW_REASONS), ...denials])) {
    const key = `me.reason_${reason}`;
    assert(key in en && key in de, key);
  }
});

Deno.test("the catalogues have a message for each error that only the account API returns", () => {
  const codes = ["me_over", "me_inactive", "bad_me_link", "not_this_phone", "last_own_factor", "wrong_totp"];
  for (const code of codes) {
    assert(code in REFUSALS, code);
    assert(`me.fail_${code}` in en && `me.fail_${code}` in de, code);
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
