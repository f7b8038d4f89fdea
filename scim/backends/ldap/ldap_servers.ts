// The servers of an LDAP backend, in order of preference: which one is asked, for how long, and whether each one answers. A server is tested by a
// bind of the gateway's account, never by the login of a user.

import type { Log } from "../../../platform/log.ts";
import type { CancelTimer, Clock } from "../../../platform/runtime.ts";
import type { ServerStatus } from "../../backend_port.ts";
import { BackendError } from "../backend_error.ts";
import { isRefusal } from "./ldap_result_codes.ts";

/** A server that is down is tested so often. */
const RETEST_MS = 10_000;
/** A server of a list is tested after so much time without an answer, so that a failed standby is known before it is needed. */
const IDLE_MS = 60_000;
const MAX_TEST_MS = 5000;

interface LdapServer {
  readonly url: string;
  /** Whether it is asked only if all others fail, too: the last request failed, and no test succeeded since. */
  isSuspect: boolean;
  /** Whether a request and a test failed. */
  isDown: boolean;
  isTested: boolean;
  testedMs: number;
  lastAnswerMs: number | null;
  fault: string;
}

interface LdapServersDeps {
  readonly backend: string;
  readonly urls: readonly string[];
  readonly timeoutMs: number;
  /** Connects to one server, binds and closes. Rejects if the server cannot be used. */
  readonly test: (url: string, deadlineMs: number) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

export class LdapServers {
  readonly #deps: LdapServersDeps;
  readonly #servers: readonly LdapServer[];
  #cancel: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(deps: LdapServersDeps) {
    this.#deps = deps;
    const testedMs = deps.clock.nowMs();
    this.#servers = deps.urls.map((url) => ({
      ...{ url, isSuspect: false, isDown: false, isTested: false, testedMs, lastAnswerMs: null, fault: "" },
    }));
    if (this.#servers.length > 1) this.#watch();
  }

  /**
   * Runs `attempt` at one server after the other until one answers. Each one has its share of the time until `deadlineMs`. After a write that may
   * have happened, no other server is asked.
   */
  async use<T>(attempt: (url: string, deadlineMs: number) => Promise<T>, deadlineMs: number): Promise<T> {
    const { clock } = this.#deps;
    const sound = this.#servers.filter(({ isSuspect }) => !isSuspect);
    const asked = sound.length === 0 ? this.#servers : sound;
    let last: unknown = new Error("Cannot use an LDAP backend without a server");
    for (const [at, server] of asked.entries()) {
      const nowMs = clock.nowMs();
      try {
        const value = await attempt(server.url, nowMs + (deadlineMs - nowMs) / (asked.length - at));
        this.#works(server);
        return value;
      } catch (thrown) {
        last = thrown;
        if (!isServerFault(thrown)) {
          if (thrown instanceof BackendError) this.#works(server);
          throw thrown;
        }
        this.#failed(server, thrown.fault.detail);
        if (thrown.fault.unsure || clock.nowMs() >= deadlineMs) break;
      }
    }
    throw last;
  }

  /** Tests all servers, at the same time. */
  async testAll(): Promise<void> {
    await Promise.all(this.#servers.map((server) => this.#test(server)));
  }

  /** The state of each server, in order of preference. */
  status(): readonly ServerStatus[] {
    const areAllDown = this.#servers.every(({ isDown }) => isDown);
    return this.#servers.map(({ url, isDown, lastAnswerMs, fault }) => ({
      server: url.replace(/^ldaps?:\/\//, ""),
      state: areAllDown ? "all_down" : isDown ? "down" : lastAnswerMs === null ? "unknown" : "answers",
      lastAnswerMs,
      fault,
    }));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** Tests the servers that are due, in the background. */
  #watch(): void {
    if (this.#isClosed) return;
    const nowMs = this.#deps.clock.nowMs();
    for (const server of this.#servers) {
      const isIdle = nowMs - Math.max(server.testedMs, server.lastAnswerMs ?? 0) >= IDLE_MS;
      if (server.isSuspect || isIdle) void this.#test(server);
    }
    this.#cancel = this.#deps.clock.after(RETEST_MS, () => this.#watch());
  }

  async #test(server: LdapServer): Promise<void> {
    if (server.isTested || this.#isClosed) return;
    const { clock, log, test, timeoutMs, backend } = this.#deps;
    server.isTested = true;
    server.testedMs = clock.nowMs();
    try {
      await test(server.url, clock.nowMs() + Math.min(timeoutMs, MAX_TEST_MS));
      this.#works(server);
    } catch (thrown) {
      server.fault = thrown instanceof BackendError ? thrown.fault.detail : String(thrown);
      server.isSuspect = true;
      if (server.isDown || this.#isClosed) return;
      server.isDown = true;
      log.warn("a directory server does not answer", { backend, server: server.url, fault: server.fault });
    } finally {
      server.isTested = false;
    }
  }

  #works(server: LdapServer): void {
    server.lastAnswerMs = this.#deps.clock.nowMs();
    server.isSuspect = false;
    server.fault = "";
    if (!server.isDown) return;
    server.isDown = false;
    this.#deps.log.info("a directory server answers again", {
      backend: this.#deps.backend,
      server: server.url,
    });
  }

  #failed(server: LdapServer, fault: string): void {
    server.isSuspect = true;
    server.fault = fault;
    // Whether it is down must be known soon. The calls of a single server show it.
    if (this.#servers.length > 1) void this.#test(server);
  }
}

/** Whether another server may succeed: this one does not answer in its time, is shutting down, or does not accept the gateway's account. */
function isServerFault(thrown: unknown): thrown is BackendError {
  if (!(thrown instanceof BackendError)) return false;
  const { kind, isLocal } = thrown.fault;
  return kind === "unreachable" || (kind === "busy" && isLocal === true) ||
    isRefusal(thrown, "invalidCredentials");
}
