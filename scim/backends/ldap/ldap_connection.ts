// One LDAP connection: a deadline for each request, no silent reconnects, and whether a failed write may have happened.

import * as net from "node:net";
import * as tls from "node:tls";
import { Buffer } from "node:buffer";
import { Change, type Client, PasswordPolicyControl } from "ldapts";
import type { AccountRefusal } from "../../../platform/account_refusals.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import { isRefusal, LdapRefusal, readBindRefusal } from "./ldap_result_codes.ts";
import {
  createLdapClient,
  type LdapChange,
  type LdapClient,
  type LdapEntry,
  type LdapSearch,
  type LdapSettings,
  type LdapSockets,
  type LdapValues,
  MAX_ENTRY_OCTETS,
  MAX_LIST_OCTETS,
  readEntry,
  searchOptions,
  tlsOptions,
  toAttribute,
} from "./ldap_client.ts";
import { BackendError, localError, malformedError, unreachableError } from "../backend_error.ts";

/** Requests run one after the other. Each ends at the latest deadline. Throws a BackendError. */
export interface LdapConnection {
  /** Whether the connection can still be used. */
  isUsable(): boolean;
  /** Sets the deadline of all following requests. */
  setDeadline(deadlineMs: number): void;
  /** Whether something was written, or may have been, since {@link resetWritten}. */
  hasWritten(): boolean;
  resetWritten(): void;
  bind(dn: string, password: string): Promise<void>;
  /**
   * A bind of a user. Resolves to the reason why the server refuses the user; `null`: it accepts the user. It counts as a write: without a response,
   * the server may have counted a wrong password, so the bind is not repeated.
   */
  bindUser(dn: string, password: string): Promise<AccountRefusal | "wrong" | null>;
  /** Whether the server accepted the last bind. It can accept a user who then may only change the password. */
  isBound(): boolean;
  search(search: LdapSearch): Promise<LdapEntry[]>;
  /** RFC 2696. Calls `nextDeadline` before each page. */
  pages(
    search: LdapSearch,
    options: { pageSize: number; nextDeadline: () => number },
  ): AsyncGenerator<LdapEntry[]>;
  add(dn: string, attributes: ReadonlyMap<string, LdapValues>): Promise<void>;
  modify(dn: string, changes: readonly LdapChange[]): Promise<void>;
  /** RFC 4511 §4.9. The entry stays below the same parent, and its old name is deleted. */
  rename(dn: string, newRdn: string): Promise<void>;
  remove(dn: string): Promise<void>;
  extended(oid: string, value: Uint8Array): Promise<void>;
  close(): void;
}

const MAX_PAGES = 100_000;
const UNBIND_TIMEOUT_MS = 200;

/** A connection with TLS as configured. It is not bound: the first request must be a bind. */
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
  #isBound = false;
  #wrote = false;

  constructor(ldap: LdapClient, { clock, deadlineMs }: { clock: Clock; deadlineMs: number }) {
    this.#ldap = ldap;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Connects. Without StartTLS, the first bind connects. */
  async startTls(options: tls.ConnectionOptions): Promise<void> {
    await this.#ask((client) => client.startTLS(options));
  }

  isUsable(): boolean {
    return !this.#isBroken && this.#ldap.client.isConnected;
  }

  setDeadline(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
  }

  hasWritten(): boolean {
    return this.#wrote && this.#ldap.wasOpened();
  }

  resetWritten(): void {
    this.#wrote = false;
  }

  async bind(dn: string, password: string): Promise<void> {
    await this.#ask((client) => client.bind(dn, password));
    this.#isBound = true;
  }

  isBound(): boolean {
    return this.#isBound;
  }

  async bindUser(dn: string, password: string): Promise<AccountRefusal | "wrong" | null> {
    // A server that does not know the control ignores it, because it is not critical.
    const control = new PasswordPolicyControl();
    this.#isBound = false;
    try {
      await this.#ask((client) => client.bind(dn, password, control), { writes: true });
      this.#isBound = true;
      return readBindRefusal("", control.value?.error);
    } catch (thrown) {
      if (!(thrown instanceof LdapRefusal)) throw unansweredBind(thrown);
      const refusal = readBindRefusal(thrown.serverText, control.value?.error);
      if (refusal !== null) return refusal;
      // For an entry without a password, some servers return inappropriateAuthentication.
      const isWrong = isRefusal(thrown, "invalidCredentials") ||
        isRefusal(thrown, "inappropriateAuthentication");
      if (isWrong) return "wrong";
      throw thrown;
    }
  }

  async search(search: LdapSearch): Promise<LdapEntry[]> {
    const { searchEntries } = await this.#ask(
      (client) => client.search(search.baseDn, searchOptions(search)),
      search.maxOctets === undefined ? {} : { maxOctets: search.maxOctets },
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
      const page = await this.#ask(() => pages.next(), { maxOctets: MAX_LIST_OCTETS });
      if (page.done === true) return;
      yield page.value.searchEntries.map((entry) => readEntry(entry, search.octets ?? []));
    }
    throw malformedError("the directory's list does not end");
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

  async rename(dn: string, newRdn: string): Promise<void> {
    await this.#ask((client) => client.modifyDN(dn, newRdn), { writes: true });
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
    // An unbind has no response. Whether it is sent or not, the sockets are destroyed.
    const cancel = this.#clock.after(UNBIND_TIMEOUT_MS, () => this.#ldap.destroy());
    client.unbind().catch(() => undefined).finally(() => {
      cancel();
      this.#ldap.destroy();
    });
  }

  #breakOff(): void {
    this.#isBroken = true;
    this.#ldap.destroy();
  }

  /** Sends one request. After anything but a response, the connection cannot be used again. */
  async #ask<T>(
    request: (client: Client) => Promise<T>,
    { writes = false, maxOctets = MAX_ENTRY_OCTETS } = {},
  ): Promise<T> {
    if (this.#isBroken) throw unreachableError("the connection to the directory is closed");
    const [clock, deadlineMs] = [this.#clock, this.#deadlineMs];
    const timeoutMs = deadlineMs - clock.nowMs();
    if (timeoutMs <= 0) throw localError("busy", "the deadline passed before the request was sent");
    this.#ldap.startCounting(maxOctets);
    const wroteBefore = this.#wrote;
    if (writes) this.#wrote = true;
    try {
      const answer = await withTimeout(request(this.#ldap.client), { clock, timeoutMs });
      if (answer.inTime && this.#ldap.isTooLong()) throw new Error("the last octets completed the response");
      if (answer.inTime) return answer.value;
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      if (refusal !== null) {
        // A refused request wrote nothing.
        this.#wrote = wroteBefore;
        throw refusal;
      }
      this.#breakOff();
      if (this.#ldap.isTooLong()) throw malformedError("the directory's response is too long");
      throw lost(thrown, this.hasWritten());
    }
    this.#breakOff();
    throw unreachableError("the directory did not respond in time", { unsure: this.hasWritten() });
  }
}

/** ldapts reports result codes as numbers. The codes of system errors are texts. */
function refusalOf(thrown: unknown): LdapRefusal | null {
  if (!(thrown instanceof Error) || !("code" in thrown) || typeof thrown.code !== "number") return null;
  // ldapts appends "Code: 0x31" to the server's message.
  return new LdapRefusal(thrown.code, thrown.message.replace(/ ?Code: 0x[0-9a-f]+$/, ""));
}

/** The fault of a bind that was sent and not answered, with the reason why no other server is asked. */
function unansweredBind(thrown: unknown): unknown {
  if (!(thrown instanceof BackendError) || !thrown.fault.unsure) return thrown;
  const detail = `${thrown.fault.detail}: the password is not sent again, because it may have been counted`;
  return new BackendError({ ...thrown.fault, detail }, { cause: thrown });
}

function lost(thrown: unknown, unsure: boolean): BackendError {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  if (code.startsWith("ERR_TLS") || /CERT|SIGNED|VERIFY|ALTNAME/.test(code)) {
    return unreachableError(`the directory's certificate is not accepted (${code})`, { unsure });
  }
  const why = code === "" ? "" : ` (${code})`;
  return unreachableError(`the connection to the directory failed or was lost${why}`, { unsure });
}
