// A target's users and groups in an LDAP directory: OpenLDAP or Active Directory (RFC 4511).

import { PresenceFilter } from "ldapts";
import type { LdapBackendSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import { type Clock, createSystemRandom, type Random } from "../../runtime.ts";
import type { Backend, BackendOutcome, Remote } from "../backend_port.ts";
import type { Mapping, ResourceKind } from "../resource.ts";
import { type Kept, keptAttributes } from "../pure/kept.ts";
import { coveredAttributes, isFrontEndKept } from "../pure/mapping.ts";
import { readName } from "../pure/names.ts";
import { type LdapConnection, openLdapConnection } from "./ldap_connection.ts";
import type { LdapEntry } from "./ldap_records.ts";
import type { LdapSockets } from "./ldap_client.ts";
import { contentOf, nameOf, remoteIdOf } from "./ldap_entries.ts";
import { memberNames, type NameCache } from "./ldap_members.ts";
import { createLdapPool } from "./ldap_pool.ts";
import { layoutOf, type LdapLayout } from "./ldap_schemas.ts";
import { findEntry, searchForAll } from "./ldap_search.ts";
import { createLdapVerifier } from "./ldap_verify.ts";
import { type LdapWriter, putEntry, removeEntry } from "./ldap_writes.ts";
import { BackendListFault } from "./list_fault.ts";
import { faultOf, outcomeOf, unsupported } from "./trouble.ts";

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
  const { settings, mapping, clock, log } = deps;
  const keeps = keptAttributes(settings.readOnly ?? []);
  const layout = withKept(layoutOf(settings), { mapping, keeps });
  const hasGroups = settings.groupsDn !== "";
  const isSecure = settings.startTls || settings.url.toLowerCase().startsWith("ldaps:");
  const writer: LdapWriter = { layout, mapping, isSecure, random: deps.random ?? createSystemRandom() };

  const onBug = (bug: unknown): void => {
    log.error("ldap backend failed unforeseen", {
      backend: settings.name,
      error: bug instanceof Error ? bug.name : typeof bug,
    });
  };
  const connect = (deadlineMs: number): Promise<LdapConnection> =>
    openLdapConnection(settings, { clock, deadlineMs, sockets: deps.connect });
  const open = async (deadlineMs: number): Promise<LdapConnection> => {
    const connection = await connect(deadlineMs);
    try {
      await connection.bind(settings.bindDn, settings.bindPassword);
      return connection;
    } catch (thrown) {
      connection.close();
      throw thrown;
    }
  };
  const pool = createLdapPool({ open, clock, size: settings.connections });
  const verifier = createLdapVerifier({ clock, size: settings.connections, connect });

  const operate = <T>(
    task: (connection: LdapConnection) => Promise<T>,
    { members = 0 }: { members?: number } = {},
  ): Promise<BackendOutcome<T>> => {
    const shares = 1 + Math.ceil(members / MEMBERS_A_TIMEOUT);
    const deadlineMs = clock.nowMs() + settings.timeoutMs * shares;
    return outcomeOf(() => pool.use(task, deadlineMs), onBug);
  };

  const remoteOf = async (
    connection: LdapConnection,
    { entry, kind, cache }: { entry: LdapEntry; kind: ResourceKind; cache: NameCache },
  ): Promise<Remote | null> => {
    const read = readName(nameOf(entry, layout[kind]) ?? "");
    if (!read.ok) return null;
    const members = kind === "group" ? await memberNames(connection, { entry, layout, cache }) : [];
    const content = contentOf(entry, { kind, layout, mapping, name: read.name, members });
    return { content, remoteId: remoteIdOf(entry, layout) };
  };

  async function* listAll(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    const nextDeadline = (): number => clock.nowMs() + settings.timeoutMs;
    // A connection of its own: the caller that reads the list can write to the directory meanwhile.
    const connection = await open(nextDeadline());
    const cache: NameCache = new Map();
    let unnamed = 0;
    try {
      for await (
        const page of connection.pages(searchForAll(kind, layout), { pageSize: PAGE_SIZE, nextDeadline })
      ) {
        const remotes: Remote[] = [];
        for (const entry of page) {
          if (kind === "group") connection.setDeadline(nextDeadline());
          const remote = await remoteOf(connection, { entry, kind, cache });
          if (remote === null) unnamed++;
          else remotes.push(remote);
        }
        if (remotes.length > 0) yield remotes;
      }
    } finally {
      connection.close();
      if (unnamed > 0) {
        log.warn("ldap entries left out: their names cannot be used here", {
          backend: settings.name,
          kind,
          count: unnamed,
        });
      }
    }
  }

  return {
    name: settings.name,
    kind: "ldap",
    mode: settings.mode,
    covers: coveredAttributes(layout.user.rows, mapping, "user"),
    keeps,
    holds: { groups: hasGroups, active: layout.activeText !== null || layout.schema.active === "bit" },
    read(kind, name) {
      if (kind === "group" && !hasGroups) return Promise.resolve({ ok: true, value: null });
      return operate(async (connection) => {
        const entry = await findEntry(connection, { kind, name, layout });
        return entry === null ? null : await remoteOf(connection, { entry, kind, cache: new Map() });
      });
    },
    put(desired) {
      const { content } = desired;
      if (content.kind === "group" && !hasGroups) {
        const { fault } = unsupported("the settings of this backend name no place for groups");
        return Promise.resolve({ ok: false, fault });
      }
      const members = content.kind === "group" ? content.members.length : 0;
      return operate(
        (connection) => putEntry(connection, { desired, writer }),
        { members },
      );
    },
    remove(kind, name) {
      if (kind === "group" && !hasGroups) return Promise.resolve({ ok: true, value: null });
      return operate(async (connection) => {
        await removeEntry(connection, { kind, name, writer });
        return null;
      });
    },
    async *list(kind) {
      if (kind === "group" && !hasGroups) return;
      try {
        yield* listAll(kind);
      } catch (thrown) {
        throw new BackendListFault(faultOf(thrown, onBug));
      }
    },
    verify(name, password) {
      const deadlineMs = clock.nowMs() + settings.timeoutMs;
      const find = () =>
        pool.use((connection) => findEntry(connection, { kind: "user", name, layout }), deadlineMs);
      return outcomeOf(() => verifier.verify({ password, deadlineMs, find }), onBug);
    },
    probe: () =>
      operate(async (connection) => {
        const filter = new PresenceFilter({ attribute: "objectClass" });
        await connection.search({ baseDn: settings.usersDn, scope: "base", filter, attributes: ["1.1"] });
        return null;
      }),
    async close() {
      await Promise.all([pool.close(), verifier.close()]);
    },
  };
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
