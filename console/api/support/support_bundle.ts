// The server's part of a support bundle: settings, versions, System status, nodes, sizes and the last warnings, without secrets and,
// unless they are asked for, without names of people.

import { Hono } from "hono";
import * as v from "valibot";
import type { AlertService } from "../../../platform/alerts/alerts.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { Config } from "../../../platform/config/config.ts";
import type { SecretSettings } from "../../../platform/config/list_settings.ts";
import type { Log } from "../../../platform/log.ts";
import type { LogExport } from "../../../platform/log_export/log_export.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import {
  environmentSecrets,
  packBundle,
  SECRET_MARK,
  SecretSweep,
  withoutCredentials,
} from "../../../platform/support_bundle.ts";
import type { Store } from "../../../platform/store.ts";
import type { FindUserRecord } from "../../../platform/user_record.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { AdminCommands } from "../auth/admin_commands.ts";
import { may } from "../auth/permissions.ts";
import type { Connect, People } from "../deps.ts";
import { Refusal } from "../errors.ts";
import type { Health } from "../health/health.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import type { Installation } from "../settings/setting_routes.ts";

export interface SupportRouteDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<Log, "recent">;
  readonly store: Pick<Store, "range">;
  readonly vault: Vault;
  readonly settings: { readonly config: Config };
  /** Absent where the console runs without a gateway. */
  readonly secretSettings?: SecretSettings;
  readonly installation: Installation;
  readonly cluster?: Pick<Cluster, "list"> | undefined;
  readonly health: Pick<Health, "parts"> | null;
  readonly administrators: Pick<AdminCommands, "list">;
  readonly people?: Pick<People, "findUserRecord"> | undefined;
  readonly connect?: Pick<Connect, "register" | "connections">;
  readonly logExport?: Pick<LogExport, "list"> | undefined;
  readonly alerts?: Pick<AlertService, "listReceivers"> | undefined;
}

const MAX_GIVEN_CHARACTERS = 400_000;
const REQUEST = v.strictObject({
  withNames: v.boolean(),
  /** Files of the command, such as the result of check-config. */
  files: v.record(
    v.pipe(v.string(), v.maxLength(60)),
    v.pipe(v.string(), v.maxLength(MAX_GIVEN_CHARACTERS)),
  ),
});

/** The route is for commands of this host, because it reads the whole store. */
export function createSupportRoutes(deps: SupportRouteDeps) {
  return new Hono<HttpEnv>().post("/", may("owner"), jsonBody(REQUEST), async (c) => {
    const { secretSettings } = deps;
    if (!c.env.viaControlSocket || secretSettings === undefined) throw new Refusal("not_found");
    const { withNames, files: given } = c.req.valid("json");
    const { store, sweep } = await readStoredSecrets(deps, secretSettings);
    for (const secret of [...configuredSecrets(deps, secretSettings), ...environmentSecrets()]) {
      sweep.add(secret);
    }
    const names = await Pseudonyms.open(deps);
    const files: Record<string, string> = {};
    for (const [name, value] of Object.entries(await collect(deps, store))) {
      // Known secrets first: behind a rule for unknown ones, the rest of a secret could stay.
      const clean = (text: string) => withoutCredentials(sweep.replaceIn(text));
      const safe = secretSettings.redact(mapTexts(value, clean), SECRET_MARK);
      files[name] = `${JSON.stringify(withNames ? safe : await names.without(safe), null, 2)}\n`;
    }
    for (const [name, text] of Object.entries(given)) {
      const safe = withoutCredentials(sweep.replaceIn(text));
      files[name] = withNames ? safe : names.withoutAddresses(safe);
    }
    const octets = await packBundle(files, { sweep, createdMs: deps.clock.nowMs() });
    return c.body(octets, 200, { "content-type": "application/gzip" });
  });
}

/** The files of the server, by name. */
async function collect(deps: SupportRouteDeps, store: StoreFigures): Promise<Record<string, unknown>> {
  const { settings, installation, clock, cluster, health, connect, logExport, alerts, log } = deps;
  const { heapUsed, heapTotal, external, rss } = Deno.memoryUsage();
  return {
    "versions.json": {
      ...installation,
      platform: Deno.build.target,
      v8: Deno.version.v8,
      nowMs: clock.nowMs(),
      memory: { rss, heapUsed, heapTotal, external },
    },
    "settings.json": settings.config,
    "clients.json": connect?.register.list() ?? [],
    "connections.json": {
      identityProviders: connect?.connections.list() ?? [],
      logDestinations: await logExport?.list() ?? [],
      alertReceivers: await alerts?.listReceivers() ?? [],
    },
    "status.json": await health?.parts() ?? [],
    "nodes.json": cluster?.list() ?? [],
    "store.json": store,
    "log.json": log.recent().map((line) => JSON.parse(line)),
  };
}

/** Applies `change` to each text, and leaves out functions and octets: octets are keys, or sealed. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} octets]`;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change));
  if (value instanceof Map || value instanceof Set) return mapTexts([...value], change);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      typeof inner === "function" ? [] : [[name, mapTexts(inner, change)]]
    ),
  );
}

interface StoreFigures {
  /** Entries by the first part of their keys. */
  readonly entries: Readonly<Record<string, number>>;
  /** Whether all entries were read in time. */
  readonly isComplete: boolean;
}

const SEALED_MS = 60_000;
const READ_MS = 20_000;
/** Tables with most of the entries, and without sealed values, in the order of the store. */
const UNSEALED: readonly string[] = [
  ...["audit", "audit_by", "audit_names", "change", "fence", "history", "index_log", "journal"],
  ...["last_sign_in", "member", "memberof", "part", "resource_id", "shadow_user", "value", "word"],
];
const CLIENT_SECRETS = ["secret", "previous", "server", "disconnect"];

/**
 * Opens each sealed value, so that it can be searched for, and then counts the other entries as far as there is time.
 *
 * @throws Error if there is no time for all sealed values
 */
export async function readStoredSecrets(
  { store, vault, clock }: Pick<SupportRouteDeps, "store" | "vault" | "clock">,
  { secretsIn }: Pick<SecretSettings, "secretsIn">,
): Promise<{ store: StoreFigures; sweep: SecretSweep }> {
  const sweep = new SecretSweep();
  const entries: Record<string, number> = {};
  const read = async (
    [start, end]: readonly [Deno.KvKey, Deno.KvKey],
    { endMs, isSealed }: { endMs: number; isSealed: boolean },
  ): Promise<boolean> => {
    for await (const { key, value } of store.range<unknown>({ start, end })) {
      const table = String(key[0]);
      entries[table] = (entries[table] ?? 0) + 1;
      if (isSealed) addSealed({ sweep, vault, secretsIn }, { key, value });
      if (clock.nowMs() > endMs) return false;
    }
    return true;
  };
  const behind = (table: string): Deno.KvKey => [`${table}\0`];
  const starts = [[], ...UNSEALED.map(behind)];
  const sealed = { endMs: clock.nowMs() + SEALED_MS, isSealed: true };
  for (const [at, start] of starts.entries()) {
    const next = UNSEALED[at];
    if (await read([start, next === undefined ? [true] : [next]], sealed)) continue;
    throw new Error("Cannot make the bundle: the secrets in the store could not be read in time");
  }
  const counted = { endMs: clock.nowMs() + READ_MS, isSealed: false };
  let isComplete = true;
  for (const table of UNSEALED) isComplete &&= await read([[table], behind(table)], counted);
  return { store: { entries, isComplete }, sweep };
}

interface Found extends Pick<SecretSettings, "secretsIn"> {
  readonly sweep: SecretSweep;
}

/** A sealed value belongs to the key of its record, to a member of it, or to a kind of secret of a client. */
function addSealed(
  { vault, ...found }: Found & { readonly vault: Vault },
  { key, value }: { key: Deno.KvKey; value: unknown },
): void {
  for (const [path, octets] of octetsIn(value)) {
    const keys = [
      key,
      ...path.map((part) => [...key, part]),
      ...(key[0] === "client" ? CLIENT_SECRETS.map((kind) => [...key, kind]) : []),
    ];
    const plain = keys.reduce<Uint8Array | null>((found, one) => found ?? vault.open(one, octets), null);
    if (plain !== null) addPlain(found, plain);
  }
}

/** A text, JSON with several secrets, or octets. */
function addPlain({ sweep, secretsIn }: Found, plain: Uint8Array): void {
  const text = new TextDecoder().decode(plain);
  if (!text.startsWith("{")) return sweep.addOctets(plain);
  try {
    for (const secret of secretsIn(JSON.parse(text), true)) sweep.add(secret);
  } catch (_noJson) {
    sweep.addOctets(plain);
  }
}

/** Octets in a value, each with the names of the members that lead to it. */
function octetsIn(value: unknown, path: readonly string[] = []): [readonly string[], Uint8Array][] {
  if (value instanceof Uint8Array) return [[path, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => octetsIn(inner, [...path, name]));
}

function configuredSecrets(
  { settings: { config }, connect }: SupportRouteDeps,
  { secretsIn }: SecretSettings,
): string[] {
  return [...secretsIn(config), ...secretsIn(connect?.register.list() ?? [])];
}

const MAIL_ADDRESS = /[^\s"'<>@,;:()[\]]+@[^\s"'<>@,;:()[\]]+\.[a-z]{2,}/giu;
const PHONE_NUMBER = /\+\d[\d ()/-]{5,}\d/g;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}._@\\+-]*/gu;
/** Members that name a person, whom the directory may not know. */
const PERSON_MEMBERS: ReadonlySet<string> = new Set([
  "user",
  "userName",
  "outer",
  "administrator",
  "actor",
  "account",
]);
/** Further words count as names. */
const MAX_WORDS = 20_000;

/** Replaces names of people by texts that are the same for one name in one bundle, and differ between bundles. */
class Pseudonyms {
  readonly #find: FindUserRecord | undefined;
  readonly #administrators: ReadonlySet<string>;
  readonly #digest: (name: string) => string;
  readonly #known = new Map<string, boolean>();

  private constructor(
    find: FindUserRecord | undefined,
    { administrators, digest }: { administrators: ReadonlySet<string>; digest: (name: string) => string },
  ) {
    this.#find = find;
    this.#administrators = administrators;
    this.#digest = digest;
  }

  static async open({ people, administrators, random, vault }: SupportRouteDeps): Promise<Pseudonyms> {
    const { items } = await administrators.list();
    const purpose = `support bundle ${random.bytes(16).toHex()}`;
    return new Pseudonyms(people?.findUserRecord, {
      administrators: new Set(items.map(({ name }) => canonicalName(name))),
      digest: (name) => vault.digest(purpose, name).slice(0, 8),
    });
  }

  /** A JSON value without names. @param member the member that has it */
  async without(value: unknown, member = ""): Promise<unknown> {
    if (typeof value === "string") {
      return PERSON_MEMBERS.has(member) ? this.#of(value) : await this.#inText(value);
    }
    if (typeof value !== "object" || value === null) return value;
    const isArray = Array.isArray(value);
    const entries: [string, unknown][] = [];
    for (const [name, inner] of Object.entries(value)) {
      entries.push([name, await this.without(inner, isArray ? "" : name)]);
    }
    return isArray ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
  }

  withoutAddresses(text: string): string {
    return text.replaceAll(MAIL_ADDRESS, (address) => this.#of(address)).replaceAll(PHONE_NUMBER, "[number]");
  }

  #of(name: string): string {
    return name === "" ? "" : `user-${this.#digest(canonicalName(name))}`;
  }

  async #inText(text: string): Promise<string> {
    const plain = this.withoutAddresses(text);
    const names = new Set<string>();
    for (const word of new Set(plain.match(WORD) ?? [])) if (await this.#isName(word)) names.add(word);
    return names.size === 0
      ? plain
      : plain.replaceAll(WORD, (word) => names.has(word) ? this.#of(word) : word);
  }

  async #isName(word: string): Promise<boolean> {
    const name = canonicalName(word);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_WORDS) return true;
    const isName = this.#administrators.has(name) ||
      (this.#find !== undefined && (await this.#find(word)).status !== "unknown");
    this.#known.set(name, isName);
    return isName;
  }
}
