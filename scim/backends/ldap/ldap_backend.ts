// A target's users and groups in an LDAP directory: OpenLDAP or Active Directory (RFC 4511).

import {
  AndFilter,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  NotFilter,
  OrFilter,
  PresenceFilter,
} from "ldapts";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import {
  fillValue,
  parseUserFilter,
  readTypedName,
  type TypedName,
  type UserFilter,
} from "../../../platform/user_filter.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, createSystemRandom, type Random } from "../../../platform/runtime.ts";
import type {
  Backend,
  BackendOutcome,
  BindVerdict,
  DesiredResource,
  PutResult,
  RemoteHint,
  RemoteResource,
  ServerStatus,
} from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { type ReadOnlyAttributes, toReadOnlyAttributes } from "../../schema/merge.ts";
import { coveredAttributes, isFrontEndReadOnly } from "../../schema/mapping.ts";
import { parseName } from "../../schema/resource_name.ts";
import { type LdapConnection, openLdapConnection } from "./ldap_connection.ts";
import type { LdapEntry, LdapSockets } from "./ldap_client.ts";
import {
  entryContent,
  entryName,
  entryRemoteId,
  findEntry,
  hasName,
  listSearch,
  userSearch,
} from "./ldap_entries.ts";
import { type NameCache, readMemberNames } from "./ldap_members.ts";
import { changePassword, type LdapWriter, putEntry, removeEntry, renameEntry } from "./ldap_writes.ts";
import { createLdapVerifier, LdapPool, LdapServers, type LdapVerifier } from "./ldap_pool.ts";
import { createLdapLayout, type LdapLayout } from "./ldap_schemas.ts";
import {
  BackendListError,
  refusedError,
  toBackendFault,
  toBackendOutcome,
  unsupportedError,
} from "../backend_error.ts";
import { isRefusal } from "./ldap_result_codes.ts";

const PAGE_SIZE = 500;
/** The deadline for a group grows by one timeout for this many members. */
const MEMBERS_PER_TIMEOUT = 500;

interface LdapBackendDeps {
  readonly settings: LdapBackendSettings;
  readonly mapping: Mapping;
  readonly clock: Clock;
  readonly log: Log;
  /** For the passwords of new accounts that were created without one. */
  readonly random?: Random;
  readonly connect?: LdapSockets;
}

/** The first operation opens the first connection. */
export function createLdapBackend(deps: LdapBackendDeps): Backend {
  return new LdapBackend(deps);
}

class LdapBackend implements Backend {
  readonly kind = "ldap";
  readonly name: string;
  readonly mode: Backend["mode"];
  readonly covers: Backend["covers"];
  readonly readOnly: ReadOnlyAttributes;
  readonly holds: Backend["holds"];
  readonly #deps: LdapBackendDeps;
  readonly #layout: LdapLayout;
  readonly #users: UserSearch;
  readonly #writer: LdapWriter;
  readonly #servers: LdapServers;
  readonly #pool: LdapPool;
  readonly #verifier: LdapVerifier;
  readonly findNames?: NonNullable<Backend["findNames"]>;
  readonly changePassword?: NonNullable<Backend["changePassword"]>;

  constructor(deps: LdapBackendDeps) {
    const { settings, mapping, clock, random = createSystemRandom() } = deps;
    this.#deps = deps;
    this.readOnly = toReadOnlyAttributes(settings.readOnly ?? []);
    const layout = this.#layout = withReadOnlyNames(createLdapLayout(settings), {
      mapping,
      readOnly: this.readOnly,
    });
    this.name = settings.name;
    this.mode = settings.mode;
    this.covers = coveredAttributes(layout.user.rows, mapping, "user");
    this.holds = {
      groups: settings.groupsDn !== "",
      active: layout.activeText !== null || layout.schema.active === "bit",
    };
    this.#writer = { layout, mapping, isSecure: isEncrypted(settings), random };
    const { timeoutMs, connections: size } = settings;
    this.#servers = new LdapServers({
      ...{ backend: settings.name, urls: settings.url, timeoutMs, clock, log: deps.log },
      test: async (url, deadlineMs) => (await this.#open(url, deadlineMs)).close(),
    });
    const shared = { clock, size, servers: this.#servers };
    this.#pool = new LdapPool({ ...shared, open: (url, deadlineMs) => this.#open(url, deadlineMs) });
    const unbound = new LdapPool({ ...shared, open: (url, deadlineMs) => this.#connect(url, deadlineMs) });
    this.#verifier = createLdapVerifier({ pool: unbound });
    const { userFilter, userDomains: domains, passwordChange } = settings;
    this.#users = { layout, filter: parseUserFilter(userFilter), domains };
    if (this.#users.filter !== null) this.findNames = (typed) => this.#findNames(typed);
    if (passwordChange && isEncrypted(settings)) {
      const passwords = { bound: this.#pool, unbound, layout };
      this.changePassword = (name, change) => {
        const find = (connection: LdapConnection) => findUser(connection, name, this.#users);
        const run = () => changePassword({ ...passwords, find }, change, this.#nextDeadline());
        return toBackendOutcome(run, this.#onBug);
      };
    }
  }

  read(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<RemoteResource | null>> {
    if (!this.#hasPlaceFor(kind)) return Promise.resolve({ ok: true, value: null });
    return this.#operate(async (connection) => {
      const entry = await findEntry(connection, { kind, name, id: hint?.remoteId, layout: this.#layout });
      return entry === null ? null : await this.#remoteOf(connection, { entry, kind, cache: new Map() });
    });
  }

  put(desired: DesiredResource, hint?: RemoteHint): Promise<BackendOutcome<PutResult>> {
    const { content } = desired;
    if (!this.#hasPlaceFor(content.kind)) {
      const { fault } = unsupportedError("the settings of this backend have no base DN for groups");
      return Promise.resolve({ ok: false, fault });
    }
    const members = content.kind === "group" ? content.members.length : 0;
    const job = { desired, writer: this.#writer, id: hint?.remoteId };
    return this.#operate((connection) => putEntry(connection, job), { members });
  }

  rename(from: string, desired: DesiredResource, hint?: RemoteHint): Promise<BackendOutcome<PutResult>> {
    const { content } = desired;
    if (!this.#hasPlaceFor(content.kind)) return this.put(desired, hint);
    const members = content.kind === "group" ? content.members.length : 0;
    const task = (connection: LdapConnection) =>
      renameEntry(connection, { from, id: hint?.remoteId, desired, writer: this.#writer });
    return this.#operate(task, { members });
  }

  remove(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<null>> {
    if (!this.#hasPlaceFor(kind)) return Promise.resolve({ ok: true, value: null });
    return this.#operate(async (connection) => {
      await removeEntry(connection, { kind, name, id: hint?.remoteId, writer: this.#writer });
      return null;
    });
  }

  async *list(kind: ResourceKind): AsyncGenerator<readonly RemoteResource[]> {
    if (!this.#hasPlaceFor(kind)) return;
    try {
      yield* this.#listAll(kind);
    } catch (thrown) {
      throw new BackendListError(toBackendFault(thrown, this.#onBug));
    }
  }

  verify(name: string, password: Uint8Array): Promise<BackendOutcome<BindVerdict>> {
    const deadlineMs = this.#nextDeadline();
    const find = () => this.#pool.use((connection) => findUser(connection, name, this.#users), deadlineMs);
    return toBackendOutcome(() => this.#verifier.verify({ password, deadlineMs, find }), this.#onBug);
  }

  #findNames(typed: string): Promise<BackendOutcome<readonly string[]>> {
    return this.#operate((connection) => findUserNames(connection, typed, this.#users));
  }

  async probe(): Promise<BackendOutcome<null>> {
    if (this.#deps.settings.url.length > 1) await this.#servers.testAll();
    return await this.#operate(async (connection) => {
      const filter = new PresenceFilter({ attribute: "objectClass" });
      const baseDn = this.#deps.settings.usersDn;
      await connection.search({ baseDn, scope: "base", filter, attributes: ["1.1"] });
      return null;
    });
  }

  servers(): readonly ServerStatus[] {
    return this.#servers.status();
  }

  async close(): Promise<void> {
    this.#servers.close();
    await Promise.all([this.#pool.close(), this.#verifier.close()]);
  }

  #hasPlaceFor(kind: ResourceKind): boolean {
    return kind === "user" || this.holds.groups;
  }

  #nextDeadline(): number {
    return this.#deps.clock.nowMs() + this.#deps.settings.timeoutMs;
  }

  #onBug = (bug: unknown): void => {
    this.#deps.log.error("unexpected error in the LDAP backend", {
      backend: this.name,
      error: bug instanceof Error ? bug.name : typeof bug,
    });
  };

  #connect(url: string, deadlineMs: number): Promise<LdapConnection> {
    const { settings: { startTls, caPem }, clock, connect: sockets } = this.#deps;
    return openLdapConnection({ url, startTls, caPem }, { clock, deadlineMs, sockets });
  }

  async #open(url: string, deadlineMs: number): Promise<LdapConnection> {
    const { bindDn, bindPassword } = this.#deps.settings;
    const connection = await this.#connect(url, deadlineMs);
    try {
      await connection.bind(bindDn, bindPassword);
      return connection;
    } catch (thrown) {
      connection.close();
      throw thrown;
    }
  }

  #operate<T>(
    task: (connection: LdapConnection) => Promise<T>,
    { members = 0 }: { members?: number } = {},
  ): Promise<BackendOutcome<T>> {
    const { clock, settings } = this.#deps;
    const shares = 1 + Math.ceil(members / MEMBERS_PER_TIMEOUT);
    const deadlineMs = clock.nowMs() + settings.timeoutMs * shares;
    return toBackendOutcome(() => this.#pool.use(task, deadlineMs), this.#onBug);
  }

  async #remoteOf(
    connection: LdapConnection,
    { entry, kind, cache }: { entry: LdapEntry; kind: ResourceKind; cache: NameCache },
  ): Promise<RemoteResource | null> {
    const layout = this.#layout;
    const read = parseName(entryName(entry, layout[kind]) ?? "");
    if (!read.ok) return null;
    const members = kind === "group" ? await readMemberNames(connection, { entry, layout, cache }) : [];
    const { mapping } = this.#deps;
    const content = entryContent(entry, { kind, layout, mapping, name: read.name, members });
    const remote = { content, remoteId: entryRemoteId(entry, layout) };
    return hidesMembers(entry, { kind, layout }) ? { ...remote, hidesMembers: true } : remote;
  }

  async *#listAll(kind: ResourceKind): AsyncGenerator<readonly RemoteResource[]> {
    const nextDeadline = () => this.#nextDeadline();
    // Uses another connection, so that the caller can write to the directory while it reads the list.
    const connection = await this.#pool.open(nextDeadline());
    const cache: NameCache = new Map();
    const search = listSearch(kind, this.#layout);
    let unnamed = 0;
    try {
      for await (const page of connection.pages(search, { pageSize: PAGE_SIZE, nextDeadline })) {
        const remotes: RemoteResource[] = [];
        for (const entry of page) {
          if (kind === "group") connection.setDeadline(nextDeadline());
          const remote = await this.#remoteOf(connection, { entry, kind, cache });
          if (remote === null) unnamed++;
          else remotes.push(remote);
        }
        if (remotes.length > 0) yield remotes;
      }
    } finally {
      connection.close();
      if (unnamed > 0) {
        this.#deps.log.warn("LDAP entries left out: their names are not valid here", {
          backend: this.name,
          kind,
          count: unnamed,
        });
      }
    }
  }
}

/** Whether no password of a user crosses the network in clear text. */
function isEncrypted({ startTls, url }: Pick<LdapBackendSettings, "startTls" | "url">): boolean {
  return startTls || url.every((one) => one.startsWith("ldaps:"));
}

/** A class that requires a member, and no member in sight: the gateway lacks the permission to read them. */
function hidesMembers(
  entry: LdapEntry,
  { kind, layout: { schema, group } }: { kind: ResourceKind; layout: LdapLayout },
): boolean {
  return kind === "group" && schema.emptyMember !== null && !entry.texts.has(group.member.toLowerCase());
}

/** The layout with the LDAP attributes of the read-only attributes. The table has only front-end attributes. */
function withReadOnlyNames(
  layout: LdapLayout,
  { mapping, readOnly }: { mapping: Mapping; readOnly: ReadOnlyAttributes },
): LdapLayout {
  const rows = layout.user.rows.filter(({ frontEnd }) => isFrontEndReadOnly(frontEnd, mapping, readOnly));
  const names = rows.flatMap(({ ldap, more }) => more === undefined ? [ldap] : [ldap, more]);
  return { ...layout, user: { ...layout.user, readOnly: new Set(names.map((name) => name.toLowerCase())) } };
}

/** How typed names find users. `filter: null`: by the name alone. */
interface UserSearch {
  readonly layout: LdapLayout;
  readonly filter: UserFilter | null;
  /** The names of the directory's domain. */
  readonly domains: readonly string[];
}

const several = () => refusedError("the directory has several users with that name", { retry: true });

/** The entry of a user by the user's name; `null` without one. The filter must find the user, too. Throws if it finds several. */
async function findUser(
  connection: LdapConnection,
  name: string,
  { layout, filter, domains }: UserSearch,
): Promise<LdapEntry | null> {
  if (filter === null) return await findEntry(connection, { kind: "user", name, layout });
  const [entry = null, ...others] = await search(connection, readTypedName(name, domains), {
    layout,
    filter,
  });
  if (others.length > 0) throw several();
  return entry !== null && hasName(entry, name, layout.user) ? entry : null;
}

/** The names of the users that a typed name finds with the filter, at most two. */
async function findUserNames(
  connection: LdapConnection,
  typed: string,
  { layout, filter, domains }: UserSearch,
): Promise<readonly string[]> {
  if (filter === null) return [];
  const entries = await search(connection, readTypedName(typed, domains), { layout, filter });
  return entries.slice(0, 2).map((entry) => entryName(entry, layout.user) ?? "");
}

async function search(
  connection: LdapConnection,
  typed: TypedName,
  { layout, filter }: { layout: LdapLayout; filter: UserFilter },
): Promise<readonly LdapEntry[]> {
  try {
    return await connection.search(userSearch(layout, toLdapFilter(filter, typed)));
  } catch (thrown) {
    // The server has more than the few that were requested.
    if (isRefusal(thrown, "sizeLimitExceeded")) throw several();
    throw thrown;
  }
}

/** The typed name is the value of a comparison, so it needs no escaping (RFC 4511 §4.5.1.7). */
function toLdapFilter(filter: UserFilter, typed: TypedName): Filter {
  switch (filter.kind) {
    case "and":
      return new AndFilter({ filters: filter.of.map((one) => toLdapFilter(one, typed)) });
    case "or":
      return new OrFilter({ filters: filter.of.map((one) => toLdapFilter(one, typed)) });
    case "not":
      return new NotFilter({ filter: toLdapFilter(filter.of, typed) });
    case "present":
      return new PresenceFilter({ attribute: filter.attribute });
    case "equals":
      return new EqualityFilter({ attribute: filter.attribute, value: fillValue(filter.value, typed) });
    case "matches": {
      const { attribute: matchType, rule, value } = filter;
      return new ExtensibleFilter({ matchType, rule, value });
    }
  }
}
