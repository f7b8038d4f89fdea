// The account API with hardware tokens: the list, resynchronization, and a code of a token as the recent factor.

import { assertEquals, assertNotMatch } from "@std/assert";
import type { AccountFactors } from "../../console/api/account/account_types.ts";
import { verifyOwnCode } from "../../console/api/account/account_api.ts";
import { addToken, TOKEN_SEED, tokenCode } from "../radius/rows/tokens.ts";
import { enteredByLink, pairPhone, PHONE_COOKIE, post, startWithAda, visitor } from "./account_visitor.ts";

Deno.test("me tokens: a user sees own tokens without their seeds, and resynchronizes them with two codes", async () => {
  await using site = await startWithAda();
  await addToken(site, "ada");
  await addToken(site, null, { serial: "T-2" });
  const browser = await enteredByLink(site, "ada");
  const factors = await browser.ask<AccountFactors>("/factors");
  assertEquals(factors.tokens?.map(({ serial, isUsable }) => [serial, isUsable]), [["T-1", true]]);
  assertNotMatch(JSON.stringify(factors), /seed|3132/);
  const resync = (id: string, first: number) =>
    [
      `/tokens/${id}/resynchronize`,
      post({ codes: [tokenCode(first), tokenCode(first + 1)] }),
    ] as const;
  assertEquals(await browser.refused(...resync("T-2", 40)), [404, "unknown_hardware_token"]);
  assertEquals(await browser.refused(...resync("T-1", 4000)), [422, "hardware_token_codes_wrong"]);
  await browser.ask(...resync("T-1", 400));
  assertEquals(site.hardwareTokens.get("T-1")?.use.next, 402);
  const record = (await site.audits()).findLast(({ action }) => action === "hardware_token.resynchronize");
  assertEquals([record?.actor, record?.object, record?.how], ["user:ada", "user:ada", "account"]);
});

Deno.test("me tokens: a code of a token is a recent factor, once, and a phone may be removed while a token remains", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  await addToken(site, "ada");
  const browser = visitor(site, PHONE_COOKIE);
  await browser.ask("/session", post({ phone: true, userName: "ada" }));
  assertEquals(await browser.refused("/totp", post({})), [403, "me_step_up"]);
  await browser.ask("/session/step-up", post({ code: tokenCode(3) }));
  assertEquals(site.hardwareTokens.get("T-1")?.use.next, 4);
  assertEquals(await browser.refused("/session/step-up", post({ code: tokenCode(3) })), [
    403,
    "wrong_me_code",
  ]);
  assertEquals((await browser.ask<AccountFactors>("/factors")).devices[0]?.isLast, false);
});

Deno.test("me: the code of an app with other parameters is a recent factor, once, in any script", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const app = { algorithm: "SHA512", digits: 8, periodS: 60 } as const;
  const added = site.pairings.prepare({ canonical: "ada", shown: "Ada" }, {
    kind: "totp",
    seed: TOKEN_SEED,
    ...app,
  });
  await site.store.commit({ mutations: [added.mutation] });
  site.pairings.adopt(added.pairing);
  const browser = visitor(site, PHONE_COOKIE);
  await browser.ask("/session", post({ phone: true, userName: "ada" }));
  const step = Math.floor(Date.now() / 60_000) + 1;
  const code = tokenCode(step, { digits: 8, algorithm: "sha512" })
    .replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  await browser.ask("/session/step-up", post({ code }));
  assertEquals(await browser.refused("/session/step-up", post({ code })), [403, "wrong_me_code"]);
  const used = site.pairings.of("ada").find(({ kind }) => kind === "totp");
  assertEquals(used?.kind === "totp" && used.lastStep, step);
});

Deno.test("me: a code of an app is a recent factor once, also in two sessions at the same time, beside a phone", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const added = site.pairings.prepare({ canonical: "ada", shown: "Ada" }, { kind: "totp", seed: TOKEN_SEED });
  await site.store.commit({ mutations: [added.mutation] });
  site.pairings.adopt(added.pairing);
  const { pairings, hardwareTokens, recoveryCodes, store } = site;
  const deps = {
    ...{ people: { pairings, hardwareTokens, recoveryCodes }, store },
    clock: { nowMs: () => Date.now() },
    secondFactorAdmin: () => ({ usePasscode: () => Promise.resolve(false) }),
  };
  const code = tokenCode(Math.floor(Date.now() / 30_000) + 1);
  const shown = await Promise.all([1, 2].map(() => verifyOwnCode(deps, { canonical: "ada", code })));
  assertEquals(shown.map((one) => one?.id ?? null), [added.pairing.id, null]);
});
