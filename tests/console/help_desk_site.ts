// A gateway with administrators of each role, users, and their phones, which act over HTTP. Several nodes can share a store.

import type { Role } from "../../console/api/auth/admin_records.ts";
import { Sessions } from "../../console/api/auth/sessions.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import type { Dist } from "../../console/assets.ts";
import type { PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const PEER = { remoteAddress: "192.0.2.9" };
const ORIGIN = "http://localhost";
const PASSWORD = "a long password for everyone";

/** An administrator for each role, with the name of the role. */
const NAMES: Readonly<Record<Role, string>> = {
  viewer: "vera",
  help_desk: "hanna",
  operator: "otto",
  user_manager: "ute",
  owner: "olga",
};
const ADMINS = Object.entries(NAMES).map(([role, name]) =>
  `[[console.admin]]\nname = "${name}"\npassword = "${PASSWORD}"\nrole = "${role}"\n`
).join("");

export interface Answer<T> {
  readonly status: number;
  /** The code of a refusal; `""` for any other response. */
  readonly code: string;
  readonly body: T;
}

/** Sends requests with a cookie. */
export type Ask = <T = unknown>(method: string, path: string, json?: unknown) => Promise<Answer<T>>;

export interface Phone {
  readonly pairingId: string;
  view(): Promise<PhoneView | null>;
  readonly ask: Ask;
}

export interface HelpDeskSite extends TestComposition {
  /** The cookie of a new session. */
  cookieOf(role: Role): Promise<string>;
  /** Signs an administrator in; paths are below /console/api. */
  as(role: Role): Promise<Ask>;
  /** Pairs a new phone of a user by an invitation. */
  pair(user: string, name?: string): Promise<Phone>;
  /** Opens the account page of a user by a link. */
  account(user: string): Promise<Ask>;
  /** The same phone at this node. */
  phoneHere(phone: Phone): Phone;
  /** Records of the audit log with these actions. */
  audited(...actions: readonly string[]): Promise<Record<string, unknown>[]>;
}

/** That of {@link openComposition}. */
const MASTER_KEY = new Uint8Array(32).fill(7);
const cookies = new WeakMap<Phone, { cookie: string }>();

/** @param users of the directory; each has an email address. */
export async function openHelpDesk(
  { toml = "", users = ["ada", "bob"], joins, dist }: {
    toml?: string;
    /** The built pages, for a browser. */
    dist?: Dist;
    users?: readonly string[];
    joins?: { readonly kv: Deno.Kv; readonly node: string };
  } = {},
): Promise<HelpDeskSite> {
  const site = await openComposition(ADMINS + toml, {
    ...(joins === undefined ? {} : { joins }),
    ...(dist === undefined ? {} : { dist }),
  });
  // Without the hash of a password, which takes long on purpose.
  const random = createSystemRandom();
  const sessions = new Sessions({
    ...{ store: site.store, clock: site.clock, random, admins: site.admins },
    vault: createVault(MASTER_KEY, random),
    settings: site.config.console,
  });
  for (const user of users) {
    const emails = [{ value: `${user}@example.org`, primary: true }];
    const made = await site.ask("POST", "/users", { user: { userName: user, emails } });
    if (made.status >= 300) throw new Error(made.text);
  }
  const caller = createCaller(site);
  const cookieOf = async (role: Role): Promise<string> => {
    const admin = await site.admins.find(NAMES[role]);
    if (admin === null) throw new Error(`${role} is no administrator`);
    const { token } = await sessions.begin(admin, { source: PEER.remoteAddress, agent: "", by: "password" });
    return `countersign=${token}`;
  };
  const phoneOf = (pairingId: string, jar: { cookie: string }): Phone => {
    const ask = caller("/device/api", jar);
    const view = async () => (await ask<{ view: PhoneView | null }>("GET", "/view")).body.view;
    const phone = { pairingId, ask, view };
    cookies.set(phone, jar);
    return phone;
  };
  return {
    ...site,
    cookieOf,
    as: async (role) => caller("/console/api", { cookie: await cookieOf(role) }),
    async pair(user, name = `Phone of ${user}`) {
      const { text } = await site.ask("POST", `/users/${user}/invitation`, {});
      const invitation = new URL(JSON.parse(text).link).hash.replace("#invite=", "");
      const jar = { cookie: "" };
      const { body } = await caller("/device/api", jar)<{ pairingId: string }>(
        "POST",
        "/invitation/accept",
        { invitation, name },
      );
      return phoneOf(body.pairingId, jar);
    },
    async account(user) {
      const { text } = await site.ask("POST", `/users/${user}/me-link`, {});
      const ask = caller("/me/api", { cookie: "" });
      await ask("POST", "/session", { link: new URL(JSON.parse(text).url).hash.slice(1) });
      return ask;
    },
    phoneHere: (phone) => phoneOf(phone.pairingId, cookies.get(phone) ?? { cookie: "" }),
    async audited(...actions) {
      return (await site.audits()).filter(({ action }) => actions.includes(String(action)));
    },
  };
}

/** Makes callers with a cookie jar, below a path. */
function createCaller(site: TestComposition) {
  return (base: string, jar: { cookie: string }): Ask =>
  async <T>(
    method: string,
    path: string,
    json?: unknown,
  ) => {
    await site.store.catchUp();
    const headers: Record<string, string> = { host: "localhost", origin: ORIGIN };
    if (jar.cookie !== "") headers.cookie = jar.cookie;
    if (json !== undefined) headers["content-type"] = "application/json";
    const body = json === undefined ? null : JSON.stringify(json);
    const response = await site.app(
      new Request(`${ORIGIN}${base}${path}`, { method, headers, body }),
      PEER,
    );
    const text = await response.text();
    for (const line of response.headers.getSetCookie()) jar.cookie = line.split(";")[0] ?? "";
    const parsed = text === "" ? null : JSON.parse(text);
    return { status: response.status, code: parsed?.error?.code ?? "", body: parsed as T };
  };
}
