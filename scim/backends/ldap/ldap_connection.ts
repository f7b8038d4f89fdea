// One connection to a directory: ldapts with a deadline on every request, no silent reconnects, and the knowledge of what may have been done.

import { Buffer } from "node:buffer";
import * as net from "node:net";
import * as tls from "node:tls";
import { Change, type Client } from "ldapts";
import { withTimeout } from "../../../platform/timeout.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { LdapRefusal } from "./ldap_result_codes.ts";
import {
  createLdapClient,
  type LdapClient,
  type LdapSettings,
  type LdapSockets,
  tlsOptions,
} from "./ldap_client.ts";
import {
  type LdapChange,
  type LdapEntry,
  type LdapSearch,
  type LdapValues,
  readEntry,
  searchOptions,
  toAttribute,
} from "./ldap_records.ts";
import { busy, nonsense, Trouble, unreachable } from "../backend_error.ts";

/** Requests go one after the other; each ends at the deadline that was set last. What goes wrong is thrown as a Trouble. */
export interface LdapConnection {
  /** May still be used. */
  usable(): boolean;
  /** From now on: the end of every request. */
  setDeadline(deadlineMs: number): void;
  /** Whether something was written, or may have been, since {@link forget}. */
  wrote(): boolean;
  forget(): void;
  bind(dn: string, password: string): Promise<void>;
  search(search: LdapSearch): Promise<LdapEntry[]>;
  /** RFC 2696. `nextDeadline` is asked before each page. */
  pages(
    search: LdapSearch,
    options: { pageSize: number; nextDeadline: () => number },
  ): AsyncGenerator<LdapEntry[]>;
  add(dn: string, attributes: ReadonlyMap<string, LdapValues>): Promise<void>;
  modify(dn: string, changes: readonly LdapChange[]): Promise<void>;
  remove(dn: string): Promise<void>;
  extended(oid: string, value: Uint8Array): Promise<void>;
  close(): void;
}

const MAX_PAGES = 100_000;
const PARTING_MS = 200;

/** A connection with TLS as the settings say. It is not bound yet; the first request must be a bind. */
export async function openLdapConnection(
  settings: LdapSettings,
  { clock, deadlineMs, sockets = { connect: net.connect, connectTls: tls.connect } }: {
    clock: Clock;
    deadlineMs: number;
    sockets?: LdapSockets;
  },
): Promise<LdapConnection> {
  const ldap = createLdapClient(settings, sockets);
  const connection = new OpenLdapConnection(ldap, { clock, deadlineMs });
  try {
    if (settings.startTls) await connection.startTls(tlsOptions(settings));
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

class OpenLdapConnection implements LdapConnection {
  readonly #ldap: LdapClient;
  readonly #clock: Clock;
  #deadlineMs: number;
  #isBroken = false;
  #wrote = false;

  constructor(ldap: LdapClient, { clock, deadlineMs }: { clock: Clock; deadlineMs: number }) {
    this.#ldap = ldap;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Without StartTLS the first bind connects. */
  async startTls(options: tls.ConnectionOptions): Promise<void> {
    await this.#ask((client) => client.startTLS(options));
  }

  usable(): boolean {
    return !this.#isBroken && this.#ldap.client.isConnected;
  }

  setDeadline(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
  }

  wrote(): boolean {
    return this.#wrote;
  }

  forget(): void {
    this.#wrote = false;
  }

  async bind(dn: string, password: string): Promise<void> {
    await this.#ask((client) => client.bind(dn, password));
  }

  async search(search: LdapSearch): Promise<LdapEntry[]> {
    const { searchEntries } = await this.#ask((client) =>
      client.search(search.baseDn, searchOptions(search))
    );
    return searchEntries.map((entry) => readEntry(entry, search.octets ?? []));
  }

  async *pages(
    search: LdapSearch,
    { pageSize, nextDeadline }: { pageSize: number; nextDeadline: () => number },
  ): AsyncGenerator<LdapEntry[]> {
    const options = { ...searchOptions(search), paged: { pageSize } };
    const pages = this.#ldap.client.searchPaginated(search.baseDn, options);
    for (let count = 0; count < MAX_PAGES; count++) {
      this.#deadlineMs = nextDeadline();
      const page = await this.#ask(() => pages.next());
      if (page.done === true) return;
      yield page.value.searchEntries.map((entry) => readEntry(entry, search.octets ?? []));
    }
    throw nonsense("the directory's list has no end");
  }

  async add(dn: string, attributes: ReadonlyMap<string, LdapValues>): Promise<void> {
    const entry = () => [...attributes].map(([type, values]) => toAttribute(type, values));
    await this.#ask((client) => client.add(dn, entry()), { writes: true });
  }

  async modify(dn: string, changes: readonly LdapChange[]): Promise<void> {
    const asked = () =>
      changes.map(({ operation, attribute, values }) =>
        new Change({ operation, modification: toAttribute(attribute, values) })
      );
    await this.#ask((client) => client.modify(dn, asked()), { writes: true });
  }

  async remove(dn: string): Promise<void> {
    await this.#ask((client) => client.del(dn), { writes: true });
  }

  async extended(oid: string, value: Uint8Array): Promise<void> {
    await this.#ask((client) => client.exop(oid, Buffer.from(value)), { writes: true });
  }

  close(): void {
    this.#isBroken = true;
    const { client } = this.#ldap;
    if (!client.isConnected) return this.#ldap.destroy();
    // The word of parting needs no answer; whether it goes out or not, the sockets are destroyed.
    const cancel = this.#clock.after(PARTING_MS, () => this.#ldap.destroy());
    client.unbind().catch(() => undefined).finally(() => {
      cancel();
      this.#ldap.destroy();
    });
  }

  #breakOff(): void {
    this.#isBroken = true;
    this.#ldap.destroy();
  }

  /** One request. After anything but an answer the connection is of no use. */
  async #ask<T>(request: (client: Client) => Promise<T>, { writes = false } = {}): Promise<T> {
    if (this.#isBroken) throw unreachable("the connection to the directory is closed");
    const [clock, deadlineMs] = [this.#clock, this.#deadlineMs];
    const timeoutMs = deadlineMs - clock.nowMs();
    if (timeoutMs <= 0) throw busy("the time was over before the directory was asked");
    this.#ldap.startCounting();
    const wroteBefore = this.#wrote;
    if (writes) this.#wrote = true;
    try {
      const answer = await withTimeout(request(this.#ldap.client), { clock, timeoutMs });
      if (answer.inTime) return answer.value;
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      if (refusal !== null) {
        // A request that was refused wrote nothing.
        this.#wrote = wroteBefore;
        throw refusal;
      }
      this.#breakOff();
      if (this.#ldap.isOverfull()) throw nonsense("the directory's answer is too long");
      throw lost(thrown, this.#wrote);
    }
    this.#breakOff();
    throw unreachable("the directory did not answer in time", { unsure: this.#wrote });
  }
}

/** ldapts tells a result code as a number; the system's own errors have texts there. */
function refusalOf(thrown: unknown): LdapRefusal | null {
  if (!(thrown instanceof Error) || !("code" in thrown) || typeof thrown.code !== "number") return null;
  // It puts "Code: 0x31" behind the server's words.
  return new LdapRefusal(thrown.code, thrown.message.replace(/ ?Code: 0x[0-9a-f]+$/, ""));
}

function lost(thrown: unknown, unsure: boolean): Trouble {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  if (code.startsWith("ERR_TLS") || /CERT|SIGNED|VERIFY|ALTNAME/.test(code)) {
    return unreachable(`the directory's certificate is not accepted (${code})`, { unsure });
  }
  const why = code === "" ? "" : ` (${code})`;
  return unreachable(`the connection to the directory failed or was lost${why}`, { unsure });
}
