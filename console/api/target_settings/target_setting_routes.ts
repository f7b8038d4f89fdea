// Directories and their connectors: create, change, remove, test, and preview a mapping. The settings file locks the directories that it
// defines.

import * as v from "valibot";
import { Hono } from "hono";
import type { LiveSettings } from "../../../platform/config/live_settings.ts";
import { problemOf } from "../../../platform/setting_problems.ts";
import type { TargetDiff, TargetDraft, TargetView } from "../../../platform/config/target_changes.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { BackendTrial } from "../../../scim/scim.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, requireGateway } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import { badSettings, requireSaved } from "../settings/setting_routes.ts";
import { readStored } from "../users/user_writes.ts";
import type { MappingPreview } from "../targets/target_types.ts";
import type { SettingControl } from "../../../platform/config/setting_values.ts";
import type { ConfigFault } from "../../../platform/config/config.ts";
import type { SettingChange } from "../../../platform/config/list_settings.ts";

export interface TargetSettingDeps {
  readonly settings: LiveSettings;
  readonly connect?: Connect;
  readonly clock: Clock;
}

const MAX_PENDING = 1000;
const TEXT = textUpTo(64 * 1024);
const SCALAR = v.union([TEXT, v.number(), v.boolean(), v.pipe(v.array(textUpTo(1024)), v.maxLength(200))]);
const NAMES = v.record(textUpTo(200), textUpTo(200));
const NAME = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const BACKEND = v.record(textUpTo(64), v.union([SCALAR, NAMES]));
const TABLE = v.strictObject({
  page_size: v.optional(v.number()),
  max_drop_percent: v.optional(v.number()),
  extensions: v.optional(TEXT),
  mapping: v.optional(v.strictObject({ user: v.optional(NAMES), group: v.optional(NAMES) })),
  backends: v.optional(v.record(NAME, BACKEND)),
});
const VERSION = v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number));
const PUT = v.strictObject({ version: VERSION, table: TABLE, check: v.optional(v.boolean(), false) });
const REMOVE = v.strictObject({
  version: VERSION,
  /** Deletes the data now, after the numbers were confirmed. Absent: the data stays for 30 days. */
  deleteData: v.optional(v.strictObject({ users: v.number(), groups: v.number() })),
});
const TEST = v.strictObject({ table: TABLE, backend: NAME });
const PREVIEW = v.strictObject({
  mapping: NAMES,
  user: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
});

export function createTargetSettingRoutes(deps: TargetSettingDeps) {
  const { settings, connect, clock } = deps;
  const now = () => ({ nowMs: clock.nowMs(), version: String(settings.version) });
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), async (c) => {
      const items = await Promise.all(settings.targets.list().map(({ name }) => viewOf(deps, name)));
      return c.json(
        {
          ...now(),
          file: settings.config.file,
          items: items.filter((item) => item !== null),
          removed: settings.targets.removed(),
          forms: settings.targets.forms(),
          presets: TARGET_PRESETS.map((preset) => ({
            ...preset,
            attributes: requireGateway(connect).ldapAttributes[preset.id],
          })),
        } satisfies TargetSettingsAnswer,
      );
    })
    .get("/:name", may("viewer"), async (c) => {
      const item = await viewOf(deps, c.req.param("name"));
      if (item === null) throw new Refusal("unknown_target");
      return c.json({ ...now(), item } satisfies OneTargetSetting);
    })
    .put("/:name", may("owner", { recentFactor: true }), jsonBody(PUT), async (c) => {
      const name = c.req.param("name");
      const { version, table, check } = c.req.valid("json");
      const draft = settings.targets.draft(name, table);
      if (check) return c.json(checkOf(deps, draft, name));
      requireSound(deps, draft, name);
      const result = await settings.targets.put(name, table, { ...callerOf(c), version });
      const auditId = requireSaved(c, result);
      await requireGateway(connect).targetsApplied();
      return c.json({ ...now(), item: await viewOf(deps, name), auditId } satisfies TargetSaved);
    })
    .delete("/:name", may("owner", { recentFactor: true }), jsonBody(REMOVE), async (c) => {
      const name = c.req.param("name");
      const { version, deleteData } = c.req.valid("json");
      requireSound(deps, settings.targets.draft(name, null), name);
      if (deleteData !== undefined) {
        const { users, groups } = await impactOf(deps, name);
        if (users !== deleteData.users || groups !== deleteData.groups) {
          throw new Refusal("target_counts_changed");
        }
      }
      const deletesData = deleteData !== undefined;
      const result = await settings.targets.remove(name, { ...callerOf(c), version, deletesData });
      const auditId = requireSaved(c, result);
      await requireGateway(connect).targetsApplied();
      return c.json({ ...now(), item: null, auditId } satisfies TargetSaved);
    })
    .post("/:name/test", may("owner", { recentFactor: true }), jsonBody(TEST), async (c) => {
      const { table, backend } = c.req.valid("json");
      const draft = settings.targets.draft(c.req.param("name"), table);
      if (draft.settings === null) throw badSettings(draft.faults);
      const startedMs = clock.nowMs();
      const trial = await requireGateway(connect).tryBackend(draft.settings, backend);
      const isEmbedded = table.backends?.[backend]?.kind === "store";
      return c.json(testOf(trial, { isEmbedded, tookMs: clock.nowMs() - startedMs }));
    })
    .post("/:name/preview", may("viewer"), jsonBody(PREVIEW), async (c) => {
      const { mapping, user } = c.req.valid("json");
      const port = requireGateway(connect);
      const target = port.targets.get(c.req.param("name")) ??
        port.targets.get(settings.config.radius.directory);
      if (target === null) throw new Refusal("unknown_target");
      const { content } = await readStored(target, user);
      const present = settings.config.targets.find(({ name }) => name === target.name)?.mapping ??
        { user: {}, group: {} };
      const before = port.previewMapping(content, present);
      const after = port.previewMapping(content, { ...present, user: mapping });
      const rows = [...new Set([...before.keys(), ...after.keys()])].sort()
        .map((name) => ({ name, now: before.get(name) ?? [], then: after.get(name) ?? [] }));
      return c.json({ user: content.name, rows } satisfies MappingPreview);
    });
}

async function viewOf(deps: TargetSettingDeps, name: string): Promise<TargetSettingView | null> {
  const view = deps.settings.targets.find(name);
  if (view === null) return null;
  return { ...view, table: view.table as TargetTable, impact: await impactOf(deps, name) };
}

async function impactOf({ settings, connect }: TargetSettingDeps, name: string): Promise<TargetImpact> {
  const { targets, credentials, connections } = requireGateway(connect);
  const target = targets.get(name);
  const listed = await credentials.list();
  const isLogin = settings.config.radius.directory === name;
  return {
    users: target?.directory.count("user") ?? 0,
    groups: target?.directory.count("group") ?? 0,
    pendingWrites: target?.pendingWrites(MAX_PENDING).length ?? 0,
    credentials: listed.filter((one) => one.targets.includes(name)).map((one) => one.name),
    connections: connections.list().filter(({ settings }) => settings.target === name).map(({ settings }) =>
      settings.name
    ),
    clients: isLogin ? clientsOf(requireGateway(connect), () => true) : [],
    isLogin,
  };
}

/** The RADIUS clients of the console whose first factor is a backend that `concerns` accepts. */
function clientsOf({ register }: Connect, concerns: (backend: string) => boolean): string[] {
  return register.list().filter(({ firstFactor, firstFactorBackend }) =>
    firstFactor === "ldap" && concerns(firstFactorBackend)
  ).map(({ name }) => name);
}

/** Faults, with those of clients whose first factor would be gone. */
function checkOf({ settings, connect }: TargetSettingDeps, draft: TargetDraft, name: string): TargetCheck {
  const { faults, warnings, diff, config } = draft;
  if (settings.config.radius.directory !== name) return { faults, warnings, diff };
  const left = config.targets.find((target) => target.name === name)?.backends ?? [];
  const clients = clientsOf(
    requireGateway(connect),
    (backend) => !left.some((one) => one.kind === "ldap" && one.name === backend),
  );
  const lost = clients.map((client) => ({
    key: `targets.${name}.backends`,
    ...problemOf("connector_of_client", { client: JSON.stringify(client) }),
  }));
  return { faults: [...faults, ...lost], warnings, diff };
}

function requireSound(deps: TargetSettingDeps, draft: TargetDraft, name: string): void {
  const { faults } = checkOf(deps, draft, name);
  if (faults.length > 0) throw badSettings(faults);
}

const MESSAGES: Readonly<Record<TargetTest["code"], string>> = {
  embedded: "The embedded store needs no connection.",
  answered: "The connector signed in and read users.",
  unreachable: "The server did not answer. Check the address, the port and the certificate.",
  refused: "The server refused the sign-in or the search. Check the account, its password and the base DN.",
  busy: "The server is busy. Try again in a moment.",
  nonsense: "The answer does not follow the protocol. Check the address.",
  unsupported: "The server does not support what the connector needs.",
};

function testOf(
  { ok, fault, users }: BackendTrial,
  { isEmbedded, tookMs }: { isEmbedded: boolean; tookMs: number },
): TargetTest {
  const code = fault?.kind ?? (isEmbedded ? "embedded" : "answered");
  const message = fault === undefined ? MESSAGES[code] : `${MESSAGES[code]} (${fault.detail.slice(0, 300)})`;
  return { ok, code, message, tookMs, users };
}

const TARGET_PRESETS: readonly Omit<TargetPreset, "attributes">[] = [
  {
    id: "openldap",
    table: {
      kind: "ldap",
      schema: "openldap",
      url: "ldap://ldap.example.org:389",
      start_tls: true,
      bind_dn: "cn=countersign,dc=example,dc=org",
      users_dn: "ou=people,dc=example,dc=org",
      groups_dn: "ou=groups,dc=example,dc=org",
    },
  },
  {
    id: "active_directory",
    table: {
      kind: "ldap",
      schema: "active_directory",
      url: "ldaps://dc1.example.org:636",
      bind_dn: "CN=Countersign,CN=Users,DC=example,DC=org",
      users_dn: "CN=Users,DC=example,DC=org",
      groups_dn: "CN=Users,DC=example,DC=org",
    },
  },
];

export type { ConfigFault, TargetDiff, TargetView };

/** A table of a directory, as in the settings file. */
type TargetTable = { readonly [key: string]: TableValue };
type TableValue = string | number | boolean | readonly string[] | TargetTable;

/** One row of a form: a key of a directory, or of a connector. */
interface TargetFormRow {
  /** `page_size` */
  readonly key: string;
  readonly doc: string;
  readonly control: SettingControl;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly preset: string | number | boolean | readonly string[];
}

/** What a removal concerns. */
export interface TargetImpact {
  readonly users: number;
  readonly groups: number;
  /** Writes that its connectors did not get yet, at most 1000. */
  readonly pendingWrites: number;
  /** Provisioning tokens that may use it. */
  readonly credentials: readonly string[];
  /** Connections of identity providers that provision it. */
  readonly connections: readonly string[];
  /** RADIUS clients whose first factor is one of its connectors. */
  readonly clients: readonly string[];
  /** Users sign in from it. */
  readonly isLogin: boolean;
}

/** With secrets as `true` (set) or `false`. */
export interface TargetSettingView extends Omit<TargetView, "table"> {
  readonly table: TargetTable;
  readonly impact: TargetImpact;
}

interface RemovedTargetView {
  readonly name: string;
  readonly removed: SettingChange;
  readonly dataUntilMs: number;
}

export interface TargetSettingsAnswer {
  readonly nowMs: number;
  readonly version: string;
  /** The settings file; `null` without one. */
  readonly file: string | null;
  readonly items: readonly TargetSettingView[];
  readonly removed: readonly RemovedTargetView[];
  readonly forms: {
    readonly target: readonly TargetFormRow[];
    readonly backends: Readonly<Record<"store" | "ldap" | "scim", readonly TargetFormRow[]>>;
  };
  readonly presets: readonly TargetPreset[];
}

/** A connector to begin with. `attributes`: front-end attribute → LDAP attribute. */
interface TargetPreset {
  readonly id: "openldap" | "active_directory";
  readonly table: TargetTable;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface OneTargetSetting {
  readonly nowMs: number;
  readonly version: string;
  readonly item: TargetSettingView;
}

interface TargetCheck {
  readonly faults: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
  readonly diff: readonly TargetDiff[];
}

/** `auditId`: null if nothing changed. `item`: null after a removal. */
interface TargetSaved {
  readonly nowMs: number;
  readonly version: string;
  readonly item: TargetSettingView | null;
  readonly auditId: string | null;
}

/** `code`: `answered`, or the kind of the fault. */
export interface TargetTest {
  readonly ok: boolean;
  readonly code: "embedded" | "answered" | "unreachable" | "refused" | "busy" | "nonsense" | "unsupported";
  readonly message: string;
  readonly tookMs: number;
  readonly users: readonly {
    readonly user: string;
    readonly rows: readonly { readonly name: string; readonly values: readonly string[] }[];
  }[];
}
