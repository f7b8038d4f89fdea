// A console with one user who has an account page: factors, a history, a waiting login, and a one-time link.

import type { Page } from "../packages/playwright.ts";
import type { Dist } from "../../console/assets.ts";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { totpCode } from "../support/totp.ts";
import { conversation } from "./console_gateway.ts";
import { FAKE_INVITATION } from "./console_phone.ts";
import { type PeopleConsole, startPeopleConsole } from "./console_people.ts";

/** The pairing that the fake phone receives for its invitation. */
const PHONE_ID = "p1";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const ADA_SEED = "12345678901234567890";

/** The logins of the last days: their age, place and outcome, and the row of the flow table that ended them. */
const PAST = [
  [4 * MINUTE_MS, "vpn-1", "198.51.100.23", "accepted", "approved_while_held"],
  [3 * HOUR_MS, "vpn-1", "203.0.113.9", "rejected", "not_approved"],
  [26 * HOUR_MS, "wifi-office", "office, 2nd floor", "accepted", "code_right"],
  [2 * DAY_MS, "vpn-1", "198.51.100.23", "expired", "expired"],
  [3 * DAY_MS, "vpn-1", "198.51.100.23", "rejected", "first_factor_wrong"],
  [4 * DAY_MS, "wifi-office", "", "accepted", "approved_while_held"],
  [5 * DAY_MS, "vpn-1", "198.51.100.23", "superseded", "superseded"],
  [9 * DAY_MS, "vpn-1", "198.51.100.23", "accepted", "approved_while_held"],
] as const;

export type MeConsole = PeopleConsole & {
  /** A new one-time link to the page of `name`. */
  link(name?: string): Promise<string>;
  /** An authenticator app of {@link ADA_SEED}. */
  addApp(name?: string): Promise<void>;
  /** A phone other than the present browser. */
  addPhone(id: string, name?: string): Promise<void>;
  /** A login of ada that waits for her phone. */
  waits(client?: string): void;
  fillHistory(name?: string): Promise<void>;
  /** The present code of the app. */
  code(seed?: string): string;
};

export async function startMeConsole(
  { dist, user = "ada" }: { dist: Dist; user?: string },
): Promise<MeConsole> {
  const site = await startPeopleConsole({ dist });
  await site.put(user, user === "ada" ? { displayName: "Ada Lovelace" } : {});
  const owner = await site.signIn("owner");
  Object.assign(site.secondFactorAdmin, {
    invite: () => Promise.resolve({ invitation: FAKE_INVITATION, deadlineMs: Date.now() + DAY_MS }),
  });
  const adopt = async (name: string, wanted: Parameters<typeof site.pairings.prepare>[1]) => {
    const { mutation, pairing } = site.pairings.prepare({ canonical: name, shown: name }, wanted);
    await site.store.commit({ mutations: [mutation] });
    site.pairings.adopt(pairing);
  };
  return Object.assign(site, {
    async link(name = user) {
      const path = `/console/api/users/${encodeURIComponent(name)}/me-link`;
      const made = await site.call(path, { method: "POST", json: {}, cookie: owner });
      if (!made.ok) throw new Error(`Cannot make a link: ${await made.text()}`);
      return (await made.json()).url as string;
    },
    addApp: (name = user) => adopt(name, { kind: "totp" as const, seed: new TextEncoder().encode(ADA_SEED) }),
    addPhone: (id: string, name = user) => adopt(name, { kind: "device" as const, id, totpLength: 6 }),
    waits(client = "vpn-1") {
      site.watch.put(conversation(1, { user, client, startedMs: Date.now() - 12_000 }));
    },
    async fillHistory(name = user) {
      const nowMs = Date.now();
      await site.store.commit({
        mutations: PAST.map(([agoMs, client, place, outcome, row]) => {
          const startedMs = nowMs - agoMs;
          const endedMs = startedMs + 6200;
          const value = encodeLoginRecord({
            ...{ user: name, client, place, source: "10.1.0.7", factor: "device" },
            ...{ startedMs, endedMs, outcome, refusedFor: null, passwordRight: true },
            moments: [{ atMs: endedMs, step: outcome, row }],
            ...(row === "not_approved" ? { denial: { cause: "phone" as const } } : {}),
          });
          const id = `${(startedMs * 1024).toString(36).padStart(11, "0")}${name.padEnd(6, "_")}`;
          return { type: "set" as const, key: historyKey(id), value };
        }),
      });
    },
    code: (seed = ADA_SEED) => totpCode(seed, Date.now()),
  });
}

/** Makes the browser a paired phone of ada; the gateway knows the pairing. */
export async function pairThisBrowser(page: Page, site: MeConsole): Promise<void> {
  await site.addPhone(PHONE_ID);
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("This phone is paired.").waitFor();
}

/** Opens the account with a new link. */
export async function enterByLink(page: Page, site: MeConsole, name = "ada"): Promise<void> {
  await page.goto(await site.link(name));
  await page.getByRole("button", { name: "Open my account" }).click();
  await page.getByRole("heading", { level: 2, name: "Phones" }).waitFor();
}
