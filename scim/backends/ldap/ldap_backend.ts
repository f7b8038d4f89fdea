// A target's users and groups in an LDAP directory: OpenLDAP or Active Directory (RFC 4511).

import { PresenceFilter } from "ldapts";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, createSystemRandom, type Random } from "../../../platform/runtime.ts";
import type { Backend, BackendOutcome, Desired, PutResult, Remote } from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { type Kept, keptAttributes } from "../../schema/read_only_attributes.ts";
import { coveredAttributes, isFrontEndKept } from "../../schema/mapping.ts";
import { readName } from "../../schema/resource_name.ts";
import { type LdapConnection, openLdapConnection } from "./ldap_connection.ts";
import type { LdapEntry } from "./ldap_records.ts";
import type { LdapSockets } from "./ldap_client.ts";
import { contentOf, nameOf, remoteIdOf } from "./ldap_entries.ts";
import { memberNames, type NameCache } from "./ldap_members.ts";
import { LdapPool } from "./ldap_pool.ts";
import { layoutOf, type LdapLayout } from "./ldap_schemas.ts";
import { findEntry, searchForAll } from "./ldap_search.ts";
import { createLdapVerifier, type LdapVerifier } from "./ldap_bind_auth.ts";
import { type LdapWriter, putEntry, removeEntry } from "./ldap_writes.ts";
import { BackendListFault } from "../list_error.ts";
import { faultOf, outcomeOf, unsupported } from "../backend_error.ts";

const PAGE_SIZE = 500;
/** A group of so many members may take as long again. */
const MEMBERS_A_TIMEOUT = 500;

export interface LdapBackendDeps {
  readonly settings: LdapBackendSettings;
  readonly mapping: Mapping;
  readonly clock: Clock;
  readonly log: Log;
  /** For the passwords of new accounts that were created without one. */
  readonly random?: Random;
  readonly connect?: LdapSockets;
}

/** Opens no connection before it is asked for something. */
export function createLdapBackend(deps: LdapBackendDeps): Backend {
  return new LdapBackend(deps);
}

class LdapBackend implements Backend {
  readonly kind = "ldap";
  readonly name: string;
  readonly mode: Backend["mode"];
  readonly covers: Backend["covers"];
  readonly keeps: Kept;
  readonly holds: Backend["holds"];
  readonly #deps: LdapBackendDeps;
  readonly #layout: LdapLayout;
  readonly #writer: LdapWriter;
  readonly #pool: LdapPool;
  readonly #verifier: LdapVerifier;

  constructor(deps: LdapBackendDeps) {
    const { settings, mapping, clock, random = createSystemRandom() } = deps;
    this.#deps = deps;
    this.keeps = keptAttributes(settings.readOnly ?? []);
    const layout = this.#layout = withKept(layoutOf(settings), { mapping, keeps: this.keeps });
    this.name = settings.name;
    this.mode = settings.mode;
    this.covers = coveredAttributes(layout.user.rows, mapping, "user");
    this.holds = {
      groups: settings.groupsDn !== "",
      active: layout.activeText !== null || layout.schema.active === "bit",
    };
    const isSecure = settings.startTls || settings.url.toLowerCase().startsWith("ldaps:");
    this.#writer = { layout, mapping, isSecure, random };
    const shared = { clock, size: settings.connections };
    this.#pool = new LdapPool({ ...shared, open: (deadlineMs) => this.#open(deadlineMs) });
    this.#verifier = createLdapVerifier({ ...shared, connect: (deadlineMs) => this.#connect(deadlineMs) });
  }

  read(kind: ResourceKind, name: string): Promise<BackendOutcome<Remote | null>> {
    if (!this.#hasPlaceFor(kind)) return Promise.resolve({ ok: true, value: null });
    return this.#operate(async (connection) => {
      const entry = await findEntry(connection, { kind, name, layout: this.#layout });
      return entry === null ? null : await this.#remoteOf(connection, { entry, kind, cache: new Map() });
    });
  }

  put(desired: Desired): Promise<BackendOutcome<PutResult>> {
    const { content } = desired;
    if (!this.#hasPlaceFor(content.kind)) {
      const { fault } = unsupported("the settings of this backend name no place for groups");
      return Promise.resolve({ ok: false, fault });
    }
    const members = content.kind === "group" ? content.members.length : 0;
    return this.#operate((connection) => putEntry(connection, { desired, writer: this.#writer }), {
      members,
    });
  }

  remove(kind: ResourceKind, name: string): Promise<BackendOutcome<null>> {
    if (!this.#hasPlaceFor(kind)) return Promise.resolve({ ok: true, value: null });
    return this.#operate(async (connection) => {
      await removeEntry(connection, { kind, name, writer: this.#writer });
      return null;
    });
  }

  async *list(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    if (!this.#hasPlaceFor(kind)) return;
    try {
      yield* this.#listAll(kind);
    } catch (thrown) {
      throw new BackendListFault(faultOf(thrown, this.#onBug));
    }
  }

  verify(name: string, password: Uint8Array): Promise<BackendOutcome<"right" | "wrong">> {
    const deadlineMs = this.#nextDeadline();
    const wanted = { kind: "user", name, layout: this.#layout } as const;
    const find = () => this.#pool.use((connection) => findEntry(connection, wanted), deadlineMs);
    return outcomeOf(() => this.#verifier.verify({ password, deadlineMs, find }), this.#onBug);
  }

  probe(): Promise<BackendOutcome<null>> {
    return this.#operate(async (connection) => {
      const filter = new PresenceFilter({ attribute: "objectClass" });
      const baseDn = this.#deps.settings.usersDn;
      await connection.search({ baseDn, scope: "base", filter, attributes: ["1.1"] });
      return null;
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#verifier.close()]);
  }

  #hasPlaceFor(kind: ResourceKind): boolean {
    return kind === "user" || this.holds.groups;
  }

  #nextDeadline(): number {
    return this.#deps.clock.nowMs() + this.#deps.settings.timeoutMs;
  }

  #onBug = (bug: unknown): void => {
    this.#deps.log.error("ldap backend failed unforeseen", {
      backend: this.name,
      error: bug instanceof Error ? bug.name : typeof bug,
    });
  };

  #connect(deadlineMs: number): Promise<LdapConnection> {
    const { settings, clock, connect: sockets } = this.#deps;
    return openLdapConnection(settings, { clock, deadlineMs, sockets });
  }

  async #open(deadlineMs: number): Promise<LdapConnection> {
    const { bindDn, bindPassword } = this.#deps.settings;
    const connection = await this.#connect(deadlineMs);
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
    const shares = 1 + Math.ceil(members / MEMBERS_A_TIMEOUT);
    const deadlineMs = clock.nowMs() + settings.timeoutMs * shares;
    return outcomeOf(() => this.#pool.use(task, deadlineMs), this.#onBug);
  }

  async #remoteOf(
    connection: LdapConnection,
    { entry, kind, cache }: { entry: LdapEntry; kind: ResourceKind; cache: NameCache },
  ): Promise<Remote | null> {
    const layout = this.#layout;
    const read = readName(nameOf(entry, layout[kind]) ?? "");
    if (!read.ok) return null;
    const members = kind === "group" ? await memberNames(connection, { entry, layout, cache }) : [];
    const { mapping } = this.#deps;
    const content = contentOf(entry, { kind, layout, mapping, name: read.name, members });
    return { content, remoteId: remoteIdOf(entry, layout) };
  }

  async *#listAll(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    const nextDeadline = () => this.#nextDeadline();
    // A connection of its own: the caller that reads the list can write to the directory meanwhile.
    const connection = await this.#open(nextDeadline());
    const cache: NameCache = new Map();
    const search = searchForAll(kind, this.#layout);
    let unnamed = 0;
    try {
      for await (const page of connection.pages(search, { pageSize: PAGE_SIZE, nextDeadline })) {
        const remotes: Remote[] = [];
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
        this.#deps.log.warn("ldap entries left out: their names cannot be used here", {
          backend: this.name,
          kind,
          count: unnamed,
        });
      }
    }
  }
}

/** The layout with the LDAP attributes that hold what is kept; the table's rows know front-end attributes alone. */
function withKept(
  layout: LdapLayout,
  { mapping, keeps }: { mapping: Mapping; keeps: Kept },
): LdapLayout {
  const rows = layout.user.rows.filter(({ frontEnd }) => isFrontEndKept(frontEnd, mapping, keeps));
  const kept = rows.flatMap(({ ldap, more }) => more === undefined ? [ldap] : [ldap, more]);
  return { ...layout, user: { ...layout.user, kept: new Set(kept.map((name) => name.toLowerCase())) } };
}
